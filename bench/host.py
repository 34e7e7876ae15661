"""`python -m bench host`: the host library beside its peers, in one run."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from csaud_controller.control.client import ControlError
from rich.console import Console

from bench import host_collectives, host_core, host_fabric, host_pair, host_state, machine, native
from bench.host_peers import PEERS, Effort, installed
from bench.host_rig import HostRigError
from bench.results import Result, save, show


class Part(StrEnum):
    """What can be measured on its own."""

    GOODPUT = "goodput"
    ROUND_TRIP = "round-trip"
    LOSS = "loss"
    CORE = "core"
    PEERS = "peers"
    MEMORY = "memory"
    COLLECTIVES = "collectives"
    ALL_REDUCE = "all-reduce"
    INSTRUCTIONS = "instructions"


NEED_ROOT = (Part.GOODPUT, Part.ROUND_TRIP, Part.LOSS, Part.ALL_REDUCE)


@dataclass(frozen=True)
class Extent:
    """How much to measure."""

    rounds: int
    effort: Effort
    packets: int
    peers: int
    all_reduce_bytes: int
    all_reduces: int


WHOLE = Extent(5, Effort(1.0, 2000), 2_000_000, host_core.MANY, host_fabric.BYTES, 5)
QUICK = Extent(1, Effort(1.0, 20), 20_000, 100, 1 << 16, 1)


def command(
    console: Console,
    out: Path,
    only: list[Part] | None,
    quick: bool,
    torch: bool,
) -> None:
    """Measure, print the table, write host.json and host.svg; exit status 1 where a part failed."""
    extent = QUICK if quick else WHOLE
    parts = only if only else list(Part)
    try:
        circumstances = machine.describe()
        native.build(host_core.PROGRAM, part="hostlib/native")
        with machine.priority():
            results = _measure(parts, extent, torch, circumstances, console)
    except (machine.MachineError, native.NativeError, HostRigError) as error:
        console.print(f"bench: {error}", style="red", markup=False)
        raise typer.Exit(1) from None
    show(results, console, circumstances, title="Host library")
    save(results, circumstances, out / "host.json")
    written = [out / "host.json"]
    if any(row.at.get("curve") == "bytes" for row in results):
        host_state.draw(results, out / "host.svg")
        written.append(out / "host.svg")
    console.print(", ".join(str(path) for path in written))
    if any(key.startswith("failed") for key in circumstances):
        raise typer.Exit(1)


def _measure(
    parts: list[Part], extent: Extent, torch: bool, circumstances: dict[str, str], console: Console
) -> list[Result]:
    cores = machine.cores()
    circumstances["cores"] = f"one end on {cores[0]}, the other on {cores[1]}"
    if os.geteuid() != 0:
        parts = [part for part in parts if part not in NEED_ROOT]
        circumstances["not measured"] = "what needs root: the veth pair, the fabric"

    def say(text: str) -> None:
        console.print(f"bench: {text}", style="yellow", markup=False)
        circumstances[f"failed: {text.split(':')[0]}"] = text

    left_out = [f"{peer.name} (Debian: {peer.package})" for peer in PEERS if not installed(peer)]
    if shutil.which("valgrind") is None:
        left_out.append("instructions (Debian: valgrind)")
    if host_collectives.torch_python(install=torch) is None:
        left_out.append("gloo (PyTorch: make torch, or make bench-host TORCH=1 for one of its own)")
    if not (shutil.which("mpicc") and shutil.which("mpirun")):
        left_out.append("Open MPI (Debian: openmpi-bin, libopenmpi-dev)")
    if left_out:
        circumstances["left out"] = ", ".join(left_out)

    results: list[Result] = []
    for part in parts:
        console.print(f"[dim]{part} …[/]")
        try:
            results += _measure_part(part, extent, torch, cores, say)
        except (native.NativeError, HostRigError, ControlError, subprocess.SubprocessError) as error:
            circumstances[f"failed: {part}"] = str(error)  # the other parts are worth having
    return results


def _measure_part(
    part: Part, extent: Extent, torch: bool, cores: tuple[int, int], say: Callable[[str], None]
) -> list[Result]:
    if part is Part.GOODPUT:
        return host_pair.goodput(cores, extent.rounds, extent.effort, say)
    if part is Part.ROUND_TRIP:
        return host_pair.round_trip(cores, extent.rounds, extent.effort, say)
    if part is Part.LOSS:
        return host_pair.under_loss(cores, extent.rounds, extent.effort, say)
    if part is Part.CORE:
        return host_core.speed(cores[0], packets=extent.packets, rounds=extent.rounds)
    if part is Part.PEERS:
        return host_core.peers(cores[0], packets=extent.packets, rounds=extent.rounds, most=extent.peers)
    if part is Part.MEMORY:
        rows = host_core.memory()
        return rows + host_state.rows(rows[0].value)
    if part is Part.COLLECTIVES:
        return host_collectives.measure(
            cores,
            rounds=min(extent.rounds, 3),
            quick=extent is QUICK,
            torch=host_collectives.torch_python(install=torch),
            pairs=os.geteuid() == 0,
            say=say,
        )
    if part is Part.ALL_REDUCE:
        python = host_collectives.torch_python(install=torch)
        return host_fabric.measure(
            rounds=min(extent.rounds, 3),
            iterations=extent.all_reduces,
            size=extent.all_reduce_bytes,
            torch=python,
        )
    return host_core.instructions()


Only = Annotated[list[Part] | None, typer.Option(help="Measure this alone; repeat it.")]
