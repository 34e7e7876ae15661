"""What grows with the ranks of a job, from 8 to 65,535: measured up to what runs on one machine."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from csaud.collectives import registry
from csaud.collectives.schedule import MAX_STEPS
from csaud.config.launch import MAX_WORLD
from csaud.membership.arbiter import Majority
from csaud.membership.decree import Decree
from csaud.membership.messages import Envelope, HasAccepted, Json, Prepare, Promise, to_json
from csaud.network.frames import encode
from csaud.rendezvous.table import make_table, table_from_json, table_to_json
from rich.console import Console

from bench import machine, scale_rendezvous, scale_virtual
from bench.results import Result, result, save, show

BARRIER, ALL_REDUCE, GATHER = "barrier.dissemination", "all_reduce.halving_doubling", "gather.direct"
PACKET = 4064  # bytes
LATE = 1000  # us
MEETINGS = (8, 64, 512, 4096)
SECURED = (64, 512)
TABLES = (8, 1024, 4096, MAX_WORLD)
SCHEDULES = (64, 1024, 8192, MAX_STEPS // 2 + 1)
SIMULATED = (
    (16, BARRIER, 0, 0), (128, BARRIER, 0, 0), (1024, BARRIER, 0, 0), (10_000, BARRIER, 0, 0),
    (128, ALL_REDUCE, 65_536, 0), (1024, ALL_REDUCE, 65_536, 0),
    (128, GATHER, PACKET, 0), (1024, GATHER, PACKET, 0), (1024, GATHER, PACKET, LATE),
    (10_000, GATHER, PACKET, LATE),
)  # fmt: skip
_BRINGS: Json = {"admit": True, "newcomers": []}


def _meetings(sizes: tuple[int, ...], secret: bool) -> Iterator[Result]:
    for world in sizes:
        met = scale_rendezvous.meet(world, secret)
        how = "with a secret, " if secret else ""
        at = {"ranks": world, "table_bytes": met.table_bytes, "rank_0_processor_s": met.host_s}
        name = f"{how}{world:,} ranks meet on loopback"
        if world == max(MEETINGS):
            yield result(name, met.seconds, "s", bound="at most", limit=10, at=at)
        else:
            yield result(name, met.seconds, "s", at=at)
        yield result(f"{name}: rank 0's processor time a rank", 1e6 * met.host_s / world, "us", at=at)


def _tables(sizes: tuple[int, ...]) -> Iterator[Result]:
    """What a rank has to do with the table, and what it is on the wire."""
    for world in sizes:
        message = table_to_json(make_table(list(scale_rendezvous.cards(world)), 1))
        began = time.process_time()
        frame = encode(message)
        written = time.process_time()
        plain = json.loads(json.dumps(message))
        reading = time.process_time()
        table_from_json(plain)
        read = time.process_time()
        at = {"ranks": world}
        yield result(f"table of {world:,} ranks: on the wire", len(frame) / world, "B a rank", at=at)
        yield result(f"table of {world:,} ranks: encoded, once", 1e3 * (written - began), "ms", at=at)
        yield result(f"table of {world:,} ranks: checked by a rank", 1e3 * (read - reading), "ms", at=at)


def _decisions(sizes: tuple[int, ...]) -> Iterator[Result]:
    """Who goes on: the leader's part, without the connections."""
    for world in sizes:
        began = time.process_time()
        decree = Decree(
            "next", 0, world, _BRINGS, lambda brought: {"members": sorted(brought)}, Majority(),
            failed=(), now=0.0, timeout=30.0,
        )  # fmt: skip
        ballot = next(body.ballot for _, body in decree.outbox if isinstance(body, Prepare))
        for rank in range(1, world):
            decree.receive(rank, Promise("next", ballot, _BRINGS, None), 0.001)
        _, value = decree.outbox[-1]
        for rank in range(1, world):
            decree.receive(rank, HasAccepted("next", ballot), 0.002)
        took = time.process_time() - began
        if decree.outcome is None:
            raise RuntimeError(f"{world} ranks did not decide")
        length = len(encode(to_json(Envelope("job", 0, "uid", value))))
        at = {"ranks": world, "decision_bytes": length}
        yield result(f"{world:,} ranks decide to go on: the leader's processor time", 1e3 * took, "ms", at=at)


def _schedules(sizes: tuple[int, ...]) -> Iterator[Result]:
    for world in sizes:
        argv = [sys.executable, "-m", "bench.scale", str(world)]
        done = subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True)
        found = json.loads(done.stdout)
        at = {"ranks": world, **found}
        yield result(f"ring of {world:,} ranks: schedule made", 1e3 * found["seconds"], "ms", at=at)
        yield result(f"ring of {world:,} ranks: schedule kept", found["megabytes"], "MB", at=at)


def _schedule(world: int) -> dict[str, float]:
    before = _resident()
    began = time.process_time()
    schedule = registry.build("all_reduce.ring", 0, world, 1 << 20, 1 << 19)
    took = time.process_time() - began
    return {"steps": schedule.steps, "seconds": took, "megabytes": (_resident() - before) / 1e6}


def _resident() -> int:
    """Bytes of memory that this process has now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


def _simulated(runs: tuple[tuple[int, str, int, int], ...]) -> Iterator[Result]:
    for hosts, operation, nbytes, late in runs:
        found = scale_virtual.simulate(hosts, operation, nbytes, late)
        words = f"{operation} of {hosts:,} ranks" + (f", rank 0 {late:,} us late" if late else "")
        at = vars(found)
        yield result(f"{words}: virtual time", found.virtual_us, "us", at=at)
        yield result(f"{words}: control packets a rank", found.control, "", at=at)
        yield result(f"{words}: memory of an endpoint", found.endpoint_kb, "kB", at=at)


def command(console: Console, out: Path, quick: bool) -> None:
    """Measure all of it."""
    circumstances = machine.describe()
    results: list[Result] = []
    parts = (
        _meetings((8, 64) if quick else MEETINGS, False),
        _meetings((8,) if quick else SECURED, True),
        _tables((8, 64) if quick else TABLES),
        _decisions((8, 64) if quick else TABLES),
        _schedules((64,) if quick else SCHEDULES),
        _simulated(SIMULATED[:1] if quick else SIMULATED),
    )
    with machine.priority():
        for part in parts:
            for row in part:
                console.print(f"[dim]{row.name}: {row.value:.4g} {row.unit}[/]", highlight=False)
                results.append(row)
    show(results, console, circumstances, "Scale")
    save(results, circumstances, out / "scale.json")
    console.print(f"{out / 'scale.json'}")


if __name__ == "__main__":
    json.dump(_schedule(int(sys.argv[1])), sys.stdout)
