"""The incast on the real simple_switch_grpc, in real time, through its gRPC input. Needs root."""

from __future__ import annotations

import time

from csaud_softswitch.bmv2.command import version
from csaud_softswitch.exchange.names import Names
from csaud_softswitch.exchange.target import counters
from csaud_softswitch.p4runtime.errors import Code

from tests.evidence.bmv2 import DEVICE_ID, running
from tests.evidence.dataplane_grpc import DataplaneStream
from tests.evidence.incast import (
    ALARM_AT,
    PORTS,
    QUEUE,
    RECEIVER,
    Books,
    Captured,
    Mode,
    Traffic,
    balance,
    programming,
)

RECEIVER_PACKETS_PER_S = 800
"""Of each priority."""
FRAMES_PER_S = 2000
"""Of all senders together, where the switch takes that many."""
ROUND_S = 0.02
FINISH_LIMIT_S = 300.0
RECIRCULATING = 500
"""simple_switch has room for 1024 packets that come round again, and drops others unseen: with BOTH, so much
DATA at most is on its way whose fate is not known.
"""
STALLED_S = 2.0

__all__ = ["run", "version"]


class _Window:
    """Keeps a sender from having more than RECIRCULATING packets on their way."""

    def __init__(self, traffic: Traffic, captured: Captured) -> None:
        self._traffic = traffic
        self._captured = captured
        self._given_up = 0
        """DATA that was dropped at both ends, so that nobody will hear of it."""

    def wait(self) -> None:
        """Returns when there is room, or when nothing has been heard for so long that there must be."""
        before, since = self._captured.heard_of, time.monotonic()
        while (away := self._traffic.data - self._captured.heard_of - self._given_up) > RECIRCULATING:
            if before != self._captured.heard_of:
                before, since = self._captured.heard_of, time.monotonic()
            elif time.monotonic() - since > STALLED_S:
                self._given_up += away
            time.sleep(0.001)


def run(
    mode: Mode,
    seconds: float,
    *,
    seed: int = 1,
    queue: int = QUEUE,
    alarm_at: int = ALARM_AT,
    frames_per_s: int = FRAMES_PER_S,
) -> Books:
    """The books of so many seconds. A sender that wants to write more than the switch takes waits."""
    traffic = Traffic(seed)
    captured = Captured(traffic.kinds)
    with running() as bench:
        bench.set_depths(PORTS, queue)
        bench.thrift.set_rates(RECEIVER, RECEIVER_PACKETS_PER_S)
        names = Names(bench.index)
        codes = bench.client.write([names.update(item) for item in programming(mode, alarm_at=alarm_at)])
        assert set(codes) == {Code.OK}, codes
        window = _Window(traffic, captured)
        stream = DataplaneStream(bench.dataplane, DEVICE_ID, captured.frame)
        try:
            due = time.monotonic()
            end = due + seconds
            for counts in traffic.rounds(round(frames_per_s * ROUND_S)):
                if due > end:
                    break
                due += ROUND_S
                time.sleep(max(0.0, due - time.monotonic()))
                for port, count in counts.items():
                    frames = traffic.burst(port, count)
                    if mode.action == "both":
                        window.wait()
                    for frame in frames:
                        stream.send(port, frame)
            stream.finish(FINISH_LIMIT_S)
            books = balance(mode, captured, counters(bench), {})  # type: ignore[arg-type]
        finally:
            stream.close()
    return books
