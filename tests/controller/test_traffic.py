"""Changes of policy under traffic lose no packet; and a queue near its end raises an alarm."""

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from csaud_controller.control.fabric_controller import FabricController
from csaud_controller.inventory import Fabric, leaf_spine
from csaud_controller.paths.live import LiveView
from csaud_controller.policy.intent import Intent
from csaud_controller.policy.model import Policy
from csaud_controller.policy.signals import SIGNALS
from csaud_controller.policy.spray import MODES
from csaud_controller.run.directory import RunDir
from csaud_controller.switches.counters import read_counters
from csaud_softswitch.hosting import SwitchHost

from tests.controller.soft import PATIENCE_S, controller, programmed, run_directory, switches
from tests.support.marks import thorough
from tests.support.roce import CsaHeader, Datagram

BATCH = 16
PAYLOAD = bytes(200)
LLDP, ARP = bytes.fromhex("88cc"), bytes.fromhex("0806")


def frame(number: int, spray: int = 0) -> bytes:
    """DATA from h1 to h3; path ids and classes go round."""
    header = CsaHeader(
        pkt_idx=number & 0xFFFF, path_id=number % 32, criticality=3 + number % 5, spray=spray, src_rank=1
    )
    packet = Datagram(
        "10.0.1.1", "10.0.2.1", 0x11, 0x22, 1, header.pack() + PAYLOAD, src_port=0xC000 | number % 32
    )
    return bytes.fromhex("02000a000201 02000a000101 0800") + packet.pack()


FRAMES = [frame(number, spray) for spray in range(9) for number in range(BATCH)]


def send(host: SwitchHost, spine: str, frames: list[bytes]) -> None:
    """Frames that come in at l1 by way of a spine, whose port 1 leads there (a packet_out is not sprayed)."""
    switch = host.fabric.switch(spine)
    for each in frames:
        switch.packet_out((1 << 7).to_bytes(2, "big") + each)


class Sender(threading.Thread):
    """Sends until it is stopped, a batch at a time, at a rate that no queue minds."""

    def __init__(self, host: SwitchHost) -> None:
        super().__init__(daemon=True)
        self._host, self._ending = host, threading.Event()
        self.sent = 0
        self.received: Counter[tuple[str, int]] = Counter()

    def run(self) -> None:
        while not self._ending.wait(0.001):
            send(self._host, "s1", [FRAMES[(self.sent + n) % len(FRAMES)] for n in range(BATCH)])
            self.sent += BATCH
            self.take()

    def take(self) -> None:
        came = self._host.fabric.poll()
        # what tells hosts where they are wired to, or asks whether they are there, is no traffic
        self.received.update(
            (switch, port) for switch, port, data, _ in came if data[12:14] not in (LLDP, ARP)
        )

    def stop(self) -> None:
        self._ending.set()
        self.join()


@contextmanager
def traffic(host: SwitchHost) -> Iterator[Sender]:
    sender = Sender(host)
    sender.start()
    try:
        yield sender
    finally:
        sender.stop()


async def arrived(sender: Sender) -> None:
    """Until all that was sent has left again, somewhere."""
    deadline = time.monotonic() + PATIENCE_S
    while sender.received.total() < sender.sent and time.monotonic() < deadline:
        await asyncio.sleep(0.01)
        sender.take()


async def sent_more(sender: Sender) -> None:
    """Until each kind of frame was sent once more, however few turns a busy machine gives the sender."""
    goal = sender.sent + len(FRAMES)
    deadline = time.monotonic() + PATIENCE_S
    while sender.sent < goal and time.monotonic() < deadline:
        await asyncio.sleep(0.001)


async def apply(made: FabricController, **policy: object) -> None:
    generation = await made.change(Intent(policy=Policy.model_validate(policy)))
    assert await made.wait_applied(generation, PATIENCE_S) == {}


def counts(run: RunDir) -> dict[str, dict]:
    return read_counters(run.fabric())


def test_no_change_of_mode_weights_or_exceptions_loses_a_packet() -> None:
    fabric = leaf_spine(2, 3)
    fabric = fabric.model_copy(update={"link": fabric.link.model_copy(update={"rate": 0})})
    weights = [{1: 1, 2: 2, 3: 5}, {1: 7, 2: 1, 3: 1}, {1: 0, 2: 1, 3: 0}, {1: 1, 2: 1, 3: 1}]
    changes: list[dict[str, object]] = [{"spray": mode} for mode in (*MODES, *reversed(MODES))]
    changes += [
        {"spray": "weighted", "weights": {"l1": {"l2": each}}, "honour_hosts": honour}
        for honour in (False, True)
        for each in weights
    ]
    changes += [
        {"overrides": [{"spray": mode, "to": "l2", "cls": 4}, {"spray": "random", "asked": mode}]}
        for mode in MODES
    ]
    changes += [{"loss_signal": signal, "ecn": False, "alarm_interval": 0} for signal in SIGNALS]

    async def main() -> None:
        with run_directory(fabric) as run:
            async with switches(run) as host, controller(run) as made:
                await programmed(made)
                with traffic(host) as sender:
                    for change in changes:
                        await apply(made, **change)
                        await sent_more(sender)
                await arrived(sender)
                updates = sum(task.status.updates for task in made.tasks.values())
                taken = await asyncio.to_thread(counts, run)
        assert sender.sent > len(changes) * len(FRAMES)
        assert sender.received == {("l2", 4): sender.sent}
        assert updates > 500
        for name, found in taken.items():
            assert sum(found["no_path"].values()) == 0, name
            assert sum(found["discarded"].values()) == 0, name
        assert all(taken["l1"]["egress_kind"][port]["data"] for port in (1, 2, 3)), "all paths were used"

    asyncio.run(main())


