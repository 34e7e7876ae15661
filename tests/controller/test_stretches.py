"""Long computations leave the event loop to others: probes, other switches, whoever asks over HTTP."""

import asyncio
from collections import Counter
from collections.abc import Callable, Generator
from itertools import count
from typing import Any, TypeVar

import finsy as fy
import pytest
from csaud_controller.base.stretches import Stretches
from csaud_controller.program.artifacts import find_artifacts
from csaud_controller.program.entities import Entry, Item, TableState, call, entry, table_state
from csaud_controller.run.directory import RunDir
from csaud_controller.switches.codec import Codec
from csaud_controller.switches.reading import Reader
from csaud_controller.switches.reconcile import plan
from csaud_controller.switches.task import Hooks, SwitchTask
from csaud_controller.switches.writing import write
from csaud_controller.targets import TARGETS
from finsy.proto import p4r

from tests.controller.soft import run_directory, switches

T = TypeVar("T")

ROUTES = 200
ARTIFACTS = find_artifacts()


class Ticks:
    """How often the loop has gone round, and what happened in each of its rounds."""

    def __init__(self) -> None:
        self._now = 0
        self.steps = Counter[int]()

    def step(self) -> None:
        self.steps[self._now] += 1

    async def __aenter__(self) -> "Ticks":
        self._task = asyncio.create_task(self._run())
        await asyncio.sleep(0)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(0)
            self._now += 1


def stretches(stretch: int) -> Stretches:
    """Whose clock goes on by one whenever it is looked at."""
    ticks = count()
    return Stretches(stretch, clock=lambda: next(ticks))


def test_computations_go_one_after_the_other_and_in_stretches() -> None:
    async def main() -> None:
        order = []

        def steps(name: str, ticks: Ticks) -> Generator[None, None, str]:
            for _ in range(10):
                order.append(name)
                ticks.step()
                yield
            return name.upper()

        shared = stretches(4)
        async with Ticks() as ticks:
            names = "abc"
            found = await asyncio.gather(*(shared.compute(steps(name, ticks)) for name in names))
        assert found == ["A", "B", "C"]
        assert order == [name for name in names for _ in range(10)]
        assert max(ticks.steps.values()) == 4

    asyncio.run(main())


def test_what_one_raises_leaves_the_turn_to_the_next() -> None:
    async def main() -> None:
        def failing() -> Generator[None, None, None]:
            yield
            raise KeyError("x")

        def fine() -> Generator[None, None, int]:
            yield
            return 3

        shared = stretches(4)
        with pytest.raises(KeyError):
            await shared.compute(failing())
        assert await shared.compute(fine()) == 3

    asyncio.run(main())


class WatchedCodec(Codec):
    """One that says when it encodes and decodes."""

    def __init__(self, ticks: Ticks) -> None:
        super().__init__(ARTIFACTS.schema)
        self._ticks = ticks

    def encode(self, item: Item) -> p4r.Entity:
        self._ticks.step()
        return super().encode(item)

    def decode(self, message: p4r.Entity) -> Item | None:
        self._ticks.step()
        return super().decode(message)


def routes(number: int) -> TableState:
    """Routes of so many hosts."""
    return table_state(
        entry("route.ipv4_lpm", {"dst": (host + 1, 32)}, call("route.set_group", group=1))
        for host in range(number)
    )


def session(run: RunDir) -> fy.Switch:
    """With a switch of the run, which gets its program."""
    options = fy.SwitchOptions(p4info=ARTIFACTS.p4info, p4blob=ARTIFACTS.config)
    return fy.Switch("l1", str(run.fabric().switches["l1"].p4runtime), options)


@pytest.mark.parametrize("number, at_once", [(ROUTES, 1), (60, 60)])
def test_long_writes_go_in_stretches_and_short_ones_at_once(number: int, at_once: int) -> None:
    async def main() -> None:
        with run_directory() as run:
            async with switches(run), session(run) as switch, Ticks() as ticks:
                done = await write(
                    switch, WatchedCodec(ticks), stretches(1), plan(TableState(), routes(number))
                )
                assert done.updates == number, done.refused[:1]
                assert max(ticks.steps.values()) == at_once

    asyncio.run(main())


def test_tables_are_decoded_in_stretches_and_not_where_they_were_written() -> None:
    async def main() -> None:
        want, codec = routes(ROUTES), Codec(ARTIFACTS.schema)
        with run_directory() as run:
            async with switches(run), session(run) as switch, Ticks() as ticks:
                await write(switch, codec, stretches(4), plan(TableState(), want))
                writer = Reader(switch, codec, stretches(4))
                found = await writer.read(want)
                assert found == want and writer.decoded == 0
                other = Reader(switch, WatchedCodec(ticks), stretches(1))
                found = await other.read(want)
                assert found == want and other.decoded == ROUTES
                assert max(ticks.steps.values()) == 1
                same: list[Entry] = [found.entries[key] for key in want.entries]
                assert all(a is b for a, b in zip(same, want.entries.values(), strict=True))

    asyncio.run(main())


class Late(Stretches):
    """Whose computations take their time, and then something happens."""

    def __init__(self, then: Callable[[], None]) -> None:
        super().__init__()
        self._then = then

    async def compute(self, steps: Generator[None, None, T]) -> T:
        made = await super().compute(steps)
        self._then()
        return made


def test_what_is_asked_for_while_a_switch_is_read_is_written_and_not_what_was_before() -> None:
    async def main() -> None:
        wanted, settled = [(1, routes(ROUTES))], asyncio.Event()

        def change() -> None:
            if len(wanted) == 1:
                wanted.append((2, routes(1)))
                task.wake()

        hooks: Any = dict.fromkeys(Hooks.__dataclass_fields__, lambda *about: None)
        hooks |= {"desired": lambda name: wanted[-1], "settled": lambda name: settled.set()}
        with run_directory() as run:
            address, late = str(run.fabric().switches["l1"].p4runtime), Late(change)
            task = SwitchTask("l1", address, 1, ARTIFACTS, TARGETS["soft"], Hooks(**hooks), stretches=late)
            async with switches(run):
                running = asyncio.create_task(task.run())
                await settled.wait()
                assert (task.status.applied, task.status.updates, task.status.held) == (2, 1, 1)
                running.cancel()
                await asyncio.wait([running])

    asyncio.run(main())
