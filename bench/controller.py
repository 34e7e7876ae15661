"""`python -m bench controller`: the controller at scale, beside a script of p4runtime-shell's users."""

from __future__ import annotations

import logging
import subprocess
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import typer
from csaud_controller.program.artifacts import find_artifacts
from rich.console import Console

from bench import controller_links, controller_load, machine
from bench.controller_load import Load
from bench.results import Result, result, save, show
from bench.rig import RigError

SHELL = Path("build/p4runtime-shell/bin/python")
"""Where `make bench-controller` installs p4runtime-shell, which wants other versions of what we use."""
_MODELLED = (80, 1_000, 10_000)
_POD = 80
"""Switches of one controller, where each has a pod of its own."""
_MIB = 1 << 20


class Part(StrEnum):
    """What can be measured on its own."""

    ENTRIES = "entries"
    LINKS = "links"


@dataclass(frozen=True)
class Effort:
    switches: int
    entries: int
    watched_s: float
    shell_entries: int
    fabric: str
    rounds: int


WHOLE = Effort(80, 10_000, 30.0, 10_000, "fat-tree-8", 10)
QUICK = Effort(4, 500, 4.0, 200, "leaf-spine-2x2", 2)


def command(console: Console, out: Path, only: list[Part] | None, quick: bool) -> None:
    """Measure, show, save; exits with 1 where something could not be measured."""
    effort = QUICK if quick else WHOLE
    logging.getLogger("finsy").setLevel(logging.CRITICAL)  # it says much of sessions that are cancelled
    circumstances, results = machine.describe(), list[Result]()
    for part in only or [*Part]:
        console.print(f"[dim]{part} …[/]")
        try:
            results += _entries(effort, circumstances) if part is Part.ENTRIES else _links(effort)
        except (RigError, OSError, subprocess.SubprocessError) as error:
            circumstances[f"failed: {part}"] = str(error)
    show(results, console, circumstances, "Controller")
    save(results, circumstances, out / "controller.json")
    console.print(str(out / "controller.json"))
    if any(key.startswith("failed") for key in circumstances):
        raise typer.Exit(1)


def _entries(effort: Effort, circumstances: dict[str, str]) -> list[Result]:
    found = controller_load.measure(effort.switches, effort.entries, effort.watched_s)
    what = f"{effort.switches} switches x {effort.entries:,} entries"
    circumstances["sink"] = f"{found.sink_share:.0%} of a core while entries were written"
    ours, (theirs, computed) = found.switches * found.entries / found.written_s, _shell(effort)
    if theirs is None:
        circumstances["not measured"] = f"p4runtime-shell is not in {SHELL.parents[1]}"
    return [
        result(
            f"{what} from nothing", ours, "entries/s", peer="p4runtime-shell" if theirs else None,
            peer_value=theirs, bound="at least" if theirs else None, limit=10,
        ),
        result(
            f"{what}, processor time an entry", found.computed_us, "us",
            peer="p4runtime-shell" if computed else None, peer_value=computed,
        ),
        result("event loop late while it writes, p99", found.writing_p99_ms, "ms"),
        result("event loop late while it audits, p99", found.stall_p99_ms, "ms", bound="at most", limit=20),
        result(
            "event loop late while a controller that returns reads all, p99", found.returned_p99_ms, "ms",
            bound="at most", limit=20,
        ),
        result("audits", found.audit_core, "cores", bound="at most", limit=0.1),
        result("audits, of a switch every", found.audit_every_s, "s"),
        result("memory an entry", found.bytes_an_entry, "B"),
        *_model(found),
    ]  # fmt: skip


def _model(found: Load) -> list[Result]:
    """What the measured costs come to, linear in switches, where each pod has a controller of its own."""
    rows = []
    each = found.bytes_an_entry * WHOLE.entries / _MIB
    core = found.audit_core / found.switches * WHOLE.entries / found.entries
    for switches in _MODELLED:
        pods = -(-switches // _POD)
        name = f"model: {switches:,} switches x {WHOLE.entries:,}, {pods} {'pod' if pods == 1 else 'pods'}"
        rows.append(result(f"{name}, memory of all", each * switches, "MiB"))
        rows.append(result(f"{name}, audits of all", core * switches, "cores"))
    return rows


def _shell(effort: Effort) -> tuple[float | None, float | None]:
    """Entries a second of a script into one such switch, and processor time of one, us; None: not there."""
    if not SHELL.exists():
        return None, None
    artifacts = find_artifacts()
    with controller_load.sinks(1) as (addresses, _):
        words = [str(SHELL), str(Path(__file__).with_name("controller_shell.py")), addresses[0]]
        files = [str(artifacts.p4info), str(artifacts.p4info.with_name("csaud.json"))]
        done = subprocess.run(
            [*words, *files, str(effort.shell_entries)], capture_output=True, text=True, timeout=600
        )
    if done.returncode != 0:
        raise RigError(f"p4runtime-shell: {done.stderr.strip().splitlines()[-1:]}")
    wall, computed = map(float, done.stdout.split()[-2:])
    return effort.shell_entries / wall, 1e6 * computed / effort.shell_entries


def _links(effort: Effort) -> list[Result]:
    found = controller_links.measure(effort.fabric, effort.rounds)
    what = f"{effort.fabric}, a link goes or comes back"
    policy = f"{effort.fabric}, another policy"
    flaps = "a host's link fails and comes back 100 times in 10 s"
    return [
        result(f"{what}: tables computed", 1e3 * found.planned_s, "ms", bound="at most", limit=10),
        result(f"{what}: all switches hold them", 1e3 * found.written_s, "ms", bound="at most", limit=100),
        result(f"{what}: updates written", found.updates, ""),
        result(f"{policy}: all switches hold it", 1e3 * found.policy_written_s, "ms"),
        result(f"{policy}: event loop late, p99", 1e3 * found.policy_late_p99_s, "ms"),
        result(f"{flaps}: events told", found.flaps_told, "", bound="at most", limit=10),
        result(f"{flaps}: updates written, tables computed", found.flaps_moved, "", bound="at most", limit=0),
        result(
            f"{flaps}: event loop late, p99", 1e3 * found.flaps_late_p99_s, "ms", bound="at most", limit=20
        ),
    ]
