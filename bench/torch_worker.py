"""One rank of both backends of `torch.distributed`, turn by turn in the same processes.

`torch_worker.py CASES`, with torchrun's variables; CASES is {"rounds", "small", "large", "bytes",
"overlap"}. Rank 0 prints one line of JSON: {device: {backend: {"us": [...], "mean_us": [...],
"large_us": [...], "async_us": [...], "hidden": [...]}}}, a figure a round; the last one if "overlap". Devices
are "cpu" and, where there is a GPU, "cuda": what tensors are on.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import mean, median
from typing import Any

# torchrun gives each worker a session, and so a scheduling group, of its own (bench/machine.py).
with contextlib.suppress(OSError):  # not root, or a kernel without such groups
    Path("/proc/self/autogroup").write_text("-19")

import csaud.torch  # noqa: F401, registers the backend
import torch
import torch.distributed as dist


def _seconds(once: Callable[[], object], times: int, wait_for_gpu: Callable[[], None]) -> list[float]:
    """Of some calls, with what a GPU has to do for each."""
    found = []
    for _ in range(times):
        begun = time.perf_counter()
        once()
        wait_for_gpu()
        found.append(time.perf_counter() - begun)
    return found


def _nothing() -> None:
    """There is none."""


def _round(device: str, group: Any, small: int, large: int, nbytes: int, overlap: bool) -> dict[str, float]:
    tiny, whole, factors = (torch.zeros(shape, device=device) for shape in (1, nbytes // 4, (384, 384)))
    seconds = partial(_seconds, wait_for_gpu=torch.cuda.synchronize if device == "cuda" else _nothing)

    def compute() -> None:
        for _ in range(8):
            torch.mm(factors, factors)

    def both() -> None:
        work = dist.all_reduce(whole, group=group, async_op=True)
        compute()
        work.wait()

    dist.all_reduce(whole, group=group)
    calls = seconds(lambda: dist.all_reduce(tiny, group=group), small)
    once = {"us": median(calls) * 1e6, "mean_us": mean(calls) * 1e6}
    begun = lambda: dist.all_reduce(tiny, group=group, async_op=True).wait()  # noqa: E731
    once["async_us"] = median(seconds(begun, small)) * 1e6
    moving = median(seconds(lambda: dist.all_reduce(whole, group=group), large))
    once["large_us"] = moving * 1e6
    if overlap:
        computing, together = (median(seconds(each, large)) for each in (compute, both))
        once["hidden"] = (computing + moving - together) / min(computing, moving)
    return once


def main() -> None:
    cases = json.loads(sys.argv[1])
    torch.set_num_threads(1)
    dist.init_process_group("csaud")
    groups = {"csaud": dist.group.WORLD, "gloo": dist.new_group(backend="gloo")}
    devices = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
    found: dict[str, dict[str, dict[str, list[float]]]] = {
        device: {name: {} for name in groups} for device in devices
    }
    for device in devices:
        for _ in range(cases["rounds"]):
            for name, group in groups.items():
                asked = (cases[what] for what in ("small", "large", "bytes", "overlap"))
                for what, value in _round(device, group, *asked).items():
                    found[device][name].setdefault(what, []).append(value)
    if dist.get_rank() == 0:
        print(json.dumps(found), flush=True)
    dist.destroy_process_group()


main()