async def end_sessions(host: SwitchHost, *names: str) -> None:
    """The control connections of these switches end and cannot be opened again; they forward as before."""
    for name, server in zip(host.addresses, host._servers, strict=True):
        if name in names:
            await server.stop()


async def rounds_passed(made: FabricController, count: int) -> None:
    until = made.status()["probes"]["rounds"] + count
    while made.status()["probes"]["rounds"] < until:
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("interval_s", [0.02, thorough(0.15)])
def test_a_fabric_whose_spines_cannot_be_reached_loses_nothing(interval_s: float) -> None:
    """For as many rounds of probes as there are in a minute, and for a minute. Then one spine forwards no
    more: it is avoided, without a session, and used again when it forwards again."""

    async def main() -> None:
        with run_directory(leaf_spine(2, 3)) as run:
            async with switches(run) as host, controller(run, probe_interval_s=interval_s) as made:
                await programmed(made)
                with traffic(host) as sender:
                    await sent_more(sender)
                    await end_sessions(host, "s1", "s2", "s3")
                    assert await made.wait_until(
                        lambda: not any(made.tasks[s].status.connected for s in ("s1", "s2", "s3")),
                        PATIENCE_S,
                    )
                    await rounds_passed(made, 400)
                    await sent_more(sender)
                await arrived(sender)
                assert sender.received == {("l2", 4): sender.sent}
                assert made.live == LiveView()
                assert not made.events

                switch, table = host.fabric.switch("s2"), "CsaudIngress.route.ipv4_lpm"
                held = switch.table_entries(table)
                for match, priority, _ in held:
                    switch.table_delete(table, match, priority)
                dead = LiveView(dead_switches=frozenset({"s2"}))
                leaves = made.tasks["l1"].status, made.tasks["l2"].status
                assert await made.wait_until(
                    lambda: made.live == dead and all(leaf.applied == made.generation for leaf in leaves),
                    PATIENCE_S,
                ), made.events
                with traffic(host) as sender:
                    await sent_more(sender)
                await arrived(sender)
                assert sender.received == {("l2", 4): sender.sent}
                for entry in held:
                    switch.table_insert(table, *entry)
                assert await made.wait_until(lambda: made.live == LiveView(), PATIENCE_S), made.events

    asyncio.run(main())


def test_a_queue_near_its_end_raises_one_alarm_an_interval() -> None:
    """64 packets at once from a fast link to a slow one: the alarm is at 8 packets, the cut at 40."""
    fabric = leaf_spine(2, 2)
    edges = [
        edge.model_copy(update={"rate": 1_000_000 if (edge.a, edge.b) == ("l1", "s1") else 0})
        for edge in fabric.edges
    ]
    fabric = Fabric.model_validate(fabric.model_copy(update={"edges": edges}).model_dump())
    policy = {
        "limits": {"trim_at": 40, "no_trim_at": 40, "drop_at": 200, "alarm_at": 8},
        "spray": "weighted", "weights": {"l1": {"l2": {1: 1, 2: 0}}}, "alarm_interval": "10min",
    }  # fmt: skip

    async def main() -> None:
        with run_directory(fabric) as run:
            async with switches(run) as host, controller(run) as made:
                await apply(made, **policy)
                send(host, "s2", [frame(n) for n in range(64)])
                assert await made.wait_until(lambda: made.alarms.total > 0, PATIENCE_S)
                (alarm,) = made.alarms.since(0)
                found = (await asyncio.to_thread(counts, run))["l1"]
                assert (alarm["switch"], alarm["port"], alarm["kind"]) == ("l1", 1, "data")
                assert alarm["depth"] == 8
                assert made.status()["alarms"] == {"total": 1, "by_port": {"l1:1": 1}}
                assert sum(found["overflow"][1]) >= 40 - 8, "every packet is counted, one is told of"
                assert found["trimmed"][1]["data"] > 0
                assert found["trim_sent"][1] == found["trimmed"][1]["data"] == sum(found["path_trimmed"][1])
                assert sum(found["marked"][1]) == 0, "its sender does not listen"

    asyncio.run(main())
