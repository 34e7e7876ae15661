"""One fabric, its own thread, and many of ours: whatever control calls come while packets run, every packet
is accounted for and nothing is torn. `make sanitize` runs this under ThreadSanitizer.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from pathlib import Path

from csaud_softswitch import _core

from tests.softswitch.test_core_fabric import balance

PROGRAM = (Path(__file__).resolve().parents[2] / "p4src" / "artifacts" / "csaud.json").read_text()
PROFILE = "CsaudIngress.spray.path_selector"
ROUTE = "CsaudIngress.route.ipv4_lpm"
PUNT = "CsaudIngress.punt.ether_type"
SEED = 5
HOSTS: _core.MatchField = ("lpm", bytes([10, 0, 0, 0]), 8)  # not all: only what has a TTL may go to and fro
ROUNDS = 60
PACKETS = 12  # a round
UP, AWAY = 1, 2  # ports: the link between the two, and one that leads nowhere
FRAME = bytes.fromhex(
    "02000a00020102000a0001010800450000320000400040110000" + "0a000101" + "0a000202" + "c000270f001e0000"
).ljust(64, b"\7")
PROBE = FRAME[:12] + b"\x88\xcc" + bytes(50)


def fill(switch: _core.Switch) -> None:
    """What comes is sprayed over both ports; probes go to the controller."""
    for port in (UP, AWAY):
        switch.member_insert(PROFILE, port, ("action", "CsaudIngress.spray.forward", [bytes([port])]))
    switch.group_insert(PROFILE, 1, [(port, 1, port) for port in (UP, AWAY)])
    switch.table_insert(ROUTE, [HOSTS], 0, ("action", "CsaudIngress.route.set_group", [b"\1"]))
    switch.table_insert("CsaudIngress.spray.paths", [("exact", b"\1")], 0, ("group", 1))
    action = next(a["name"] for t in switch.tables() if t["name"] == PUNT for a in t["actions"])
    for port in (UP, AWAY):
        switch.table_insert(
            PUNT, [("exact", b"\x88\xcc"), ("exact", bytes([0, port]))], 0, ("action", action, [bytes(6)])
        )


def filled() -> _core.Switch:
    switch = _core.Fabric(SEED).add_switch("spare", 9)
    switch.load(PROGRAM)
    fill(switch)
    return switch


class Work:
    """Threads that start together; the first failure of any is raised."""

    def __init__(self) -> None:
        self._failures: list[BaseException] = []
        self._threads: list[threading.Thread] = []

    def add(self, step: Callable[[random.Random], None], rounds: int = ROUNDS) -> None:
        chance = random.Random(SEED + len(self._threads))
        self._threads.append(threading.Thread(target=self._run, args=(step, chance, rounds)))

    def _run(self, step: Callable[[random.Random], None], chance: random.Random, rounds: int) -> None:
        try:
            for _ in range(rounds):
                step(chance)
        except BaseException as failure:
            self._failures.append(failure)

    def finish(self) -> None:
        for thread in self._threads:
            thread.start()
        for thread in self._threads:
            thread.join()
        if self._failures:
            raise self._failures[0]


def test_control_calls_of_many_threads_while_packets_run() -> None:
    print(f"seed {SEED}")
    fabric = _core.Fabric(SEED)
    here, there = (fabric.add_switch(name, number) for number, name in enumerate(("here", "there"), 1))
    for switch in (here, there):
        switch.load(PROGRAM)
        fill(switch)
    fabric.add_link("here", UP, "there", UP, delay_ns=1000, rate_bps=1_000_000_000)
    for name in ("here", "there"):
        fabric.add_memory_port(name, AWAY)
    fabric.start()
    work, sent = Work(), 0

    def send(chance: random.Random) -> None:
        nonlocal sent
        for _ in range(PACKETS):
            port = (UP << 7).to_bytes(2, "big")
            here.packet_out(port + chance.choice([FRAME, PROBE, FRAME[:20], chance.randbytes(60)]))
            sent += 1

    def change_tables(chance: random.Random) -> None:
        prefix = ("lpm", bytes([10, 0, chance.randrange(4), 0]), 24)
        there.table_insert(ROUTE, [prefix], 0, ("action", "CsaudIngress.route.set_group", [b"\1"]))
        there.table_entries(ROUTE)
        there.table_find(ROUTE, [HOSTS], 0)
        there.table_clear(ROUTE)
        there.table_insert(ROUTE, [HOSTS], 0, ("action", "CsaudIngress.route.set_group", [b"\1"]))

    def change_groups(chance: random.Random) -> None:
        here.group_modify(PROFILE, 1, [(port, chance.randint(1, 3), port) for port in (UP, AWAY)])
        here.groups(PROFILE)
        here.multicast_group_set(7, [(UP, 1), (AWAY, 2)])
        here.clone_session_set(1, [(AWAY, 0)])

    def read(_: random.Random) -> None:
        for switch in (here, there):
            for counter in switch.counters():
                if counter["table"] is None:
                    switch.counter_read_all(counter["name"])
            assert len(switch.tables()) > 5
            assert switch.loaded
            switch.register_read_all("occupancy")
            switch.stats()
            switch.port_stats()

    def poll(_: random.Random) -> None:
        for switch in (here, there):
            switch.poll_packet_in()
            switch.poll_digests()
            switch.take_log()
            switch.poll_idle()
        fabric.poll()

    def swap(_: random.Random) -> None:
        here.adopt(filled(), True)

    def flap(_: random.Random) -> None:
        there.hold()
        try:
            fabric.set_link("there", AWAY, False)
            there.stats()
        finally:
            there.release()
        fabric.set_link("there", AWAY, True)

    for step in (send, send, change_tables, change_groups, read, poll, flap):
        work.add(step)
    work.add(swap, 6)
    work.finish()
    fabric.stop()
    assert sent == 2 * ROUNDS * PACKETS
    assert here.stats()["rx"] >= sent
    assert there.stats()["rx"] > 0
    balance(fabric)


def test_a_program_is_described_while_it_is_replaced() -> None:
    """Whoever asks gets the old one or the new one, never one that is gone."""
    fabric = _core.Fabric()
    switch = fabric.add_switch("s", 1)
    switch.load(PROGRAM)
    spares = [filled() for _ in range(4)]
    work = Work()
    expected = len(switch.tables())

    def describe(_: random.Random) -> None:
        assert len(switch.tables()) == expected
        assert switch.counters()
        assert switch.registers()

    work.add(describe, 300)
    work.add(describe, 300)
    work.add(lambda _: switch.adopt(spares.pop()), 4)
    work.finish()
