"""The backend of `torch.distributed` beside gloo, turn by turn in the same two processes on loopback."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median

import typer
from rich.console import Console

from bench import machine, native
from bench.results import Result, result, save, show

_RANKS = 2
_LARGE = 64 << 20  # bytes
_WHOLE = {"rounds": 5, "small": 2000, "large": 7, "bytes": _LARGE}
_QUICK = {"rounds": 1, "small": 50, "large": 2, "bytes": _LARGE}
_PATIENCE_S = 600
_GLOO = "gloo"


def command(console: Console, out: Path, quick: bool) -> None:
    """Measure, show and save; exit status 1 where that cannot be."""
    if importlib.util.find_spec("torch") is None:
        console.print("bench: PyTorch is not installed in this environment: make torch", style="red")
        raise typer.Exit(1)
    circumstances = machine.describe()
    argv = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={_RANKS}",
            str(native.ROOT / "bench/torch_worker.py"), json.dumps(_QUICK if quick else _WHOLE)]  # fmt: skip
    with machine.priority():
        done = subprocess.run(
            argv, capture_output=True, text=True, check=False, timeout=_PATIENCE_S,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )  # fmt: skip
    if done.returncode != 0:
        console.print(f"bench: {done.stderr.strip()[-2000:]}", style="red", markup=False)
        raise typer.Exit(1)
    found = json.loads(done.stdout.splitlines()[-1])
    rows = rows_of(
        {name: {what: median(values) for what, values in of.items()} for name, of in found.items()}
    )
    show(rows, console, circumstances, "torch.distributed")
    save(rows, circumstances, out / "torch.json")
    console.print(f"{out / 'torch.json'}")


def rows_of(found: dict[str, dict[str, float]]) -> list[Result]:
    """Figures of "csaud" beside those of "gloo"."""
    ours, theirs = found["csaud"], found[_GLOO]
    goodput = {name: _LARGE / of["large_us"] for name, of in found.items()}
    return [
        result(
            "all_reduce of 4 B", ours["us"], "us",
            peer=_GLOO, peer_value=theirs["us"], bound="at most", limit=1,
        ),
        result(
            "all_reduce of 4 B, async_op and wait", ours["async_us"], "us",
            peer=_GLOO, peer_value=theirs["async_us"], bound="at most", limit=1,
        ),
        result(
            "all_reduce of 64 MB", goodput["csaud"], "MB/s",
            peer=_GLOO, peer_value=goodput[_GLOO], bound="at least", limit=1,
        ),
        result("all_reduce of 64 MB hidden by computing", ours["hidden"], "share"),
        result("all_reduce of 64 MB hidden by computing, gloo", theirs["hidden"], "share"),
    ]  # fmt: skip
