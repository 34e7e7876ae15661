"""Writing what a switch should hold; updates that it refuses are set aside, and the others take effect."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import finsy as fy
from finsy.proto import p4r

from csaud_controller.base.stretches import Stretches
from csaud_controller.program.entities import (
    CloneSession,
    Digest,
    Entry,
    Group,
    Item,
    Member,
    TableState,
    table_state,
)
from csaud_controller.switches.codec import Codec
from csaud_controller.switches.reconcile import Step, Verb

_BATCH = 256
"""Updates in one WriteRequest; P4Runtime promises no order within a request, so steps are never mixed."""
_AT_ONCE = 64
"""Updates that are encoded in one go, in some 2 ms: what follows a link's event waits for nobody's audit."""

# What says something of the session, not of an update.
_SESSION_IS_GONE = (
    fy.GRPCStatusCode.UNAVAILABLE,
    fy.GRPCStatusCode.CANCELLED,
    fy.GRPCStatusCode.DEADLINE_EXCEEDED,
    fy.GRPCStatusCode.PERMISSION_DENIED,
    fy.GRPCStatusCode.UNAUTHENTICATED,
    fy.GRPCStatusCode.FAILED_PRECONDITION,
)


_DONE = {"insert": fy.GRPCStatusCode.ALREADY_EXISTS, "delete": fy.GRPCStatusCode.NOT_FOUND}
"""What an update is told that has taken effect before."""


@dataclass(frozen=True)
class Refused:
    """An update that a switch refuses, or that cannot be said to it."""

    verb: Verb
    item: Item
    why: str

    def __str__(self) -> str:
        return f"{self.verb} {self.item}: {self.why}"


@dataclass
class Written:
    """What became of steps."""

    updates: int = 0
    """That took effect."""
    refused: list[Refused] = field(default_factory=list)


async def write(switch: fy.Switch, codec: Codec, stretches: Stretches, steps: Iterable[Step]) -> Written:
    """Write the steps, each after the one before has been confirmed. P4ClientError: the session is gone."""
    done = Written()
    for step in steps:
        for start in range(0, len(step.items), _BATCH):
            await _write(switch, codec, stretches, step.verb, step.items[start : start + _BATCH], done)
    return done


async def _write(
    switch: fy.Switch, codec: Codec, stretches: Stretches, verb: Verb, items: Sequence[Item], done: Written
) -> None:
    send = {"insert": switch.insert, "modify": switch.modify, "delete": switch.delete}[verb]
    try:
        if len(items) > _AT_ONCE:
            messages = await stretches.compute(_encoded(codec, items))
        else:
            messages = [codec.encode(item) for item in items]
        await send(messages)
    except fy.P4ClientError as error:
        if not error.details and error.code in _SESSION_IS_GONE:
            raise
        if error.details:
            told = max(error.details) + 1
            done.updates += told - len(error.details)
            done.refused += [
                Refused(verb, items[index], f"{why.canonical_code.name.lower()}: {why.message}")
                for index, why in sorted(error.details.items())
                if len(items) > 1 or why.canonical_code != _DONE.get(verb)
            ]
            for item in items[told:]:  # answers that are too long for gRPC end somewhere
                await _write(switch, codec, stretches, verb, [item], done)
            return
        why = f"{error.code.name.lower()}: {error.message}"
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        why = f"cannot be said in this program's terms: {error}"  # finsy's, of a value or a name
    else:
        done.updates += len(items)
        return
    if len(items) == 1:
        done.refused.append(Refused(verb, items[0], why))
        return
    for item in items:  # it was not told which
        await _write(switch, codec, stretches, verb, [item], done)


def _encoded(codec: Codec, items: Iterable[Item]) -> Generator[None, None, list[p4r.Entity]]:
    messages = []
    for item in items:
        messages.append(codec.encode(item))
        yield
    return messages


def held_after(have: TableState, want: TableState, refused: Iterable[Refused]) -> TableState:
    """What a switch holds that held `have` and was to hold `want`."""
    refused = list(refused)
    if not refused:
        return want
    held: dict[tuple[type, Any], Item] = {(type(item), item.key): item for item in _items(want)}
    before = {(type(item), item.key): item for item in _items(have)}
    for each in refused:
        key = type(each.item), each.item.key
        if key in before:
            held[key] = before[key]
        else:
            held.pop(key, None)
    return table_state(held.values())


def _items(state: TableState) -> Iterable[Entry | Member | Group | CloneSession | Digest]:
    yield from state.entries.values()
    yield from state.members.values()
    yield from state.groups.values()
    yield from state.clones.values()
    yield from state.digests.values()
