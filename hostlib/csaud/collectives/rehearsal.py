"""A collective in one process: whether the schedules of all ranks fit together, and what they give."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from csaud.collectives import registry
from csaud.collectives.plan import check_operations, compiled
from csaud.collectives.reductions import reduction
from csaud.collectives.schedule import Buffer, Recv, Reduce, Region, Schedule, Send
from csaud.errors import ConfigError

Array = npt.NDArray[Any]
_LONGEST = 1 << 20  # elements of a message
_NAMES = {Buffer.DATA: "array", Buffer.SOURCE: "source", Buffer.SCRATCH: "scratch"}


def check(name: str, size: int, count: int, longest: int = _LONGEST, root: int = -1) -> list[Schedule]:
    """The schedules of `size` ranks, which fit together: each message that is sent is expected, with as many
    elements, and no other, and what waits for another operation waits for an earlier one.

    Raises:
        ConfigError: they do not; the message names the rank and the message.
    """
    schedules = [registry.build(name, rank, size, count, longest, root) for rank in range(size)]
    if len({schedule.steps for schedule in schedules}) > 1:
        raise ConfigError(f"{name}: the ranks' schedules differ in steps, of which all name messages alike")
    sent: dict[tuple[int, int, int, int], int] = {}
    expected: dict[tuple[int, int, int, int], int] = {}
    for rank, schedule in enumerate(schedules):
        try:
            check_operations(name, schedule, rank, longest)
            compiled(schedule)
        except ConfigError:
            raise
        except ValueError as error:
            raise ConfigError(f"{name}, rank {rank} of {size}: {error}") from None
        for op in schedule.operations:
            if isinstance(op, Reduce):
                continue
            side = sent if isinstance(op, Send) else expected
            ends = (rank, op.dst) if isinstance(op, Send) else (op.src, rank)
            side[(*ends, op.step, op.chunk)] = op.region.count
    for key in sorted(sent.keys() | expected.keys()):
        there, here = sent.get(key), expected.get(key)
        if there != here:
            raise ConfigError(
                f"{name}: {_in_words(key)}: {_elements(there, 'sent')}, {_elements(here, 'expected')}"
            )
    return schedules


def rehearse(
    name: str, arrays: Sequence[Array], op: str = "", *, sources: Sequence[Array] | None = None,
    count: int | None = None, longest: int = _LONGEST, root: int = -1,
) -> None:  # fmt: skip
    """Run it on the arrays of all ranks (Buffer.DATA), one-dimensional, in place.

    Raises:
        ConfigError: as `check`; or arrays do not fit it or each other; or operations wait for each other, so
            that it would hang.
    """
    size = len(arrays)
    _check_arrays(name, arrays, sources)
    if count is None and len({array.size for array in arrays}) > 1:
        rank = next(rank for rank, array in enumerate(arrays) if array.size != arrays[0].size)
        raise ConfigError(
            f"{name}: the array of rank {rank} has {arrays[rank].size} elements, that of rank 0 "
            f"{arrays[0].size}: say which `count` the builder is told"
        )
    schedules = check(name, size, arrays[0].size if count is None else count, longest, root)
    combine = reduction(op, arrays[0].dtype.name).combine if op else None
    scratch = [np.empty(schedule.scratch, arrays[0].dtype) for schedule in schedules]
    places = {Buffer.DATA: arrays, Buffer.SCRATCH: scratch, Buffer.SOURCE: sources}
    done: list[set[int]] = [set() for _ in schedules]
    on_the_way: dict[tuple[int, int, int, int], Array] = {}

    def part(rank: int, region: Region) -> Array:
        place = places[region.buffer]
        if place is None:
            raise ConfigError(f"{name}: it reads a source, and none is given")
        end = region.start + region.count
        if end > place[rank].size:
            what = _NAMES[region.buffer]
            raise ConfigError(
                f"{name}: the {what} of rank {rank} has {place[rank].size} elements, its schedule needs {end}"
            )
        return place[rank][region.start : end]

    def step(rank: int, index: int) -> bool:
        op_ = schedules[rank].operations[index]
        if index in done[rank]:
            return False
        if isinstance(op_, Recv):
            value = on_the_way.pop((op_.src, rank, op_.step, op_.chunk), None)
            if value is None:
                return False
            part(rank, op_.region)[:] = value
        elif not set(op_.after) <= done[rank]:
            return False
        elif isinstance(op_, Send):
            on_the_way[rank, op_.dst, op_.step, op_.chunk] = part(rank, op_.region).copy()
        elif combine is None:
            raise ConfigError(f"{name}: it reduces, and no op is given")
        else:
            part(rank, op_.into)[:] = combine(part(rank, op_.first), part(rank, op_.second))
        done[rank].add(index)
        return True

    every = [(rank, i) for rank, one in enumerate(schedules) for i in range(len(one.operations))]
    while True:
        moved = [step(rank, index) for rank, index in every]
        if not any(moved):
            break
    stuck = [(rank, index) for rank, index in every if index not in done[rank]]
    if stuck:
        rank, index = stuck[0]
        raise ConfigError(f"{name}: operation {index} of rank {rank} waits for ever")


def _check_arrays(name: str, arrays: Sequence[Array], sources: Sequence[Array] | None) -> None:
    """ConfigError unless they are of as many ranks, one-dimensional, and of one element type."""
    if not arrays:
        raise ConfigError(f"{name}: no arrays, of which each rank has one")
    if sources is not None and len(sources) != len(arrays):
        raise ConfigError(f"{name}: {len(arrays)} arrays, and {len(sources)} sources")
    for what, given in (("array", arrays), ("source", sources or [])):
        for rank, array in enumerate(given):
            if array.ndim != 1:
                raise ConfigError(f"{name}: the {what} of rank {rank} has {array.ndim} dimensions, not one")
            if array.dtype != arrays[0].dtype:
                raise ConfigError(
                    f"{name}: the {what} of rank {rank} is {array.dtype}, not {arrays[0].dtype} as others"
                )


def _in_words(key: tuple[int, int, int, int]) -> str:
    src, dst, step, chunk = key
    return f"message (step {step}, chunk {chunk}) from rank {src} to rank {dst}"


def _elements(count: int | None, what: str) -> str:
    return f"not {what}" if count is None else f"{count} elements {what}"
