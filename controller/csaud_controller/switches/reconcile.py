"""The difference between what a switch holds and what it should hold, in an order that never breaks
forwarding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from csaud_controller.program.entities import Entry, EntryKey, Item, TableState
from csaud_controller.program.layers import moving_parts

Verb = Literal["insert", "modify", "delete"]

# What is referred to comes in before what refers to it: a route names a group of `spray.paths`, a spray mode
# may ask for a second choice.
_TABLES_IN_ORDER = ("spray.alternative", "spray.paths", "", "route.ipv4_lpm")


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
    if have is want:
        return []
    have_tables, want_tables = map(_by_stage, moving_parts(have.entries, want.entries))
    stages: list[tuple[Mapping[Any, Item], Mapping[Any, Item]]] = [
        (have.clones, want.clones),
        (have.digests, want.digests),
        (have.members, want.members),
        (have.groups, want.groups),
        *zip(have_tables, want_tables, strict=True),
    ]
    steps: list[Step] = []
    for held, wanted in stages:
        steps.append(Step("insert", tuple(item for key, item in wanted.items() if key not in held)))
        steps.append(
            Step("modify", tuple(item for key, item in wanted.items() if _differs(held.get(key, item), item)))
        )
    for held, wanted in reversed(stages):
        steps.append(Step("delete", tuple(item for key, item in held.items() if key not in wanted)))
    return [step for step in steps if step.items]


def _differs(one: Item, other: Item) -> bool:
    return one is not other and one != other


def _by_stage(entries: Mapping[EntryKey, Entry]) -> list[dict[EntryKey, Item]]:
    stages: list[dict[EntryKey, Item]] = [{} for _ in _TABLES_IN_ORDER]
    for key, entry in entries.items():
        stage = entry.table if entry.table in _TABLES_IN_ORDER else ""
        stages[_TABLES_IN_ORDER.index(stage)][key] = entry
    return stages
