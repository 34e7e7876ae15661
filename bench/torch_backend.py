"""The backend of `torch.distributed` beside gloo, turn by turn in the same two processes: on loopback,
and, as root, on two hosts of a fabric that loses packets."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Any

import typer
from rich.console import Console

from bench import machine, native, needs
from bench.host_fabric import LOSSES, Fabric
from bench.host_rig import HostRigError
from bench.results import Result, result, save, show

_RANKS = 2
_LARGE = 64 << 20  # bytes
_WHOLE = {"rounds": 5, "small": 2000, "large": 7, "bytes": _LARGE, "overlap": True}
_QUICK = {**_WHOLE, "rounds": 1, "small": 50, "large": 2}
_IN_FABRIC = {**_WHOLE, "rounds": 3, "small": 300, "large": 3, "overlap": False}
_QUICK_IN_FABRIC = {**_IN_FABRIC, "rounds": 1, "small": 20, "large": 1, "bytes": 1 << 20}
_WORKER = native.ROOT / "bench/torch_worker.py"
FABRIC = "leaf-spine-2x2x1"
RATE = 400_000_000
"""bit/s of its links: as fast as a busy machine carries (host_fabric)."""
_PATIENCE_S = 600
_GLOO = "gloo"


def command(console: Console, out: Path, quick: bool) -> None:
    """Measure, show and save; exit status 1 where that cannot be."""
    needs.torch(console)
    circumstances = machine.describe()
    argv = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={_RANKS}",
            str(_WORKER), json.dumps(_QUICK if quick else _WHOLE)]  # fmt: skip
    with machine.priority():
        done = subprocess.run(
            argv, capture_output=True, text=True, check=False, timeout=_PATIENCE_S,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )  # fmt: skip
    if done.returncode != 0:
        console.print(f"bench: {done.stderr.strip()[-2000:]}", style="red", markup=False)
        raise typer.Exit(1)
    found = medians(done.stdout)
    rows = rows_of(found["cpu"], _LARGE)
    if "cuda" in found:
        rows += rows_of(found["cuda"], _LARGE, "GPU's tensors: ")
    if os.geteuid() == 0:
        try:
            rows += in_fabric(_QUICK_IN_FABRIC if quick else _IN_FABRIC)
        except HostRigError as error:
            console.print(f"bench: in a fabric: {error}", style="red", markup=False)
            raise typer.Exit(1) from None
    else:
        console.print("without root there is no fabric: its rows are left out")
    show(rows, console, circumstances, "torch.distributed")
    save(rows, circumstances, out / "torch.json")
    console.print(f"{out / 'torch.json'}")


def in_fabric(cases: dict[str, Any]) -> list[Result]:
    """Two ranks whose packets cross a spine, without loss, and with 0.1 and 1 % of all packets lost, those of
    gloo, too. HostRigError where that cannot be."""
    rows = []
    with Fabric(FABRIC, RATE) as fabric:
        for loss in LOSSES:
            fabric.lose(loss)
            found = medians(fabric.run([sys.executable, str(_WORKER), json.dumps(cases)]))["cpu"]
            rows += rows_of(found, cases["bytes"], f"fabric, {loss:.1%} lost: ")
    return rows


def medians(printed: str) -> dict[str, dict[str, dict[str, float]]]:
    """Of what the worker printed, by device and backend."""
    return {
        device: {name: {what: median(values) for what, values in of.items()} for name, of in found.items()}
        for device, found in json.loads(printed.splitlines()[-1]).items()
    }


def rows_of(found: dict[str, dict[str, float]], nbytes: int, where: str = "") -> list[Result]:
    """Figures of "csaud" beside those of "gloo"."""
    ours, theirs = found["csaud"], found[_GLOO]
    large = f"{where}all_reduce of {nbytes >> 20} MB"
    goodput = {name: nbytes / of["large_us"] for name, of in found.items()}
    rows = [
        result(
            f"{where}all_reduce of 4 B", ours["us"], "us",
            peer=_GLOO, peer_value=theirs["us"], bound="at most", limit=1,
        ),
        result(  # with losses it has what waiting for them costs, which no median has
            f"{where}all_reduce of 4 B, mean", ours["mean_us"], "us",
            peer=_GLOO, peer_value=theirs["mean_us"], bound="at most", limit=1,
        ),
        result(
            f"{where}all_reduce of 4 B, async_op and wait", ours["async_us"], "us",
            peer=_GLOO, peer_value=theirs["async_us"], bound="at most", limit=1,
        ),
        result(
            large, goodput["csaud"], "MB/s",
            peer=_GLOO, peer_value=goodput[_GLOO], bound="at least", limit=1,
        ),
    ]  # fmt: skip
    if "hidden" in ours:
        rows.append(result(f"{large} hidden by computing", ours["hidden"], "share"))
        rows.append(result(f"{large} hidden by computing, gloo", theirs["hidden"], "share"))
    return rows
