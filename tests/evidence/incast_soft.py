"""The incast on the embedded switch, under virtual time."""

from __future__ import annotations

from csaud_softswitch._core import Fabric
from csaud_softswitch.exchange.names import Names
from csaud_softswitch.exchange.target import counters
from csaud_softswitch.p4runtime.errors import Code

from tests.evidence.incast import (
    ALARM_AT,
    PORTS,
    QUEUE,
    RECEIVER,
    SENDERS,
    Books,
    Captured,
    Mode,
    Traffic,
    balance,
    programming,
)
from tests.p4.rig.soft import NAME, SoftSwitch
from tests.softswitch.p4runtime_support import CONFIG

ROUND_NS = 10_000_000
RECEIVER_BPS, SENDER_BPS = 3_000_000, 20_000_000
"""A DATA frame of 168 bytes takes the receiver's port 0.45 ms: some 2,200 a second."""


class Bench(SoftSwitch):
    """With the ports of the incast."""

    def set_up(self, queue: int) -> None:
        """Rates and queues as hosts and their links have them."""
        for port in set(PORTS) - set(self.core.port_stats()):
            self.fabric.add_memory_port(NAME, port)
        for port in PORTS:
            rate = RECEIVER_BPS if port == RECEIVER else SENDER_BPS
            self.fabric.set_port_queue(NAME, port, rate_bps=rate, buffer_packets=queue)

    def hidden(self) -> dict[str, int]:
        """What it dropped where the program cannot count: everything that is not the program's own drop."""
        stats = self.core.stats()
        own = ("no_such_port", "bad_priority", "queue_full", "link_down", "tx_errors", "flushed", "packet_in")
        return {name: int(stats[name]) for name in own}  # type: ignore[literal-required]


def run(
    mode: Mode,
    seconds: float,
    *,
    seed: int = 1,
    frames_per_s: int = 4000,
    queue: int = QUEUE,
    alarm_at: int = ALARM_AT,
) -> Books:
    """The books of so much virtual time."""
    bench = Bench(CONFIG)
    bench.set_up(queue)
    names = Names(bench.index)
    codes = bench.write([names.update(item) for item in programming(mode, alarm_at=alarm_at)])
    assert set(codes) == {Code.OK}, codes
    traffic = Traffic(seed)
    captured = Captured(traffic.kinds)
    now, end = 0, round(seconds * 1e9)
    rounds = traffic.rounds(frames_per_s * ROUND_NS // 1_000_000_000)
    while now < end:
        _one_round(bench.fabric, traffic, next(rounds), now)
        now += ROUND_NS
        bench.fabric.advance(now)
        for _, port, frame, _ in bench.fabric.poll():
            captured.frame(port, frame)
    while (event := bench.fabric.next_event()) is not None:
        bench.fabric.advance(event)
    for _, port, frame, _ in bench.fabric.poll():
        captured.frame(port, frame)
    assert bench.core.stats()["queued"] == 0
    return balance(mode, captured, counters(bench), bench.hidden())  # type: ignore[arg-type]


def _one_round(fabric: Fabric, traffic: Traffic, counts: dict[int, int], begin: int) -> None:
    """The senders' bursts, one after the other a little later."""
    for place, port in enumerate(SENDERS):
        if counts[port]:
            frames = traffic.burst(port, counts[port])
            fabric.inject_many(NAME, port, frames, begin + place * ROUND_NS // 16)
