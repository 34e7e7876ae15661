"""Collectives of the elements under a mask that all ranks hold: values alone are sent, no indices."""

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from csaud.collectives import ring
from csaud.collectives.elements import ELEMENTS
from csaud.collectives.executor import URGENT
from csaud.collectives.reductions import Reduction, reduction
from csaud.collectives.schedule import Schedule, split
from csaud.errors import ConfigError
from csaud.flight.record import Call
from csaud.groups.calls import BYTE, Array, Calls, Wanted, backs
from csaud.groups.operands import Operand, readable, result, summable, writable

_BITS = 8  # of a byte


class Sparse(Calls):
    """sparse_all_reduce, sparse_reduce_scatter, sparse_all_gather, and all_gather_mask, which makes masks
    that all ranks hold.

    A mask is an array of bool as large as the array, the same on all ranks. Ranks whose masks differ never
    take each other's values for their own: all end with a MismatchError.
    """

    def sparse_all_reduce(
        self, array: Any, mask: Any, op: str = "sum", *, algorithm: str = "", wait: bool = True,
        timeout: float | None = None,
    ) -> Any:  # fmt: skip
        """Replace the elements of `array` under `mask` by their reduction over all ranks; the others keep
        their values. The bits of `all_reduce` of those elements, one after the other.

        Args:
            algorithm: as of `all_reduce`, "auto" by the bytes that are sent.

        Returns:
            `array` itself, or a Handle; until that has ended, neither is to be changed.
        """
        operand = writable(array)
        how = reduction(op, operand.element.name)
        under = _Under("sparse_all_reduce", mask, operand)
        packed = summable(under.packed(operand), how)
        chosen = self._algorithm(algorithm, packed.flat.nbytes)

        def build() -> Schedule:
            return self._all_reduce(chosen, under.count, packed.element)

        return self._run_sparse(
            "sparse_all_reduce", under, packed, array, Wanted(wait, timeout), build, op, how,
            [lambda: under.put(operand, packed.flat), *backs(operand)], by=f"{chosen}, ",
        )  # fmt: skip

    def sparse_reduce_scatter(
        self, array: Any, mask: Any, op: str = "sum", *, out: Any = None, wait: bool = True,
        timeout: float | None = None,
    ) -> Any:  # fmt: skip
        """The reduction over all ranks of those elements of `array` that lie under `mask` in this rank's
        part; the parts are those of numpy.array_split.

        Args:
            array: keeps its values.
            out: where they go, as many as `mask` has in this rank's part.

        Returns:
            A new one-dimensional array, or (array, Handle); `out`, or a Handle.
        """
        operand = readable(array)
        how = reduction(op, operand.element.name)
        under = _Under("sparse_reduce_scatter", mask, operand)
        counts = under.counts(self.size)
        source = summable(under.packed(operand), how).flat
        into = summable(result(out, (counts[self.rank],), operand, "sparse_reduce_scatter"), how)
        if self.size == 1:
            np.copyto(into.flat, source)

        def build() -> Schedule:
            return ring.reduce_scatter_v(self.rank, self.size, counts, self._longest(into.element))

        return self._run_sparse(
            "sparse_reduce_scatter", under, into, into.view if out is None else out, Wanted(wait, timeout),
            build, op, how, backs(into), source=source, fresh=out is None,
        )  # fmt: skip

    def sparse_all_gather(
        self, array: Any, mask: Any, *, wait: bool = True, timeout: float | None = None
    ) -> Any:
        """Replace the elements of `array` under `mask` by those of the rank whose part they lie in; the parts
        are those of numpy.array_split. What is left of a `sparse_all_reduce` after `sparse_reduce_scatter`.

        Returns:
            `array` itself, or a Handle.
        """
        operand = writable(array)
        under = _Under("sparse_all_gather", mask, operand)
        counts = under.counts(self.size)
        packed = under.packed(operand)

        def build() -> Schedule:
            return ring.all_gather_v(self.rank, self.size, counts, self._longest(operand.element))

        return self._run_sparse(
            "sparse_all_gather", under, packed, array, Wanted(wait, timeout), build, "", None,
            [lambda: under.put(operand, packed.flat), *backs(operand)],
        )  # fmt: skip

    def all_gather_mask(self, mask: Any, *, wait: bool = True, timeout: float | None = None) -> Any:
        """Replace an array of bool by what each rank has in its part of it, those of numpy.array_split: a
        mask that all ranks hold, of parts that each has chosen. A bit an element is sent, as class 1 of
        criticality: before what waits for the same rank, and again before other losses.

        Returns:
            `mask` itself, or a Handle.
        """
        operand = writable(mask)
        if operand.element.name != "bool":
            raise ConfigError(f"all_gather_mask: expected an array of bool, got {operand.element.name}")
        flat = operand.flat
        parts = [slice(start, start + length) for start, length in split(flat.size, self.size)]
        lengths = tuple(-(-(part.stop - part.start) // _BITS) for part in parts)
        places = [slice(end - length, end) for length, end in zip(lengths, np.cumsum(lengths), strict=True)]
        bits = np.empty(sum(lengths), BYTE)
        bits[places[self.rank]] = np.packbits(flat[parts[self.rank]])

        def unpack() -> None:
            for rank, part in enumerate(parts):
                if rank != self.rank:
                    flat[part] = np.unpackbits(bits[places[rank]], count=part.stop - part.start)

        def build() -> Schedule:
            return ring.all_gather_v(self.rank, self.size, lengths, self._longest(ELEMENTS["uint8"]))

        return self._run(
            Call("all_gather_mask", "bool", flat.size), build, BYTE, bits, mask, Wanted(wait, timeout),
            epilogues=[unpack, *backs(operand)], cls=URGENT,
        )  # fmt: skip

    def _run_sparse(
        self, name: str, under: "_Under", data: Operand, given: Any, wanted: Wanted, build: Any, op: str,
        how: Reduction | None, epilogues: Sequence[Any], *, source: Array | None = None, fresh: bool = False,
        by: str = "",
    ) -> Any:  # fmt: skip
        call = Call(name, data.element.name, under.count, op)
        average = self._average(how, data) if how is not None else []
        return self._run(
            call, build, data.element, data.flat, given, wanted, fresh=fresh, reduce=how, source=source,
            epilogues=[*average, *epilogues], fixed=False, agreed=f"{by}{under.words}",
        )  # fmt: skip


class _Under:
    """The elements of an array that a mask leaves.

    Attributes:
        count: how many.
        words: what tells this mask from others.
    """

    def __init__(self, name: str, mask: Any, of: Operand) -> None:
        given = readable(mask)
        if given.element.name != "bool" or given.view.shape != of.view.shape:
            raise ConfigError(
                f"{name}: the mask has shape {given.view.shape} of {given.element.name}, expected "
                f"{of.view.shape} of bool"
            )
        flat = given.flat.view(np.bool_)
        self._places: npt.NDArray[np.intp] = np.flatnonzero(flat)
        self._size = flat.size
        self.count = self._places.size
        self.words = f"of {flat.size}, mask #{zlib.crc32(np.packbits(flat).data):08x}"

    def counts(self, size: int) -> tuple[int, ...]:
        """How many lie in the part of each of `size` ranks."""
        ends = [start + length for start, length in split(self._size, size)]
        below = np.searchsorted(self._places, ends)
        return tuple(int(count) for count in np.diff(below, prepend=0))

    def packed(self, operand: Operand) -> Operand:
        """Copies of them, one after the other."""
        values = operand.flat[self._places]
        return Operand(values, operand.element, values, False)

    def put(self, operand: Operand, values: Array) -> None:
        """`values` in their places."""
        operand.flat[self._places] = values
