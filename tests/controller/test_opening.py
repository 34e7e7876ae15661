"""What a controller of many switches does at once when it starts: not all of it."""

import asyncio
import gc
from typing import Any

from csaud_controller.base.garbage import collect_little
from csaud_controller.base.pace import Pace
from csaud_controller.program.artifacts import find_artifacts
from csaud_controller.program.entities import TableState
from csaud_controller.switches.task import Hooks, SwitchTask
from csaud_controller.targets import TARGETS

from tests.controller.soft import PATIENCE_S, run_directory, switches


class Clock:
    """Which only those move on who sleep."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds


def test_some_go_on_at_once_and_others_one_after_the_other_in_their_order() -> None:
    async def main() -> None:
        clock, went = Clock(), list[tuple[str, float]]()
        pace = Pace(3, 0.5, clock, clock.sleep)

        async def go(name: str) -> None:
            await pace.turn()
            went.append((name, round(clock.now - 100, 3)))

        await asyncio.gather(*map(go, "abcdef"))
        assert went == [("a", 0), ("b", 0), ("c", 0), ("d", 0.5), ("e", 1.0), ("f", 1.5)]
        clock.now += 1.0
        await asyncio.gather(*map(go, "ghi"))
        assert went[6:] == [("g", 2.5), ("h", 2.5), ("i", 3.0)], "after half a pause two at once"
        clock.now += 1000.0
        await asyncio.gather(*map(go, "jklm"))
        assert [at for _, at in went[9:]] == [1003.0, 1003.0, 1003.0, 1003.5], "no more are saved up"

    asyncio.run(main())


def test_who_is_not_waited_for_any_more_keeps_nobody_waiting() -> None:
    async def main() -> None:
        never = asyncio.Event()
        pace = Pace(1, 0.5, Clock(), lambda _: never.wait())
        await pace.turn()
        first, second = (asyncio.create_task(pace.turn()) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        never.set()
        async with asyncio.timeout(PATIENCE_S):
            await second

    asyncio.run(main())


class Door(Pace):
    """Which sees who comes, and whether they have gone on already."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting: list[SwitchTask] = []
        self.is_open = asyncio.Event()
        self.came = asyncio.Event()
        self.connected: list[bool] = []

    async def turn(self) -> None:
        self.came.set()
        await self.is_open.wait()
        self.connected += (task.status.connected for task in self.waiting)


def test_a_session_is_opened_in_its_turn() -> None:
    async def main() -> None:
        door, settled = Door(), asyncio.Event()
        hooks: Any = dict.fromkeys(Hooks.__dataclass_fields__, lambda *about: None)
        hooks |= {"desired": lambda name: (1, TableState()), "settled": lambda name: settled.set()}
        with run_directory() as run:
            address = str(run.fabric().switches["l1"].p4runtime)
            task = SwitchTask(
                "l1", address, 1, find_artifacts(), TARGETS["soft"], Hooks(**hooks), opening=door
            )
            door.waiting.append(task)
            async with switches(run), asyncio.timeout(PATIENCE_S):
                running = asyncio.create_task(task.run())
                await door.came.wait()
                door.is_open.set()
                await settled.wait()
                assert door.connected == [False] and task.status.connected
                running.cancel()
                await asyncio.wait([running])

    asyncio.run(main())


def test_tables_that_are_there_are_not_looked_at_by_collections() -> None:
    before, tables = gc.get_threshold(), [["a table"]]
    try:
        collect_little()
        assert not any(each is tables for each in gc.get_objects())
        later = [["another one"]]
        assert any(each is later for each in gc.get_objects())
        assert gc.isenabled() and gc.get_threshold()[2] > before[2]
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
