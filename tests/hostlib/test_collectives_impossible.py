"""Collectives of one's own that cannot be: what is told of their schedules, and of arrays that do not fit."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from csaud import schedules
from csaud.collectives import registry
from csaud.errors import ConfigError
from csaud.groups.group import Group
from csaud.schedules import Buffer, Recv, Reduce, Region, Schedule, Send

from tests.hostlib.group_ranks import LONGEST, everywhere
from tests.hostlib.test_collectives_own import shift


@pytest.fixture(autouse=True)
def own_names(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(registry, "_BUILDERS", dict(registry._BUILDERS))
    return


WHOLE, COME = Region(Buffer.DATA, 0, 1), Region(Buffer.SCRATCH, 0, 1)
IMPOSSIBLE = {
    "a message named twice": (
        (Send(1, 0, 0, WHOLE), Send(1, 0, 0, WHOLE)),
        "operation 1 of a schedule: a message of the same peer, step and chunk as another",
    ),
    "to itself": ((Send(0, 0, 0, WHOLE),), "rank 0 sends itself a message"),
    "from itself": ((Recv(0, 0, 0, COME),), "rank 0 sends itself a message"),
    "a negative start": (
        (Send(1, 0, 0, Region(Buffer.DATA, -1, 1)),),
        "operation 0 of a schedule: start=-1: expected 0 to ",
    ),
    "a rank that nobody can have": ((Send(70_000, 0, 0, WHOLE),), "operation 0 of a schedule: dst=70000"),
    "a first operand of another size": (
        (Reduce(Region(Buffer.SCRATCH, 0, 0), WHOLE, WHOLE, ()),),
        "operation 0 of a schedule: operands of different sizes",
    ),
    "a second operand of another size": (
        (Reduce(WHOLE, Region(Buffer.SCRATCH, 0, 0), WHOLE, ()),),
        "operation 0 of a schedule: operands of different sizes",
    ),
    "a sum into the source": (
        (Reduce(WHOLE, WHOLE, Region(Buffer.SOURCE, 0, 1), ()),),
        "operation 0 of a schedule: it writes what is only read",
    ),
    "a receive into the source": (
        (Recv(1, 0, 0, Region(Buffer.SOURCE, 0, 1)),),
        "operation 0 of a schedule: it writes what is only read",
    ),
    "a step that is no number": ((Recv(1, 0.5, 0, COME),), "operation 0 of a schedule: step=0.5: expected"),
}


@pytest.mark.parametrize("what", IMPOSSIBLE)
def test_an_impossible_schedule_is_named_and_nothing_is_sent(what: str) -> None:
    """By check, by rehearse and by a run, after which the group goes on as ever."""
    operations, why = IMPOSSIBLE[what]
    schedules.register("impossible", lambda rank, **_: Schedule(operations if rank == 0 else (), 1, 1))
    for call in (
        lambda: schedules.check("impossible", 2, 1),
        lambda: schedules.rehearse("impossible", [np.ones(1), np.ones(1)]),
    ):
        with pytest.raises(ConfigError, match=why):
            call()

    def work(group: Group) -> None:
        if group.rank == 0:
            with pytest.raises(ConfigError, match=why):
                group.run("impossible", np.ones(1))
        group.barrier()

    everywhere(2, work)


@pytest.mark.parametrize("what", ["step", "chunk", "fan_in"])
def test_numbers_of_a_message_go_up_to_65535(what: str) -> None:
    """A message that is named so comes; the next number is refused."""
    given = {"step": 0, "chunk": 0, what: 65535}

    def far(rank: int, **_: Any) -> Schedule:
        names = given["step"], given["chunk"]
        fan_in = given.get("fan_in", 0)
        message = Recv(0, *names, WHOLE, fan_in) if rank else Send(1, *names, WHOLE, (), fan_in)
        return Schedule((message,), 0, given["step"] + 1)

    schedules.register("far", far)
    arrays = [np.full(1, 3.0), np.zeros(1)]
    schedules.rehearse("far", arrays)
    assert arrays[1] == [3.0]

    def work(group: Group) -> float:
        array = np.full(1, 5.0 if group.rank == 0 else 0.0)
        group.run("far", array)
        return float(array[0])

    assert everywhere(2, work) == [5.0, 5.0]
    given[what] += 1
    with pytest.raises(ConfigError, match=f"operation 0 of a schedule: {what}=65536: expected 0 to 65535"):
        schedules.check("far", 2, 1)


def test_a_message_longer_than_any_is_refused_before_anything_is_sent() -> None:
    schedules.register("long", shift)
    too_long = LONGEST // 8 + 1

    def work(group: Group) -> None:
        array = np.ones(too_long)
        with pytest.raises(ConfigError, match=rf"operation 0 of a schedule: {too_long} elements"):
            group.run("long", array, source=array.copy(), op="sum")
        group.barrier()

    everywhere(2, work)


def reversed_source(rank: int, size: int, count: int, longest: int) -> Schedule:
    """SOURCE goes to DATA of the other rank."""
    return Schedule(
        (
            Send(1 - rank, 0, 0, Region(Buffer.SOURCE, 0, count)),
            Recv(1 - rank, 0, 0, Region(Buffer.DATA, 0, count)),
        ),
        scratch=0,
        steps=1,
    )


THREE, FOUR = np.zeros(3), np.zeros(4)


@pytest.mark.parametrize(
    ("arrays", "sources", "why"),
    [
        ([], None, "no arrays"),
        (
            [THREE, THREE.astype(np.int32)],
            [THREE, THREE],
            "the array of rank 1 is int32, not float64",
        ),
        ([THREE, THREE], [THREE, THREE.astype(np.int32)], "the source of rank 1 is int32, not float64"),
        ([THREE.reshape(1, 3), THREE], [THREE, THREE], "the array of rank 0 has 2 dimensions"),
        ([THREE, THREE], [THREE, np.zeros(())], "the source of rank 1 has 0 dimensions"),
        ([THREE, THREE], [THREE], "2 arrays, and 1 source"),
        ([FOUR, THREE], [FOUR, FOUR], "the array of rank 1 has 3 elements, that of rank 0 4"),
        ([THREE, THREE], [THREE, np.zeros(2)], "the source of rank 1 has 2 elements, its schedule needs 3"),
        ([THREE, THREE], None, "it reads a source, and none is given"),
    ],
)
def test_arrays_that_do_not_fit_a_rehearsal_are_named(
    arrays: list[Any], sources: list[Any] | None, why: str
) -> None:
    schedules.register("across", reversed_source)
    with pytest.raises(ConfigError, match=f"across: .*{why}"):
        schedules.rehearse("across", arrays, sources=sources)
