"""Names of collectives and the builders of their schedules; another algorithm is one more line or
`register`."""

from collections.abc import Callable
from typing import Any

from csaud.collectives import halving_doubling, hierarchical, ring, tree, tree_reduce
from csaud.collectives.barrier import barrier
from csaud.collectives.schedule import MAX_STEPS, Schedule
from csaud.errors import ConfigError

Builder = Callable[..., Schedule]
"""builder(rank, size, count, longest) is the schedule of `rank` of `size` for `count` elements, in messages
of at most `longest`; of a collective that has one, `root` comes, too, and of a hierarchical one `hosts`. A
pure function: the same arguments give the same schedule, and the ranks' schedules fit together."""


_BUILDERS: dict[str, Builder] = {
    "all_reduce.halving_doubling": halving_doubling.all_reduce,
    "all_reduce.hierarchical": hierarchical.all_reduce,
    "all_reduce.ring": ring.all_reduce,
    "all_gather.ring": ring.all_gather,
    "reduce.ring": ring.reduce,
    "reduce.tree": tree_reduce.reduce,
    "reduce_scatter.ring": ring.reduce_scatter,
    "broadcast.tree": tree.broadcast,
    "barrier.dissemination": barrier,
}


_CALLS = frozenset(
    [name.partition(".")[0] for name in _BUILDERS]
    + [
        "all_to_all",
        "gather",
        "scatter",
        "transfer",
        "sparse_all_reduce",
        "sparse_reduce_scatter",
        "sparse_all_gather",
        "all_gather_mask",
    ]
    + [f"{name}_v" for name in ("all_gather", "all_to_all", "gather", "reduce_scatter", "scatter")]
)
"""Names that the library's own calls go by."""

SMALL_CHUNK = 4096
"""Bytes of a rank's chunk, about a packet, up to which few steps are worth more than few bytes."""


def choose_all_reduce(nbytes: int, size: int) -> str:
    """The algorithm that "auto" stands for, of an array of so many bytes among `size` ranks: never a ring
    whose steps are too many to be numbered."""
    few_steps = nbytes <= size * SMALL_CHUNK or ring.all_reduce_steps(size) > MAX_STEPS
    return "halving_doubling" if few_steps else "ring"


def choose_reduce(all_reduce: str) -> str:
    """The algorithm of a reduction to one rank that has the bits of this one of all-reduce; there is none for
    a hierarchical one."""
    return {"halving_doubling": "tree"}.get(all_reduce, all_reduce)


def register(name: str, builder: Builder) -> None:
    """Add a builder; ConfigError where the name is in use, or a call of the library's has it."""
    if name in _BUILDERS:
        raise ConfigError(f"a collective named {name!r} is registered already")
    if name in _CALLS:
        raise ConfigError(f"{name!r} is a collective of the library: give yours another name")
    _BUILDERS[name] = builder


def names() -> list[str]:
    """All registered names, sorted."""
    return sorted(_BUILDERS)


def build(
    name: str, rank: int, size: int, count: int, longest: int, root: int = -1, hosts: hierarchical.Hosts = ()
) -> Schedule:
    """The schedule that the builder `name` makes; ConfigError where there is no such name.

    Args:
        root: of collectives that have one; those without are not told of it.
        hosts: of those to which it matters; the ranks on each.
    """
    try:
        builder = _BUILDERS[name]
    except KeyError:
        raise ConfigError(f"there is no collective {name!r}; there are {', '.join(names())}") from None
    more: dict[str, Any] = {"root": root} if root >= 0 else {}
    if hosts:
        more["hosts"] = hosts
    return builder(rank=rank, size=size, count=count, longest=longest, **more)
