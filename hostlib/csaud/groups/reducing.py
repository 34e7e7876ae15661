"""Collectives that combine the ranks' arrays."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from csaud.collectives import registry, ring
from csaud.collectives.reductions import reduction
from csaud.collectives.schedule import Schedule, split
from csaud.errors import ConfigError
from csaud.flight.record import Call
from csaud.groups.calls import Calls, Wanted, backs, check_counts
from csaud.groups.operands import Operand, apart, readable, result, summable, writable
from csaud.groups.words import counts_in_words


class Reducing(Calls):
    """all_reduce, reduce, reduce_scatter; `op` is "sum", "product", "min", "max", "average" (floats), "and",
    "or" or "xor" (integers and bool)."""

    def all_reduce(
        self, array: Any, op: str = "sum", *, out: Any = None, algorithm: str = "", wait: bool = True,
        timeout: float | None = None,
    ) -> Any:  # fmt: skip
        """Replace `array` on every rank by the element-wise reduction over all; the same bits everywhere.

        Args:
            array: any shape, shape and dtype as on the other ranks.
            out: gets the result instead; `array` keeps its values then.
            algorithm: "ring", "halving_doubling", "auto": by the array's size, or "hierarchical": inside
                hosts first, of which each has to have as many ranks; empty: setting all_reduce.

        Returns:
            `array` itself, or `out`; or a Handle.

        Raises:
            ConfigError: an array or op that is not supported; nothing was sent.
            PeerUnreachable, Aborted, Timeout, ProtocolError: the collective failed; the array holds garbage.
        """
        operand = writable(array) if out is None else _copied(array, out, "all_reduce")
        called = operand.element.name
        how = reduction(op, called)
        operand = summable(operand, how)
        flat = operand.flat
        chosen = self._algorithm(algorithm, flat.nbytes)

        def build() -> Schedule:
            return self._all_reduce(chosen, flat.size, operand.element)

        return self._run(
            Call(f"all_reduce.{chosen}", called, flat.size, op), build, operand.element, flat,
            array if out is None else out, Wanted(wait, timeout), reduce=how,
            epilogues=[*self._average(how, operand), *backs(operand)],
        )  # fmt: skip

    def reduce(
        self, array: Any, op: str = "sum", root: int = 0, *, out: Any = None, algorithm: str = "",
        wait: bool = True, timeout: float | None = None,
    ) -> Any:  # fmt: skip
        """The element-wise reduction of all ranks' arrays at rank `root`; the bits that all_reduce gives.

        Args:
            array: shape and dtype as on the other ranks; keeps its values.
            out: where the result goes at `root`, perhaps `array` itself; elsewhere it is not looked at.
            algorithm: "ring", "tree" (the bits of halving_doubling), "auto"; empty: as setting all_reduce,
                and "auto", with its bits, where that is hierarchical.

        Returns:
            At `root` a new array, or `out`; elsewhere None; or (that, Handle). With `out` a Handle alone.
        """
        root = self._checked_rank(root)
        operand = readable(array)
        called = operand.element.name
        how = reduction(op, called)
        into = None
        if self.rank == root:
            into = summable(result(out, operand.view.shape, operand, "reduce"), how)
        operand = summable(operand, how)
        source = operand.flat
        asked = "halving_doubling" if algorithm == "tree" else algorithm
        if asked == "" and self._job.all_reduce == "hierarchical":
            asked = "auto"
        name = f"reduce.{registry.choose_reduce(self._algorithm(asked, source.nbytes))}"

        def build() -> Schedule:
            return registry.build(
                name, self.rank, self.size, source.size, self._longest(operand.element), root
            )

        epilogues = []
        if into is not None:
            apart(name.partition(".")[0], into.flat, source, (into.flat, source))
            if self.size == 1:
                np.copyto(into.flat, source)
            epilogues = [*self._average(how, into), *backs(into)]
        given = (into.view if out is None else out) if into is not None else None
        return self._run(
            Call(name, called, source.size, op, root), build, operand.element,
            source[:0] if into is None else into.flat, given, Wanted(wait, timeout), fresh=out is None,
            reduce=how, source=source, epilogues=epilogues,
        )  # fmt: skip

    def reduce_scatter(
        self, array: Any, op: str = "sum", *, out: Any = None, wait: bool = True,
        timeout: float | None = None,
    ) -> Any:  # fmt: skip
        """This rank's part of the reduction of all ranks' arrays; the parts are those of numpy.array_split.

        Args:
            array: keeps its values.
            out: where the part goes, perhaps this rank's part of `array`.

        Returns:
            A new one-dimensional array, or (array, Handle); `out`, or a Handle.
        """
        operand = readable(array)
        lengths = [length for _, length in split(operand.flat.size, self.size)]
        call = Call("reduce_scatter", operand.element.name, operand.flat.size, op)
        return self._reduce_scatter(call, operand, lengths, out, Wanted(wait, timeout))

    def reduce_scatter_v(
        self, array: Any, counts: Sequence[int], op: str = "sum", *, out: Any = None, wait: bool = True,
        timeout: float | None = None,
    ) -> Any:  # fmt: skip
        """As `reduce_scatter`, with parts of any lengths: `counts[r]` elements for rank r, the same numbers
        on all ranks; their sum is the array's size."""
        operand = readable(array)
        lengths = check_counts("reduce_scatter_v", counts, self.size)
        if (total := sum(lengths)) != operand.flat.size:
            raise ConfigError(
                f"reduce_scatter_v: counts make {total} elements, and the array has {operand.flat.size}"
            )
        words = counts_in_words(lengths)
        call = Call("reduce_scatter_v", operand.element.name, operand.flat.size, op, detail=words)
        return self._reduce_scatter(call, operand, lengths, out, Wanted(wait, timeout))

    def _reduce_scatter(
        self, call: Call, operand: Operand, lengths: Sequence[int], out: Any, wanted: Wanted
    ) -> Any:
        how = reduction(call.op, operand.element.name)
        into = summable(result(out, (lengths[self.rank],), operand, call.name), how)
        operand = summable(operand, how)
        source = operand.flat
        start = sum(lengths[: self.rank])
        apart(call.name, into.flat, source, (into.flat, source[start : start + lengths[self.rank]]))
        if self.size == 1:
            np.copyto(into.flat, source)
        counts = tuple(lengths)
        build = partial(ring.reduce_scatter_v, self.rank, self.size, counts, self._longest(operand.element))
        return self._run(
            call, build, operand.element, into.flat, into.view if out is None else out, wanted,
            fresh=out is None, reduce=how, source=source, key=counts,
            epilogues=[*self._average(how, into), *backs(into)],
        )  # fmt: skip


def _copied(array: Any, out: Any, name: str) -> Operand:
    """`out` with the values of `array`."""
    given = readable(array)
    into = result(out, given.view.shape, given, name)
    np.copyto(into.flat, given.flat)
    return into
