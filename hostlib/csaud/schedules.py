"""To write a collective of one's own: each rank's schedule as data, made in Python and executed natively.

A builder is a function (rank, size, count, longest) -> Schedule; see docs/hostlib.md, "A collective of one's
own".

    csaud.schedules.register("neighbours.ring", build)
    csaud.schedules.check("neighbours.ring", size=5, count=1000)  # in one process: do they fit together?
    comm.run("neighbours.ring", array, op="sum")
"""

from csaud.collectives.registry import Builder, names, register
from csaud.collectives.rehearsal import check, rehearse
from csaud.collectives.schedule import (
    Buffer,
    Operation,
    Recv,
    Reduce,
    Region,
    Schedule,
    Send,
    messages,
    split,
)

__all__ = [
    "Buffer",
    "Builder",
    "Operation",
    "Recv",
    "Reduce",
    "Region",
    "Schedule",
    "Send",
    "check",
    "messages",
    "names",
    "register",
    "rehearse",
    "split",
]
