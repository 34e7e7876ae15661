"""Collectives in which every rank has something for every other one, and the barrier."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from csaud.collectives import pairwise, registry
from csaud.errors import ConfigError
from csaud.flight.record import Call
from csaud.groups.calls import BYTE, NOTHING, Array, Calls, Wanted, backs, check_counts
from csaud.groups.moving import parts_of
from csaud.groups.operands import Operand, apart, readable, result

_BARRIER = Call("barrier")


class Exchanging(Calls):
    """all_to_all, all_to_all_v, barrier."""

    def all_to_all(
        self, array: Any, *, out: Any = None, wait: bool = True, timeout: float | None = None
    ) -> Any:
        """Exchange blocks: `array[r]` goes to rank r, and what rank r had for this one comes in its place.

        Args:
            array: the first dimension is `size`; shape and dtype as on the other ranks.
            out: gets the blocks; other memory than `array` (ConfigError where they overlap).

        Returns:
            A new array of the same shape, or (array, Handle); `out`, or a Handle. `array` must not change
            before that has ended.
        """
        operand = readable(array)
        shape = operand.view.shape
        if not shape or shape[0] != self.size:
            raise ConfigError(f"all_to_all: shape {shape}, expected ({self.size}, ...)")
        into = result(out, shape, operand, "all_to_all")
        counts = [operand.flat.size // self.size] * self.size
        call = Call("all_to_all", operand.element.name, operand.flat.size)
        given = into.view if out is None else out
        return self._exchange(call, operand, counts, into, counts, given, out, Wanted(wait, timeout))

    def all_to_all_v(
        self, parts: Any, sent: Sequence[int] | None = None, received: Sequence[int] | None = None, *,
        out: Any = None, wait: bool = True, timeout: float | None = None,
    ) -> Any:  # fmt: skip
        """Exchange arrays of any lengths.

        Args:
            parts: one-dimensional arrays of one dtype, as on the other ranks, `parts[r]` for rank r; or, with
                `sent`, all of them in one array.
            sent: elements for each rank of the array `parts`.
            received: elements that come from each rank. None on all ranks: they are exchanged before it
                returns. What ranks give must fit together, or the job ends with a ProtocolError.
            out: gets what comes, one after the other in rank order; other memory than `parts`.

        Returns:
            The arrays that came, by rank, parts of one; or (list, Handle). With `out`, that, or a Handle.
        """
        operand, leaving = self._leaving(parts, sent)
        if received is None:
            told = self.all_to_all(np.array(leaving, np.int64).reshape(-1, 1), timeout=timeout)
            coming = tuple(int(count) for count in told.reshape(-1))
        else:
            coming = check_counts("all_to_all_v: received", received, self.size)
        if leaving[self.rank] != coming[self.rank]:
            raise ConfigError(
                f"all_to_all_v: rank {self.rank} sends itself {leaving[self.rank]} elements and receives "
                f"{coming[self.rank]} of them"
            )
        into = result(out, (sum(coming),), operand, "all_to_all_v")
        given = parts_of(into.view, coming) if out is None else out
        call = Call("all_to_all_v", operand.element.name)
        return self._exchange(
            call, operand, leaving, into, coming, given, out, Wanted(wait, timeout),
            fixed=False, closed=received is not None,
        )  # fmt: skip

    def barrier(self, *, wait: bool = True, timeout: float | None = None) -> Any:
        """Return once every rank has called it; with `wait=False` a Handle that ends then.

        Raises:
            PeerUnreachable, Aborted, Timeout, ProtocolError: a rank will not come.
        """
        build = partial(registry.build, "barrier.dissemination", self.rank, self.size, 0, 1)
        return self._run(_BARRIER, build, BYTE, NOTHING, None, Wanted(wait, timeout))

    def _leaving(self, parts: Any, sent: Sequence[int] | None) -> tuple[Operand, tuple[int, ...]]:
        """What goes out, in one array, and how much of it to each rank."""
        if sent is not None:
            operand = readable(parts)
            lengths = check_counts("all_to_all_v: sent", sent, self.size)
            if sum(lengths) != operand.flat.size:
                raise ConfigError(
                    f"all_to_all_v: sent makes {sum(lengths)} elements, and the array has {operand.flat.size}"
                )
            return operand, lengths
        try:
            parts = list(parts)
        except TypeError:
            raise ConfigError(f"all_to_all_v: parts={parts!r}: expected an array for each rank") from None
        if len(parts) != self.size:
            raise ConfigError(f"all_to_all_v: {len(parts)} parts for {self.size} ranks")
        operands = [readable(part) for part in parts]
        first = operands[0]
        if any(part.view.ndim != 1 or part.element is not first.element for part in operands):
            raise ConfigError("all_to_all_v: the parts are one-dimensional and of one dtype")
        whole: Array = np.concatenate([part.flat for part in operands])
        return Operand(whole, first.element, whole, False), tuple(part.flat.size for part in operands)

    def _exchange(
        self, call: Call, operand: Operand, sent: Sequence[int], into: Operand, received: Sequence[int],
        given: Any, out: Any, wanted: Wanted, fixed: bool = True, closed: bool = False,
    ) -> Any:  # fmt: skip
        source, start, goal = operand.flat, sum(sent[: self.rank]), sum(received[: self.rank])
        count = sent[self.rank]
        apart(call.name, into.flat, source)
        np.copyto(into.flat[goal : goal + count], source[start : start + count])
        longest = self._longest(operand.element)
        build = partial(pairwise.all_to_all, self.rank, self.size, sent, received, longest, closed)
        return self._run(
            call, build, operand.element, into.flat, given, wanted,
            fresh=out is None, source=source, fixed=fixed, epilogues=backs(into),
        )  # fmt: skip
