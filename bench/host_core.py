"""The protocol core by itself: packets a second, what more peers cost, memory, instructions a packet."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from statistics import median
from typing import Any

from bench import native
from bench.results import Result, result

PROGRAM = "csaud_host_core_bench"
MANY = 10_000
_SHORT, _LONG = 5_120, 25_600


def speed(core: int, *, packets: int, rounds: int) -> list[Result]:
    """One peer, 64-byte and 4-KB payloads."""
    rows = []
    for size, name in ((64, "64 B"), (4064, "4 KB")):
        rate = 1e9 / median(_receive(core, size, 1, packets)["ns_per_packet"] for _ in range(rounds))
        target: dict[str, Any] = {"bound": "at least", "limit": 1e7} if size == 64 else {}
        rows.append(result(f"core alone, DATA of {name}", rate, "packets/s", **target))
        if size != 64:
            rows.append(result(f"core alone, DATA of {name}, payload", rate * size / 1e9, "GB/s"))
    return rows


def peers(core: int, *, packets: int, rounds: int, most: int = MANY) -> list[Result]:
    """Time of a packet with many peers over that with two, all of which send; 64-byte payloads.

    Whole messages in turn (64 packets of one peer, then of the next), as a schedule has them; and single
    packets in turn, where each packet finds its peer's records in no cache.
    """
    rows = []
    for burst, name in ((64, "messages in turn"), (1, "packets in turn")):
        few, many = ([_receive(core, 64, n, packets, burst)["ns_per_packet"] for _ in range(rounds)]
                     for n in (2, most))  # fmt: skip
        target: dict[str, Any] = {"bound": "at most", "limit": 1.2} if burst == 64 else {}
        rows.append(
            result(f"a packet from one of {most:,} peers, {name}", median(many), "ns",
                   peer="of 2 peers", peer_value=median(few), **target)
        )  # fmt: skip
    return rows


def memory(*, world: int = MANY, messages: int = 4_000) -> list[Result]:
    """Bytes kept for a peer without traffic and for the record of a message under way."""
    found = native.run([str(native.path(PROGRAM, _PART)), "memory", str(world), str(messages)])
    return [
        result("memory of an idle peer", found["idle_peer"], "bytes", bound="at most", limit=64),
        result("memory of an active receive", found["active_receive"], "bytes", bound="at most", limit=256),
        result("memory of an active send", found["active_send"], "bytes", bound="at most", limit=256),
    ]


def instructions() -> list[Result]:
    """Instructions that a received packet takes, counted by valgrind: the figure to compare after a change,
    since the machine's load does not change it. No rows where valgrind is not installed.
    """
    if shutil.which("valgrind") is None:
        return []
    rows = []
    for size, count in ((64, 1), (64, 100), (4064, 1)):
        counted = (_count(size, count, _LONG) - _count(size, count, _SHORT)) / (_LONG - _SHORT)
        name = f"instructions of a packet received, {size} B, {count} peer{'s' if count > 1 else ''}"
        rows.append(result(name, counted, "instructions"))
    return rows


_PART = "hostlib/native"


def _receive(core: int, size: int, count: int, packets: int, burst: int = 1) -> dict[str, Any]:
    argv = ["taskset", "-c", str(core), str(native.path(PROGRAM, _PART)), "receive", str(size), str(count),
            str(max(packets, 64 * count)), str(burst)]  # fmt: skip
    return native.run(argv)


def _count(size: int, count: int, packets: int) -> int:
    with tempfile.TemporaryDirectory() as directory:
        argv = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={directory}/out",
                "--collect-atstart=no", "--toggle-collect=*timed_receive*",
                str(native.path(PROGRAM, _PART)), "receive", str(size), str(count), str(packets)]  # fmt: skip
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or found is None:
        raise native.NativeError(f"valgrind: {done.stderr[-500:]}")
    return int(found[1])
