"""Schedules as the native executor takes them."""

from typing import Any

from csaud import _core
from csaud.collectives.schedule import Buffer, Operation, Recv, Reduce, Region, Schedule, Send

_PLACES = {Buffer.DATA: 0, Buffer.SOURCE: 1, Buffer.SCRATCH: 2}
_SEND, _RECEIVE, _REDUCE = range(3)


def compiled(schedule: Schedule) -> _core.Plan:
    """The plan of `schedule`; steps and chunks are below 2^16."""
    return _core.Plan([_native(op) for op in schedule.operations], schedule.scratch, schedule.steps)


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
