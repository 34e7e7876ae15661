"""The difference between what a switch holds and what it should hold, in an order that never breaks
forwarding."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from csaud_controller.base.stretches import at_once
from csaud_controller.program.entities import Entry, EntryKey, Item, TableState
from csaud_controller.program.layers import moving_parts

T = TypeVar("T")
Verb = Literal["insert", "modify", "delete"]

# What is referred to comes in before what refers to it: a route names a group of `spray.paths`, a spray mode
# may ask for a second choice. These two need no order: without a second choice the first holds, and without
# the first nothing asks for a second.
_STAGES = {"spray.alternative": 0, "spray.paths": 0, "route.ipv4_lpm": 2, "route.ipv6_lpm": 2}
_OTHERS = 1

_Items = Mapping[Any, Item]


@dataclass(frozen=True)
class Step:
    """Updates of one kind that may take effect in any order among themselves."""

    verb: Verb
    items: tuple[Item, ...]

    def __str__(self) -> str:
        return "; ".join(f"{self.verb} {item}" for item in self.items)


def plan(have: TableState, want: TableState) -> list[Step]:
    """The steps that turn `have` into `want`; empty when they are equal.

    First in, from what is referred to, to what refers to it: clone sessions, digests, members, groups, paths,
    other tables, routes. Then out, the other way round. At no moment does a route lead to a missing group, or
    a group to a missing member; and what replaces an entry is there before that entry goes.
    """
    return at_once(planning(have, want))


def planning(have: TableState, want: TableState) -> Generator[None, None, list[Step]]:
    """`plan` in steps, of some milliseconds where there are 10,000 entries."""
    if have is want:
        return []
    held_entries, wanted_entries = _differing(*moving_parts(have.entries, want.entries))
    yield
    stages: list[tuple[_Items, _Items]] = [
        _differing(have.clones, want.clones),
        _differing(have.digests, want.digests),
        _differing(have.members, want.members),
        _differing(have.groups, want.groups),
        *zip(_by_stage(held_entries), _by_stage(wanted_entries), strict=True),
    ]
    yield
    steps: list[Step] = []
    for held, wanted in stages:
        steps.append(Step("insert", tuple(item for key, item in wanted.items() if key not in held)))
        steps.append(Step("modify", tuple(item for key, item in wanted.items() if key in held)))
    for held, wanted in reversed(stages):
        steps.append(Step("delete", tuple(item for key, item in held.items() if key not in wanted)))
    return [step for step in steps if step.items]


def _differing(held: Mapping[Any, T], wanted: Mapping[Any, T]) -> tuple[dict[Any, T], dict[Any, T]]:
    """What differs in both; after an event nearly all that does not is the same object."""
    if held is wanted:
        return {}, {}
    new = {
        key: item for key, item in wanted.items() if (other := held.get(key)) is not item and other != item
    }
    return {key: item for key, item in held.items() if key in new or key not in wanted}, new


def _by_stage(entries: Mapping[EntryKey, Entry]) -> list[dict[EntryKey, Entry]]:
    stages: list[dict[EntryKey, Entry]] = [{}, {}, {}]
    for key, entry in entries.items():
        stages[_STAGES.get(entry.table, _OTHERS)][key] = entry
    return stages
