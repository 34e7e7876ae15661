"""Schedules as the native executor takes them."""

import operator
from collections.abc import Iterator
from typing import Any

from csaud import _core
from csaud.collectives.schedule import Buffer, Operation, Recv, Reduce, Region, Schedule, Send
from csaud.errors import ConfigError

_PLACES = {Buffer.DATA: 0, Buffer.SOURCE: 1, Buffer.SCRATCH: 2}
_SEND, _RECEIVE, _REDUCE = range(3)
_MOST = {"start": 1 << 56, "count": 1 << 56, "after": (1 << 32) - 1}  # as in native/collectives/plan.hpp
_MOST_OTHERS = (1 << 16) - 1  # ranks, steps, chunks and fan_in have 16 bits


def compiled(schedule: Schedule) -> _core.Plan:
    """The plan of `schedule`; steps and chunks are below 2^16."""
    return _core.Plan([_native(op) for op in schedule.operations], schedule.scratch, schedule.steps)


def check_operations(name: str, schedule: Schedule, rank: int, longest: int) -> None:
    """What the native executor would not take, or would find when some of it has been sent already.

    Raises:
        ConfigError: names the operation of collective `name` that has a number out of range, is a message of
            `rank` to itself, or one of more than `longest` elements.
    """
    for index, op in enumerate(schedule.operations):
        named = f"{name}: operation {index} of a schedule:"
        for what, value in _numbers(op):
            most = _MOST.get(what, _MOST_OTHERS)
            if not _is_within(value, most):
                raise ConfigError(f"{named} {what}={value!r}: expected 0 to {most}")
        if isinstance(op, Reduce):
            continue
        if rank == (op.dst if isinstance(op, Send) else op.src):
            raise ConfigError(f"{name}: rank {rank} sends itself a message: Region and Reduce do without")
        if op.region.count > longest:
            raise ConfigError(f"{named} {op.region.count} elements, a message has at most {longest}")


def _numbers(op: Operation) -> Iterator[tuple[str, Any]]:
    """With their names."""
    if isinstance(op, Reduce):
        regions = [op.into, op.first, op.second]
    else:
        regions = [op.region]
        yield ("dst", op.dst) if isinstance(op, Send) else ("src", op.src)
        yield from (("step", op.step), ("chunk", op.chunk), ("fan_in", op.fan_in))
    for region in regions:
        yield from (("start", region.start), ("count", region.count))
    if not isinstance(op, Recv):
        yield from (("after", earlier) for earlier in op.after)


def _is_within(value: Any, most: int) -> bool:
    try:
        return 0 <= operator.index(value) <= most
    except TypeError:
        return False


def _native(op: Operation) -> tuple[Any, ...]:
    """Kind, peer, step, chunk, fan_in, regions, after."""
    match op:
        case Send():
            return _SEND, op.dst, op.step, op.chunk, op.fan_in, [_place(op.region)], op.after
        case Recv():
            return _RECEIVE, op.src, op.step, op.chunk, op.fan_in, [_place(op.region)], ()
        case Reduce():
            regions = [_place(region) for region in (op.into, op.first, op.second)]
            return _REDUCE, 0, 0, 0, 0, regions, op.after


def _place(region: Region) -> tuple[int, int, int]:
    return _PLACES[region.buffer], region.start, region.count
