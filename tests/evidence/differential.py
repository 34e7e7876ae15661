"""The embedded switch against simple_switch_grpc, with the project's program: random entries and packets
through both, every frame that comes out and every counter compared byte for byte.

`python -m tests.evidence.differential [--seeds N] [--packets N]` (root, simple_switch_grpc on PATH) records
how much was compared in docs/evidence/differential.json.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from csaud_softswitch.exchange.names import Names
from csaud_softswitch.exchange.soft import SoftTarget
from csaud_softswitch.exchange.target import counters, direct_counters
from csaud_softswitch.p4runtime.errors import Code
from csaud_softswitch.p4runtime.proto import p4r

from tests.evidence.bmv2 import DEVICE_ID, Bench, running
from tests.evidence.dataplane_grpc import DataplaneStream
from tests.evidence.hidden_drops import ROOT, versions
from tests.softswitch.inputs import PORTS
from tests.softswitch.p4runtime_support import CONFIG
from tests.softswitch.random_programming import packet, programming

OUT = ROOT / "docs" / "evidence" / "differential.json"
BATCH = 100
"""Packets between two comparisons."""
PATIENCE_S = 3.0
"""For a frame that the embedded switch has sent."""
QUIET_S = 0.05
"""For frames that it has not."""

Config = p4r.ForwardingPipelineConfig
Outputs = Counter[tuple[Any, ...]]


class Reference:
    """simple_switch_grpc with one packet on its way at a time."""

    def __init__(self, bench: Bench, ports: Sequence[int] = PORTS) -> None:
        self._bench = bench
        self._ports = frozenset(ports)
        self._at_ports = 0  # frames found there; nobody waits for one at another
        self._found: list[tuple[int, bytes]] = []
        self._arrived = threading.Condition()
        bench.set_depths(ports)
        self.stream = DataplaneStream(bench.dataplane, DEVICE_ID, self._take)

    def _take(self, port: int, frame: bytes) -> None:
        with self._arrived:
            self._found.append((port, frame))
            self._at_ports += port in self._ports
            self._arrived.notify()

    def send(self, port: int, frame: bytes, expected: int) -> None:
        """Returns when so many frames more have come out, or it takes too long."""
        with self._arrived:
            wanted = self._at_ports + expected
        self.stream.send(port, frame)
        with self._arrived:
            self._arrived.wait_for(lambda: self._at_ports >= wanted, PATIENCE_S if expected else 0)

    def outputs(self, packet_ins: int) -> Outputs:
        """What came since the last call."""
        time.sleep(QUIET_S)
        with self._arrived:
            found, self._found = self._found, []
        return counted(found, self._bench.client.packet_ins(packet_ins))


def counted(frames: list[tuple[int, bytes]], packet_ins: list[Any]) -> Outputs:
    """What came out, whatever its order."""
    outputs: Outputs = Counter((port, frame.hex()) for port, frame in frames)
    for message in packet_ins:
        metadata = tuple((m.metadata_id, m.value.hex()) for m in message.metadata)
        outputs[("cpu", metadata, message.payload.hex())] += 1
    return outputs


@dataclass
class Tally:
    """How much was compared."""

    seeds: int = 0
    entries: int = 0
    refused: int = 0
    packets: int = 0
    frames_out: int = 0
    packet_ins: int = 0
    counters: int = 0
    differences: list[str] = field(default_factory=list)


def compare(seed: int, packets: int, bench: Bench, tally: Tally, config: Config = CONFIG) -> None:
    """One random programming and its packets on a switch whose program has just been loaded; `config` is what
    the embedded switch runs.
    """
    chance = random.Random(seed)
    soft = SoftTarget(config, PORTS)
    names = Names(soft.index)
    updates = [names.update(update) for update in programming(chance)]
    ours, theirs = soft.write(updates), bench.client.write(updates)
    if ours != theirs:
        tally.differences.append(f"seed {seed}: codes of updates differ")
    reference = Reference(bench)
    try:
        for begin in range(0, packets, BATCH):
            _batch(chance, f"seed {seed}, packets from {begin}", soft, reference, tally)
        reference.stream.finish(PATIENCE_S)
    finally:
        reference.stream.close()
    for what, mine, other in (
        ("counters", counters(soft), counters(bench)),  # type: ignore[arg-type]
        ("direct counters", direct_counters(soft, names), direct_counters(bench, names)),  # type: ignore[arg-type]
    ):
        tally.counters += sum(len(cells) for cells in mine.values())
        if mine != other:
            wrong = [name for name in {*mine, *other} if mine.get(name) != other.get(name)]
            tally.differences.append(f"seed {seed}: {what} differ: {sorted(wrong)}")
    tally.seeds += 1
    tally.entries += sum(code == Code.OK for code in ours)
    tally.refused += sum(code != Code.OK for code in ours)


def _batch(chance: random.Random, where: str, soft: SoftTarget, reference: Reference, tally: Tally) -> None:
    sent: list[tuple[int, bytes]] = []
    messages: list[Any] = []
    for _ in range(BATCH):
        port, frame = chance.choice(PORTS), packet(chance)
        soft.send(port, frame)
        left = [(departure.port, departure.frame) for departure in soft.departures()]
        sent += left
        messages += soft.packet_ins()
        reference.send(port, frame, len(left))
    mine, other = counted(sent, messages), reference.outputs(len(messages))
    if mine != other:
        tally.differences.append(
            f"{where}: only soft {list(mine - other)}; only BMv2 {list(other - mine)}"[:2000]
        )
    tally.packets += BATCH
    tally.frames_out += len(sent)
    tally.packet_ins += len(messages)


def run(seeds: range, packets: int, *, say: bool = False, config: Config = CONFIG) -> Tally:
    """All seeds, one after the other, each on a switch of its own."""
    tally = Tally()
    for seed in seeds:
        with running() as bench:
            compare(seed, packets, bench, tally, config)
        if say:
            print(f"seed {seed}: {tally.packets} packets, {len(tally.differences)} differences", flush=True)
    return tally


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.evidence.differential", description=__doc__)
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--packets", type=int, default=1000, help="of each seed")
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    begun = time.monotonic()
    tally = run(range(given.seeds), given.packets, say=True)
    found = {
        "command": f"python -m tests.evidence.differential --seeds {given.seeds} --packets {given.packets}",
        "compared": {key: value for key, value in vars(tally).items() if key != "differences"},
        "differences": tally.differences,
        "took_s": round(time.monotonic() - begun),
        "versions": versions("bmv2"),
    }
    given.out.write_text(json.dumps(found, indent=1) + "\n")
    print(json.dumps(found["compared"]), *tally.differences, sep="\n")
    return 1 if tally.differences else 0


if __name__ == "__main__":
    sys.exit(main())
