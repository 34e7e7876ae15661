"""Packets that find a queue: many at once, to a port so slow that the depth each finds is known."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from csaud_softswitch.bmv2.command import PROGRAM
from csaud_softswitch.exchange.bmv2 import Bmv2Target
from csaud_softswitch.exchange.names import Names
from csaud_softswitch.exchange.soft import SoftTarget
from csaud_softswitch.p4runtime.proto import p4r

from tests.evidence.tutorials.frames import ethernet, ipv4
from tests.evidence.tutorials.programs import PORTS
from tests.p4.rig.thrift import Thrift

PACKETS = 24
PER_SECOND = 5
"""Of the slow port: the burst is in the queue before the second packet leaves it."""
THRIFT_PORT = 9090
MRI = b"\x1f\x04\0\0"
"""The option of the exercise about traces, without any yet."""


def compare(
    config: p4r.ForwardingPipelineConfig,
    updates: list[dict[str, Any]],
    known: Sequence[str],
    seed: int,
) -> tuple[int, list[str]]:
    """(packets sent, differences)"""
    chance = random.Random(seed)
    sent = [
        ethernet(
            chance,
            0x800,
            ipv4(
                chance, known[-1], chance.randbytes(50), tos=chance.choice([0, 1, 2, 3]), ttl=60, options=MRI
            ),
        )
        for _ in range(PACKETS)
    ]
    soft = SoftTarget(config, PORTS, rate_bps=PER_SECOND * len(sent[0]) * 8)
    soft.write([Names(soft.index).update(update) for update in updates])
    for frame in sent:
        soft.send(1, frame)
    soft.pause(2 * PACKETS / PER_SECOND)
    ours = [(left.port, left.frame) for left in soft.departures()]
    theirs = _of_simple_switch(config, updates, sent)
    if ours == theirs and len(ours) == len(sent):
        return len(sent), []
    wrong = [number for number, pair in enumerate(zip(ours, theirs, strict=False)) if pair[0] != pair[1]]
    return len(sent), [f"burst: {len(ours)} and {len(theirs)} of {len(sent)} frames, which differ: {wrong}"]


def _of_simple_switch(
    config: p4r.ForwardingPipelineConfig, updates: list[dict[str, Any]], sent: list[bytes]
) -> list[tuple[int, bytes]]:
    with Bmv2Target(config, PORTS, more_s=2 / PER_SECOND) as real:
        real.write([Names(real.index).update(update) for update in updates])
        with real.connect(THRIFT_PORT) as connection:
            thrift = Thrift(connection, PROGRAM)
            for port in PORTS:
                thrift.set_rates(port, PER_SECOND)
        real.send(1, sent[0])
        found = real.departures(1)
        for frame in sent[1:]:
            real.send(1, frame)
        while more := real.departures(len(sent) - len(found)):
            found += more
        return [(left.port, left.frame) for left in found]
