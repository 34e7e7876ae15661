"""Room for what was received and not yet reduced, kept from one collective for the next.

Fresh memory for every call would have to be mapped, zeroed and, on verbs, registered every time. A block is
ours for as long as it exists, so its registration lasts as long.
"""

import threading
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]

_KEPT = 4  # blocks: of collectives in flight at once
_SMALLEST = 4096  # bytes


class Block(NamedTuple):
    """Memory, and what keeps it registered with the device."""

    memory: Bytes
    pin: object


class Scratch:
    """A few blocks of bytes, in sizes of powers of two; the largest of those given back are kept.

    Args:
        pin: registers memory with the device for as long as somebody holds the result.
    """

    def __init__(self, pin: Callable[[Bytes], object] = lambda _: None) -> None:
        self._pin = pin
        self._lock = threading.Lock()
        self._free: list[Block] = []

    def take(self, nbytes: int) -> Block:
        """A block of at least `nbytes`: the smallest that is free, or a new one."""
        with self._lock:
            fitting = [block for block in self._free if block.memory.size >= nbytes]
            if fitting:
                block = min(fitting, key=_size)
                self._free = [other for other in self._free if other is not block]
                return block
        memory = np.empty(max(_SMALLEST, 1 << (nbytes - 1).bit_length()), np.uint8)
        return Block(memory, self._pin(memory))

    def give_back(self, block: Block) -> None:
        """Nobody reads or writes it any more."""
        with self._lock:
            self._free.append(block)
            if len(self._free) > _KEPT:
                smallest = min(self._free, key=_size)
                self._free = [other for other in self._free if other is not smallest]

    @property
    def nbytes(self) -> int:
        """Bytes that are kept."""
        with self._lock:
            return sum(block.memory.size for block in self._free)


def _size(block: Block) -> int:
    return block.memory.size
