"""`python -m bench switch`, `host`, `torch`, `recover`, `scape` and more: this project beside others."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from csaud_controller.control.client import ControlError
from rich.console import Console

from bench import controller as controller_bench
from bench import (
    fabric_start,
    forwarding,
    in_process,
    instructions,
    latency,
    machine,
    native,
    needs,
    plot,
    recover,
    scale,
    scape,
    simulator,
    tables,
    torch_backend,
    training_parts,
    training_report,
)
from bench import host as host_bench
from bench.host_collectives import TORCH
from bench.results import Result, save, show
from bench.rig import Peer, RigError, bmv2, soft

app = typer.Typer(add_completion=False, help="Benchmarks.")
console = Console(width=None if sys.stdout.isatty() else 140)


class Part(StrEnum):
    """What can be measured on its own."""

    FORWARDING = "forwarding"
    IN_PROCESS = "in-process"
    TABLES = "tables"
    LATENCY = "latency"
    FABRIC = "fabric"
    INSTRUCTIONS = "instructions"


@dataclass(frozen=True)
class Effort:
    """How long to measure."""

    seconds: float
    rounds: int
    packets: int
    sizes: tuple[int, ...]
    largest_table: int | None


WHOLE = Effort(seconds=1.5, rounds=3, packets=400_000, sizes=(98, 512, 1100, 2048, 4214), largest_table=None)
QUICK = Effort(seconds=0.2, rounds=1, packets=2_000, sizes=(1100,), largest_table=100)


@app.callback()
def _group() -> None:
    """Benchmarks."""


@app.command()
def switch(
    out: Annotated[Path, typer.Option(help="Folder for switch.json and switch.svg.")] = Path("build/bench"),
    only: Annotated[list[Part] | None, typer.Option(help="Measure this alone; repeat it.")] = None,
    quick: Annotated[
        bool, typer.Option(help="Tiny sizes: does it run at all? The figures say nothing.")
    ] = False,
    fast: Annotated[
        str | None, typer.Option(envvar="BMV2_FAST", help="simple_switch_grpc built for speed.")
    ] = None,
) -> None:
    """Measure the embedded switch, side by side with simple_switch_grpc where that is on PATH."""
    effort = QUICK if quick else WHOLE
    parts = only if only else list(Part)
    try:
        circumstances = machine.describe()
        native.build("csaud_switch_hop", "csaud_switch_traffic")
        with machine.priority():
            results = _measure(parts, effort, _peers(fast), circumstances)
    except (machine.MachineError, native.NativeError, RigError) as error:
        console.print(f"bench: {error}", style="red", markup=False)
        raise typer.Exit(1) from None
    show(results, console, circumstances)
    save(results, circumstances, out / "switch.json")
    plot.draw(results, out / "switch.svg")
    console.print(f"{out / 'switch.json'}, {out / 'switch.svg'}")
    if any(key.startswith("failed") for key in circumstances):
        raise typer.Exit(1)


@app.command()
def host(
    out: Annotated[Path, typer.Option(help="Folder for host.json and host.svg.")] = Path("build/bench"),
    only: host_bench.Only = None,
    quick: Annotated[
        bool, typer.Option(help="Tiny sizes: does it run at all? The figures say nothing.")
    ] = False,
    torch: Annotated[
        bool, typer.Option(help=f"Install {TORCH} into build/torch-venv where it is not there.")
    ] = False,
) -> None:
    """Measure the host library, side by side with libfabric, iperf3 and, where there is one, gloo."""
    host_bench.command(console, out, only, quick, torch)


@app.command(name="simulator")
def simulator_(
    out: Annotated[Path, typer.Option(help="Folder for simulator.json.")] = Path("build/bench"),
    quick: Annotated[bool, typer.Option(help="One small fabric: does it run at all?")] = False,
) -> None:
    """Measure the simulator: a packet-hop at 16, 128 and 1,024 hosts, and setting those up."""
    simulator.command(console, out, quick)


@app.command(name="scale")
def scale_(
    out: Annotated[Path, typer.Option(help="Folder for scale.json.")] = Path("build/bench"),
    quick: Annotated[bool, typer.Option(help="Few ranks: does it run at all?")] = False,
) -> None:
    """Measure what grows with ranks: meeting, tables, decisions, schedules, collectives in virtual time."""
    scale.command(console, out, quick)


@app.command(name="torch")
def torch_(
    out: Annotated[Path, typer.Option(help="Folder for torch.json.")] = Path("build/bench"),
    quick: Annotated[
        bool, typer.Option(help="Few calls: does it run at all? The figures say nothing.")
    ] = False,
) -> None:
    """Measure the backend of torch.distributed beside gloo."""
    torch_backend.command(console, out, quick)


@app.command(name="controller")
def controller_(
    out: Annotated[Path, typer.Option(help="Folder for controller.json.")] = Path("build/bench"),
    only: Annotated[
        list[controller_bench.Part] | None, typer.Option(help="Measure this alone; repeat it.")
    ] = None,
    quick: Annotated[
        bool, typer.Option(help="Tiny sizes: does it run at all? The figures say nothing.")
    ] = False,
) -> None:
    """Measure the controller at scale: entries a second beside p4runtime-shell, links, audits, memory."""
    controller_bench.command(console, out, only, quick)


@app.command(name="recover")
def recover_(
    out: Annotated[Path, typer.Option(help="Folder for recover.json.")] = Path("build/bench"),
    quick: Annotated[
        bool, typer.Option(help="Fewer steps of a smaller model, for minutes instead of an hour.")
    ] = False,
) -> None:
    """Measure training whose workers are killed beside checkpoints and restarts by torchrun."""
    recover.command(console, out, quick)


@app.command(name="scape")
def scape_(
    out: Annotated[Path, typer.Option(help="Folder for scape.json and the runs kept.")] = Path("build/bench"),
    quick: Annotated[
        bool, typer.Option(help="Few steps: does it run at all? The figures say nothing.")
    ] = False,
    jobs: Annotated[int, typer.Option(help="Runs at once.")] = 2,
) -> None:
    """Compare sparse averages with dense training and others: loss, bytes, time of a step."""
    scape.command(console, out, quick, jobs)


@app.command(name="training")
def training_(
    out: Annotated[
        Path | None,
        typer.Option(help="Folder of all that is kept; default: build/reproduce-training, or quick in that."),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="PART", help="Of its parts (recover, scape, steps) this alone; repeat it."),
    ] = None,
    quick: Annotated[
        bool, typer.Option(help="Tiny sizes: does it run at all? The figures say nothing.")
    ] = False,
    jobs: Annotated[int, typer.Option(min=1, help="Trainings at once, of those that are not timed.")] = 2,
) -> None:
    """What is claimed of training, in a quarter of an hour, on one page: what failures cost, what sparse
    averages bring. What the folder has is not measured again. Exit status 0 when all was measured, goals or
    not."""
    needs.torch(console)
    try:
        chosen = training_report.chosen(training_parts.parts(quick), only or [])
    except training_report.NoSuchPart as error:
        console.print(f"bench: {error}", style="red", markup=False)
        raise typer.Exit(2) from None
    folder = out or Path("build/reproduce-training") / ("quick" if quick else "")
    if not training_report.command(chosen, console, folder, jobs, training_parts.described):
        raise typer.Exit(1)


def _peers(fast: str | None) -> list[Peer]:
    found = shutil.which("simple_switch_grpc")
    peers = [bmv2("default build", found)] if found else []
    if fast:
        if not os.access(fast, os.X_OK):
            raise RigError(f"{fast} cannot be run")
        peers.append(bmv2("fast build", fast))
    return peers


def _measure(
    parts: list[Part], effort: Effort, peers: list[Peer], circumstances: dict[str, str]
) -> list[Result]:
    cores = machine.cores()
    circumstances["cores"] = f"switch on {cores[0]}, traffic on {cores[1]}"
    if os.geteuid() != 0:
        parts = [part for part in parts if part in (Part.IN_PROCESS, Part.TABLES, Part.INSTRUCTIONS)]
        circumstances["not measured"] = "what needs root: veth ports, fabric"
    elif not peers:
        circumstances["not measured"] = "simple_switch_grpc is not on PATH"
    results: list[Result] = []
    for part in parts:
        console.print(f"[dim]{part} …[/]")
        try:
            results += _measure_part(part, effort, peers, cores)
        except (native.NativeError, RigError, ControlError, subprocess.CalledProcessError) as error:
            circumstances[f"failed: {part}"] = str(error)  # the other parts are worth having
    return results


def _measure_part(part: Part, effort: Effort, peers: list[Peer], cores: tuple[int, int]) -> list[Result]:
    if part is Part.FORWARDING:
        return forwarding.measure(
            soft(), peers, cores, effort.sizes, seconds=effort.seconds, rounds=effort.rounds
        )
    if part is Part.IN_PROCESS:
        return in_process.measure(cores[0], packets=effort.packets, rounds=effort.rounds)
    if part is Part.TABLES:
        rows = tables.in_process(
            cores[0], packets=effort.packets, rounds=effort.rounds, largest=effort.largest_table
        )
        if os.geteuid() == 0:
            rows += tables.through_ports(
                cores, seconds=effort.seconds, rounds=effort.rounds, largest=effort.largest_table
            )
        return rows
    if part is Part.LATENCY:
        return latency.measure([soft(), *peers], cores, count=500 if effort is WHOLE else 20)
    if part is Part.FABRIC:
        return fabric_start.measure(rounds=effort.rounds)
    return instructions.measure()


if __name__ == "__main__":
    sys.exit(app())
