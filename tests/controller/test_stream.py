"""What goes to one switch's stream goes one after the other."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from csaud_controller.inventory import End
from csaud_controller.links.probes import Probe
from csaud_controller.program.artifacts import find_artifacts
from csaud_controller.program.digests import ALARMS
from csaud_controller.switches.task import Hooks, SwitchTask
from csaud_controller.targets import TARGETS


class Digest(list[Any]):
    def ack(self) -> str:
        return "ack"


class SlowSwitch:
    """Takes its time for each write; gRPC breaks a stream that is written to meanwhile."""

    def __init__(self) -> None:
        self.writing = False
        self.written: list[str] = []

    async def write(self, messages: list[Any]) -> None:
        assert not self.writing, "two at once"
        self.writing = True
        for _ in range(3):
            await asyncio.sleep(0)
        self.written.append("ack" if messages == ["ack"] else "probes")
        self.writing = False

    async def read_digests(self, name: str, queue_size: int) -> AsyncIterator[Digest]:
        assert name == ALARMS.name
        for _ in range(10):
            yield Digest()


def test_alarms_are_acknowledged_while_probes_are_held_back() -> None:
    rounds: list[int] = []
    hooks: Any = dict.fromkeys(Hooks.__dataclass_fields__, lambda *about: None)
    hooks["probed"] = lambda name, round_: rounds.append(round_)
    artifacts = find_artifacts()
    task = SwitchTask("l1", "unix:/nowhere", 1, artifacts, TARGETS["soft"], Hooks(**hooks))
    switch: Any = SlowSwitch()

    async def main() -> None:
        probing = asyncio.create_task(task._send_probes(switch))
        alarms = asyncio.create_task(task._receive_alarms(switch))
        await asyncio.sleep(0)
        for round_ in range(1, 11):
            task.send_probes([Probe(End("l1", 1), 7, round_)])
            while round_ not in rounds:
                assert not probing.done(), probing.exception()
                await asyncio.sleep(0)
        await alarms
        probing.cancel()

    asyncio.run(main())
    assert sorted(switch.written) == ["ack"] * 10 + ["probes"] * 10
