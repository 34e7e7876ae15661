"""Long computations leave the event loop to others: probes, other switches, whoever asks over HTTP."""

import asyncio
from collections import Counter
from collections.abc import Callable, Generator
from itertools import count
from typing import Any, TypeVar

import finsy as fy
import pytest
from csaud_controller.base.stretches import Stretches, at_once
from csaud_controller.control.fabric_change import table_changes
from csaud_controller.control.wanted import Wanted
from csaud_controller.desired.states import desired_states
from csaud_controller.inventory import leaf_spine
from csaud_controller.paths.live import ALL_UP, LiveView
from csaud_controller.policy.intent import Intent
from csaud_controller.policy.model import Policy
from csaud_controller.program.artifacts import find_artifacts
from csaud_controller.program.entities import Entry, Item, TableState, call, entry, table_state
from csaud_controller.run.directory import RunDir
from csaud_controller.switches.codec import Codec
from csaud_controller.switches.reading import Reader
from csaud_controller.switches.reconcile import plan
from csaud_controller.switches.task import Hooks, SwitchTask
from csaud_controller.switches.writing import write
from csaud_controller.targets import TARGETS
from csaud_controller.targets.assigned import Assigned, assigned
from finsy.proto import p4r

from tests.controller.soft import PATIENCE_S, controller, desired, programmed, run_directory, switches
from tests.controller.test_controller import held

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


@pytest.mark.parametrize("computations", [1, 2], ids=["reading", "planning"])
def test_what_is_asked_for_meanwhile_is_written_and_not_what_was_before(computations: int) -> None:
    async def main() -> None:
        wanted, settled, left = [(1, routes(ROUTES))], asyncio.Event(), computations

        def change() -> None:
            nonlocal left
            left -= 1
            if left == 0:
                wanted.append((2, routes(1)))
                task.wake()

        hooks: Any = dict.fromkeys(Hooks.__dataclass_fields__, lambda *about: None)
        hooks |= {"desired": lambda name: wanted[-1], "settled": lambda name: settled.set()}
        with run_directory() as run:
            address, late = str(run.fabric().switches["l1"].p4runtime), Late(change)
            task = SwitchTask("l1", address, 1, ARTIFACTS, TARGETS["soft"], Hooks(**hooks), stretches=late)
            async with switches(run):
                running = asyncio.create_task(task.run())
                async with asyncio.timeout(PATIENCE_S):
                    await settled.wait()
                assert (task.status.applied, task.status.updates, task.status.held) == (2, 1, 1)
                running.cancel()
                await asyncio.wait([running])

    asyncio.run(main())


class Interrupted(Stretches):
    """Before one of whose steps something happens."""

    def __init__(self, step: int, then: Callable[[], object]) -> None:
        super().__init__()
        self._left, self._then = step, then

    async def compute(self, steps: Generator[None, None, T]) -> T:
        def interrupted() -> Generator[None, None, T]:
            while True:
                if self._left == 0:
                    self._then()
                self._left -= 1
                try:
                    next(steps)
                except StopIteration as end:
                    made: T = end.value
                    return made
                yield

        return await super().compute(interrupted())


@pytest.mark.parametrize(
    "step", [1, 6, 10, 14, 18]
)  # in the middle of each thing that is done switch by switch
def test_what_happens_while_a_policy_is_computed_is_in_force_with_it(step: int) -> None:
    async def main() -> None:
        ecmp = Intent(policy=Policy(spray="ecmp"))
        with run_directory() as run:
            async with switches(run), controller(run) as made:
                link = frozenset({made.fabric.switch_edges()[0].ends[0]})

                def happens() -> None:
                    made.set_examined(link)
                    made._follow()

                would_change = at_once(table_changes(desired(run), desired(run, ecmp)))
                made._stretches = Interrupted(step, happens)
                assert await made.plan_intent(lambda intent: ecmp) == {"tables": would_change}
                assert made.live.examined == link and made.intent == Intent()
                made.set_examined(frozenset())
                made._stretches = Interrupted(min(step, 14), happens)
                await made.change(ecmp)
                await programmed(made)
                assert await held(run) == desired(run, ecmp, LiveView(examined=link))

    asyncio.run(main())


def test_a_fork_that_is_left_half_way_moves_nothing() -> None:
    fabric, ecmp = leaf_spine(2, 2), Intent(policy=Policy(spray="ecmp"))
    wanted = Wanted(fabric, assigned(fabric, Assigned(TARGETS["soft"], ARTIFACTS)))
    before = wanted.states(Intent(), ALL_UP)
    for steps in range(6):
        half_way = wanted.fork().checking(ecmp, ALL_UP)
        for _ in range(steps):
            next(half_way)
    after = wanted.states(Intent(), ALL_UP)
    assert all(after[name] is before[name] for name in fabric.switches)
    assert wanted.states(ecmp, ALL_UP) == desired_states(fabric, ecmp)


def test_all_switches_are_woken_a_few_in_each_round() -> None:
    async def main() -> None:
        with run_directory(leaf_spine(18, 2, 1)) as run:
            async with switches(run), controller(run) as made, Ticks() as ticks:
                await programmed(made)
                woken = list[str]()
                for name, task in made.tasks.items():
                    task.wake = lambda name=name: (woken.append(name), ticks.step())  # type: ignore[method-assign]
                await made.change(Intent(policy=Policy(spray="ecmp")))
                while len(woken) < 20:
                    await asyncio.sleep(0)
                assert woken == [*made.fabric.switches]
                assert max(ticks.steps.values()) < 10

    asyncio.run(main())
