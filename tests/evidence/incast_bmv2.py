"""The incast on the real simple_switch_grpc, in real time, through its gRPC input. Needs root."""

from __future__ import annotations

import time

from csaud_softswitch.exchange.names import Names
from csaud_softswitch.exchange.target import counters
from csaud_softswitch.p4runtime.errors import Code

from tests.evidence.bmv2 import DEVICE_ID, running, version
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

__all__ = ["run", "version"]


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
        bench.thrift.set_queue_rate(RECEIVER, RECEIVER_PACKETS_PER_S)
        names = Names(bench.index)
        codes = bench.client.write([names.update(item) for item in programming(mode, alarm_at=alarm_at)])
        assert set(codes) == {Code.OK}, codes
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
                    for frame in traffic.burst(port, count):
                        stream.send(port, frame)
            stream.finish(FINISH_LIMIT_S)
            books = balance(mode, captured, counters(bench), {})  # type: ignore[arg-type]
        finally:
            stream.close()
    return books
