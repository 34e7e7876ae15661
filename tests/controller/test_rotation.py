"""How often tables are read back: as asked for, within a share of a processor."""

import asyncio
from typing import Any

import pytest
from csaud_controller.base.rotation import Rotation
from csaud_controller.program.artifacts import find_artifacts
from csaud_controller.program.entities import TableState
from csaud_controller.switches.task import Hooks, SwitchTask
from csaud_controller.targets import TARGETS

from tests.controller.soft import PATIENCE_S, run_directory, switches


def test_turns_come_as_asked_for_where_they_cost_little() -> None:
    rotation = Rotation(share=0.1)
    assert rotation.period_s("s0", 3.0) == 3.0
    for number in range(80):
        rotation.took(f"s{number}", 0.002)
    assert rotation.period_s("s0", 3.0) == 3.0
    assert rotation.period_s("s1", 1.0) == pytest.approx(1.6)


def test_a_thousand_large_switches_are_gone_through_within_the_share() -> None:
    rotation = Rotation(share=0.1)
    for number in range(1000):
        rotation.took(f"s{number}", 0.004)
    periods = [rotation.period_s("s0", 3.0) for _ in range(6)]
    assert periods == pytest.approx([6.0, 12.0, 24.0, 40.0, 40.0, 40.0])
    for number in range(900):
        rotation.leave(f"s{number}")
    assert rotation.period_s("s900", 3.0) == pytest.approx(4.0)
    assert rotation.period_s("s0", 0.5) == 1.0, "it begins anew"


def test_what_else_was_computed_meanwhile_is_not_a_turns_cost_and_a_table_that_grows_is() -> None:
    rotation = Rotation(share=0.1)
    rotation.took("s1", 90.0)
    assert rotation.period_s("s1", 3.0) == 6.0, "it is soon known better"
    for computed_s in (0.4, 9.0, 7.0):
        rotation.took("s1", computed_s)
        assert rotation.period_s("s1", 3.0) == pytest.approx(4.0)
    rotation.took("s1", 0.6)
    assert rotation.period_s("s1", 3.0) == pytest.approx(4.0)
    rotation.took("s1", 0.6)
    assert rotation.period_s("s1", 3.0) == pytest.approx(6.0)


def test_who_leaves_without_a_turn_is_no_mistake() -> None:
    rotation = Rotation()
    rotation.leave("s1")
    assert rotation.period_s("s1", 3.0) == 3.0


class Watched(Rotation):
    """Says what it was told and asked, and when a session has left."""

    def __init__(self) -> None:
        super().__init__()
        self.told, self.asked = list[tuple[str, float]](), list[tuple[str, float]]()
        self.thrice, self.left = asyncio.Event(), asyncio.Event()

    def took(self, name: str, computed_s: float) -> None:
        self.told.append((name, computed_s))
        if len(self.told) == 3:
            self.thrice.set()

    def leave(self, name: str) -> None:
        self.left.set()

    def period_s(self, name: str, wanted_s: float) -> float:
        self.asked.append((name, wanted_s))
        return 0.01


def test_a_switch_is_read_back_when_the_rotation_says_so_and_is_out_of_it_with_its_session() -> None:
    async def main() -> None:
        rotation = Watched()
        hooks: Any = dict.fromkeys(Hooks.__dataclass_fields__, lambda *about: None)
        hooks |= {"desired": lambda name: (1, TableState())}
        with run_directory() as run:
            task = SwitchTask(
                "l1", str(run.fabric().switches["l1"].p4runtime), 1, find_artifacts(), TARGETS["soft"],
                Hooks(**hooks), audit_s=0.02, rotation=rotation,
            )  # fmt: skip
            async with switches(run), asyncio.timeout(PATIENCE_S):
                running = asyncio.create_task(task.run())
                await rotation.thrice.wait()
                assert not rotation.left.is_set()
                running.cancel()
                await asyncio.wait([running])
        assert {name for name, _ in rotation.told} == {"l1"}
        assert all(0 < computed_s < PATIENCE_S for _, computed_s in rotation.told)
        assert set(rotation.asked) == {("l1", 0.02)}
        assert rotation.left.is_set()

    asyncio.run(main())
