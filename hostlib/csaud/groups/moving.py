"""Collectives that move arrays: from all ranks or from one, to all ranks or to one."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from csaud.collectives import gather, ring, scatter, tree
from csaud.errors import ConfigError
from csaud.flight.record import Call
from csaud.groups.calls import Array, Calls, Wanted, backs, check_counts
from csaud.groups.operands import Operand, apart, readable, result, writable
from csaud.groups.words import counts_in_words


class Moving(Calls):
    """broadcast, all_gather, gather, scatter, and those of parts of any lengths."""

    def broadcast(self, array: Any, root: int = 0, *, wait: bool = True, timeout: float | None = None) -> Any:
        """Replace `array` on every rank by that of rank `root`, of its shape; returns it, or a Handle."""
        root = self._checked_rank(root)
        operand = readable(array) if self.rank == root else writable(array)
        flat = operand.flat
        build = partial(tree.broadcast, self.rank, self.size, flat.size, self._longest(operand.element), root)
        call = Call("broadcast", operand.element.name, flat.size, root=root)
        epilogues = [] if self.rank == root else backs(operand)
        return self._run(
            call, build, operand.element, flat, array, Wanted(wait, timeout), epilogues=epilogues
        )

    def all_gather(
        self, array: Any, *, out: Any = None, wait: bool = True, timeout: float | None = None
    ) -> Any:
        """The arrays of all ranks, of one shape and dtype.

        Args:
            out: gets them, one after the other in rank order; `array` may be this rank's place in it.

        Returns:
            A new array of shape (size, *array.shape), or (array, Handle); `out`, or a Handle.
        """
        operand = readable(array)
        count = operand.flat.size
        into = result(out, (self.size, *operand.view.shape), operand, "all_gather")
        call = Call("all_gather", operand.element.name, count)
        given = into.view if out is None else out
        return self._gather_all(call, operand, into, (count,) * self.size, given, out, Wanted(wait, timeout))

    def all_gather_v(
        self, array: Any, counts: Sequence[int] | None = None, *, out: Any = None, wait: bool = True,
        timeout: float | None = None,
    ) -> Any:  # fmt: skip
        """The arrays of all ranks, one-dimensional, of one dtype and any lengths.

        Args:
            counts: elements of each rank's array, the same numbers on all ranks; None on all of them: they
                are exchanged before it returns.
            out: gets them, one after the other in rank order.

        Returns:
            The arrays by rank, parts of one; or (list, Handle). With `out`, that, or a Handle.
        """
        operand = readable(array)
        lengths = self._lengths("all_gather_v", operand, counts, timeout)
        into = result(out, (sum(lengths),), operand, "all_gather_v")
        call = Call("all_gather_v", operand.element.name, sum(lengths), detail=counts_in_words(lengths))
        given = parts_of(into.view, lengths) if out is None else out
        return self._gather_all(call, operand, into, lengths, given, out, Wanted(wait, timeout))

    def gather(
        self, array: Any, root: int = 0, *, out: Any = None, wait: bool = True, timeout: float | None = None
    ) -> Any:
        """The arrays of all ranks, of one shape and dtype, at rank `root`.

        Args:
            out: gets them at `root`, in rank order; elsewhere it is not looked at.

        Returns:
            There a new array of shape (size, *array.shape), elsewhere None; or (that, Handle). With `out`
            that, or a Handle. `array` must not change before it has ended.
        """
        root = self._checked_rank(root)
        operand = readable(array)
        count = operand.flat.size
        into = None
        if self.rank == root:
            into = result(out, (self.size, *operand.view.shape), operand, "gather")
        call = Call("gather", operand.element.name, count, root=root)
        given = None if into is None else into.view if out is None else out
        return self._gather_at(call, operand, into, (count,) * self.size, given, out, Wanted(wait, timeout))

    def gather_v(
        self, array: Any, counts: Sequence[int] | None = None, root: int = 0, *, out: Any = None,
        wait: bool = True, timeout: float | None = None,
    ) -> Any:  # fmt: skip
        """The arrays of all ranks, one-dimensional, of one dtype and any lengths, at rank `root`.

        Args:
            counts: elements of each rank's array, the same numbers on all ranks; None on all of them: they
                are exchanged before it returns.

        Returns:
            At `root` the arrays by rank, elsewhere None; or (that, Handle). With `out`, that, or a Handle.
        """
        root = self._checked_rank(root)
        operand = readable(array)
        lengths = self._lengths("gather_v", operand, counts, timeout)
        into = result(out, (sum(lengths),), operand, "gather_v") if self.rank == root else None
        words = counts_in_words(lengths)
        call = Call("gather_v", operand.element.name, sum(lengths), root=root, detail=words)
        given = None
        if into is not None:
            given = parts_of(into.view, lengths) if out is None else out
        return self._gather_at(call, operand, into, lengths, given, out, Wanted(wait, timeout))

    def scatter(
        self, array: Any = None, root: int = 0, *, out: Any = None, wait: bool = True,
        timeout: float | None = None,
    ) -> Any:  # fmt: skip
        """This rank's block of the array of rank `root`.

        Args:
            array: at `root`, of shape (size, ...), block r for rank r; elsewhere it is not looked at.
            out: gets the block; only at `root` it may be missing, which gives a new array there.

        Returns:
            The block (`out`), or a Handle; without `out` (array, Handle). `array` must not change before it
            has ended.
        """
        root = self._checked_rank(root)
        source = self._scattered("scatter", array, root)
        if source is not None and (source.view.ndim == 0 or source.view.shape[0] != self.size):
            raise ConfigError(f"scatter: shape {source.view.shape}, expected ({self.size}, ...)")
        shape = None if source is None else source.view.shape[1:]
        into = self._block("scatter", source, shape, out)
        count = into.flat.size
        call = Call("scatter", into.element.name, count, root=root)
        return self._scatter(call, source, into, (count,) * self.size, root, out, Wanted(wait, timeout))

    def scatter_v(
        self, array: Any, counts: Sequence[int], root: int = 0, *, out: Any = None, wait: bool = True,
        timeout: float | None = None,
    ) -> Any:  # fmt: skip
        """This rank's part of the one-dimensional array of rank `root`, of any length.

        Args:
            array: at `root`; elsewhere it is not looked at.
            counts: elements of each rank's part, the same numbers on all ranks.
            out: as of `scatter`.
        """
        root = self._checked_rank(root)
        lengths = check_counts("scatter_v", counts, self.size)
        source = self._scattered("scatter_v", array, root)
        if source is not None and source.flat.size != sum(lengths):
            raise ConfigError(
                f"scatter_v: counts make {sum(lengths)} elements, and the array has {source.flat.size}"
            )
        into = self._block("scatter_v", source, (lengths[self.rank],), out)
        words = counts_in_words(lengths)
        call = Call("scatter_v", into.element.name, sum(lengths), root=root, detail=words)
        return self._scatter(call, source, into, lengths, root, out, Wanted(wait, timeout))

    def _lengths(
        self, name: str, operand: Operand, counts: Sequence[int] | None, timeout: float | None
    ) -> tuple[int, ...]:
        """Elements of each rank's array: as given, or as the ranks tell each other."""
        mine = operand.flat.size
        if counts is None:
            told = self.all_gather(np.array([mine], np.int64), timeout=timeout)
            return tuple(int(count) for count in told.reshape(-1))
        lengths = check_counts(name, counts, self.size)
        if lengths[self.rank] != mine:
            raise ConfigError(
                f"{name}: counts say {lengths[self.rank]} elements of rank {self.rank}, its array has {mine}"
            )
        return lengths

    def _gather_all(
        self, call: Call, operand: Operand, into: Operand, lengths: tuple[int, ...], given: Any, out: Any,
        wanted: Wanted,
    ) -> Any:  # fmt: skip
        _place(call.name, operand, into, lengths, self.rank)
        longest = self._longest(operand.element)
        build = partial(ring.all_gather_v, self.rank, self.size, lengths, longest)
        return self._run(
            call, build, operand.element, into.flat, given, wanted,
            fresh=out is None, key=lengths, epilogues=backs(into),
        )  # fmt: skip

    def _gather_at(
        self, call: Call, operand: Operand, into: Operand | None, lengths: tuple[int, ...], given: Any,
        out: Any, wanted: Wanted,
    ) -> Any:  # fmt: skip
        source = operand.flat
        longest = self._longest(operand.element)
        build = partial(gather.gather_v, self.rank, self.size, lengths, longest, call.root)
        data = source[:0]
        epilogues = []
        if into is not None:
            _place(call.name, operand, into, lengths, self.rank)
            data, epilogues = into.flat, backs(into)
        return self._run(
            call, build, operand.element, data, given, wanted,
            fresh=out is None, source=source, key=lengths, epilogues=epilogues,
        )  # fmt: skip

    def _scattered(self, name: str, array: Any, root: int) -> Operand | None:
        """What is scattered; None at ranks that only receive."""
        if self.rank != root:
            return None
        if array is None:
            raise ConfigError(f"{name}: rank {root} is the root and gives no array")
        return readable(array)

    def _block(self, name: str, source: Operand | None, shape: Sequence[int] | None, out: Any) -> Operand:
        """Where this rank's part goes."""
        if source is not None and shape is not None:
            return result(out, shape, source, name)
        if out is None:
            raise ConfigError(f"{name}: out is needed at every rank but the root, which alone knows the type")
        into = writable(out)
        if shape is not None and into.flat.size != shape[0]:
            raise ConfigError(f"{name}: out has {into.flat.size} elements, counts say {shape[0]}")
        return into

    def _scatter(
        self, call: Call, source: Operand | None, into: Operand, lengths: tuple[int, ...], root: int,
        out: Any, wanted: Wanted,
    ) -> Any:  # fmt: skip
        longest = self._longest(into.element)
        build = partial(scatter.scatter_v, self.rank, self.size, lengths, longest, root)
        given = into.view if out is None else out
        data, epilogues = into.flat, backs(into)
        if source is not None:
            start = sum(lengths[:root])
            own = source.flat[start : start + lengths[root]]
            apart(call.name, into.flat, source.flat, (into.flat, own))
            np.copyto(into.flat, own)
            into.copy_back()
            epilogues = []
        return self._run(
            call, build, into.element, data, given, wanted,
            fresh=out is None, source=None if source is None else source.flat, key=lengths,
            epilogues=epilogues,
        )  # fmt: skip


def parts_of(view: Array, lengths: Sequence[int]) -> list[Array]:
    """A one-dimensional array, cut into parts."""
    return np.split(view, np.cumsum(lengths)[:-1])


def _place(name: str, operand: Operand, into: Operand, lengths: Sequence[int], rank: int) -> None:
    """A rank's own part of what is gathered; ConfigError where other parts would go over it."""
    start = sum(lengths[:rank])
    own = into.flat[start : start + lengths[rank]]
    apart(name, into.flat, operand.flat, (own, operand.flat))
    np.copyto(own, operand.flat)
