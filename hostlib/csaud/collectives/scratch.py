"""Room for what was received and not yet reduced, kept from one collective for the next.

Fresh memory for every call would have to be mapped, zeroed and, on verbs, registered every time.
"""

import threading
from typing import Any

import numpy as np
import numpy.typing as npt

_KEPT = 4  # blocks: of collectives in flight at once
_SMALLEST = 4096  # bytes


class Scratch:
    """A few blocks of bytes, in sizes of powers of two; the largest of those given back are kept."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._free: list[npt.NDArray[np.uint8]] = []

    def take(self, nbytes: int) -> npt.NDArray[np.uint8]:
        """A block of at least `nbytes`: the smallest that is free, or a new one."""
        with self._lock:
            fitting = [block for block in self._free if block.size >= nbytes]
            if fitting:
                block = min(fitting, key=_size)
                self._free = [other for other in self._free if other is not block]
                return block
        return np.empty(max(_SMALLEST, 1 << (nbytes - 1).bit_length()), np.uint8)

    def give_back(self, block: npt.NDArray[np.uint8]) -> None:
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
            return sum(block.size for block in self._free)


def _size(block: npt.NDArray[Any]) -> int:
    return block.size
