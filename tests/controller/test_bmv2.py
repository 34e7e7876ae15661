"""The same controller against the reference target: what a BMv2 switch holds is what is desired."""

import asyncio
from collections.abc import Iterator

import pytest
from csaud_controller.inventory import End, leaf_spine
from csaud_controller.paths.live import LiveView
from csaud_controller.policy.faults import FaultRule, Faults
from csaud_controller.policy.intent import Intent
from csaud_controller.policy.model import Policy
from csaud_controller.switches.counters import read_counters
from csaud_controller.switches.port_reader import PortReader

from tests.controller.bmv2 import Bmv2Switches
from tests.controller.soft import controller, desired, programmed, run_directory
from tests.controller.test_controller import held, until

pytestmark = [pytest.mark.root, pytest.mark.bmv2]


@pytest.fixture(scope="module")
def switches() -> Iterator[Bmv2Switches]:
    with run_directory(leaf_spine(2, 2, 1)) as run, Bmv2Switches(run) as made:
        yield made


def test_from_nothing_through_changes_a_failed_link_and_a_killed_switch(switches: Bmv2Switches) -> None:
    run = switches._run
    intent = Intent(
        policy=Policy(spray="random"), faults=Faults(rules=(FaultRule(probability=0.1, where="all"),))
    )

    async def main() -> None:
        async with controller(run, probe_interval_s=0.1, target="bmv2") as made:
            await programmed(made)
            await until(made, lambda: made.live == LiveView())  # they take their time to start
            await programmed(made)
            assert await held(run) == desired(run, target="bmv2")
            made.events.clear()

            assert await made.wait_applied(await made.change(intent), 20) == {}
            assert await held(run) == desired(run, intent, target="bmv2")

            switches.cut("l1", "s2")
            dead = LiveView(frozenset({End("l1", 2)}))
            await until(made, lambda: made.live == dead)
            await programmed(made)
            assert await held(run) == desired(run, intent, dead, "bmv2")
            switches.mend("l1", "s2")
            await until(made, lambda: made.live == LiveView())

            switches.processes["s1"].kill()
            await until(made, lambda: "s1" in made.live.dead_switches)
            switches.start("s1")
            await until(made, lambda: made.live == LiveView())
            await programmed(made)
            assert await held(run) == desired(run, intent, target="bmv2")
            assert [(e["what"], e["up"]) for e in made.events] == [
                ("l1-s2", False), ("l1-s2", True), ("s1", False), ("s1", True),
            ]  # fmt: skip
            counts = await asyncio.to_thread(read_counters, run.fabric())
            with PortReader(run.fabric()) as reader:
                ports = await asyncio.to_thread(reader.read)
            assert {count.queue for count in ports.values()} == {None}, "it reads no registers"
            assert counts["l1"]["egress_kind"].keys() == {1, 2, 3}
            assert counts["l1"]["injected"][1]["data"] == 0

    asyncio.run(main())
