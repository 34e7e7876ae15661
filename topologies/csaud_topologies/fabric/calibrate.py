"""How many packets/s one switch of a target forwards here, and links whose rates the whole fabric can hold.

BMv2 loses packets before its program sees them when it is short of CPU, and no counter tells of those. So the
fabric is paced well below what one switch was measured to hold.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import Any

from csaud_controller.inventory import Fabric, LinkDefaults, leaf_spine
from csaud_controller.policy.congestion import Limits
from csaud_controller.policy.intent import Intent
from csaud_controller.policy.model import Policy
from csaud_controller.switches.counters import read_counters
from csaud_runs.errors import RunError
from rich.console import Console

from csaud_topologies.fabric.running import running
from csaud_topologies.fabric.services import start_on
from csaud_topologies.fabric.targets.base import P4Target, Place
from csaud_topologies.workloads.traffic import PORT

_PAYLOAD = 4000  # bytes, as large as DATA
_STEP_S = 1.0
_FIRST_PPS = 1000
_GROWTH = 1.5
_MOST_PPS = 60_000
_SHARE = 0.6
"""Of the measured rate, for all switches together: they share the CPUs with the hosts, and must never be
short.
"""


def measured_pps(target: P4Target, place: Place, console: Console) -> int:
    """The highest rate at which one switch forwarded everything between two hosts, packets/s."""
    link = LinkDefaults(rate=0, buffer=4096)
    fabric = leaf_spine(1, 0, 2).model_copy(update={"link": link, "name": "calibration"})
    intent = Intent(policy=Policy(limits=Limits(trim_at=4000, drop_at=4000)))
    held = 0
    with running(fabric, target, intent, place) as up:
        sink = _start(up.net["h2"], "sink")
        try:
            assert sink.stdout is not None
            sink.stdout.readline()  # before it holds its port, h2 refuses packets and ends the source
            pps = _FIRST_PPS
            while pps <= _MOST_PPS and _holds(up.fabric, up.net, pps):
                held = pps
                pps = int(pps * _GROWTH)
        finally:
            sink.kill()
            sink.wait()
    if not held:
        raise RunError(
            f"TARGET={target.name}: a switch here does not forward {_FIRST_PPS} packets/s without loss"
        )
    console.print(f"one {target.name} switch forwards {held:,} packets/s here without loss")
    return held


def paced(fabric: Fabric, pps: int, ranks: int) -> Fabric:
    """The fabric with links so slow that all switches together stay below what one was measured to hold.

    Every rank sends and receives at its link's rate at most, and a packet passes three switches.
    """
    per_rank = max(20, int(pps * _SHARE / (3 * max(1, ranks))))
    rate = per_rank * (fabric.mtu + 14) * 8
    return fabric.model_copy(update={"link": fabric.link.model_copy(update={"rate": rate})})


def _holds(fabric: Fabric, net: Any, pps: int) -> bool:
    """Whether everything sent at this rate for a second came in and went out."""
    packets = int(pps * _STEP_S)
    before = _passed(fabric)
    burst = ["--once", "--pps", str(pps), "--size", str(_PAYLOAD), "--burst", str(packets)]
    begun = time.monotonic()
    source = _start(net["h1"], "source", "--to", str(fabric.hosts["h2"].ip), "--port", str(PORT), *burst)
    output, _ = source.communicate(timeout=60)
    late = time.monotonic() - begun > 3 * _STEP_S  # the sender itself is short of CPU
    sent = int(json.loads(output)["sent"])
    time.sleep(0.3)
    return not late and _passed(fabric) - before >= sent


def _passed(fabric: Fabric) -> int:
    """Packets that left towards h2."""
    out = fabric.attachment("h2").port
    return int(sum(read_counters(fabric)["l1"]["egress_kind"][out].values()))


def _start(node: Any, side: str, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "csaud_topologies.workloads.traffic", side, *arguments]
    return start_on(node, command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
