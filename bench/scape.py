"""Sparse averages beside dense training and other ways to send less: loss, bytes, time of a step."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from pathlib import Path
from statistics import mean, stdev
from typing import TYPE_CHECKING

import typer
from rich.console import Console

from bench import machine, needs
from bench.results import Result, result, save, show

if TYPE_CHECKING:
    from bench.scape_fabric import Steps
    from bench.scape_plan import Swept

_STEP = 0.567  # of dense AdamS's step, where communication is half of it: 43.3 % less
_FEWER = {"SCAPE, 90 %": 1 / 8, "SCAPE, 99 %": 1 / 40}


def command(console: Console, out: Path, quick: bool, jobs: int) -> None:
    """Train, measure, show and save; exit status 1 where that cannot be."""
    needs.torch(console)
    from bench import scape_fabric, scape_plan

    effort = scape_plan.QUICK if quick else scape_plan.WHOLE
    methods, ablations = scape_plan.compare(out / "scape-runs", effort, jobs)
    rows = [*rows_of_losses(methods, ablations), *rows_of_bytes(methods)]
    circumstances = machine.describe() | of_training(methods, effort.steps)
    if os.geteuid() == 0:
        in_fabric = scape_fabric.QUICK if quick else scape_fabric.WHOLE
        try:
            found = scape_fabric.measure(in_fabric)
        except scape_fabric.FabricError as error:
            circumstances["failed: fabric"] = str(error)
        else:
            rows += rows_of_steps(found)
            circumstances |= of_steps(in_fabric.count)
    else:
        circumstances["not measured"] = "what needs root: steps in a fabric"
    show(rows, console, circumstances, "Sparse averages")
    save(rows, circumstances, out / "scape.json")
    console.print(f"{out / 'scape.json'}")
    if any(key.startswith("failed") for key in circumstances):
        raise typer.Exit(1)


def of_training(methods: Mapping[str, Swept], steps: int) -> dict[str, str]:
    """What was trained, and at which learning rates: beside the figures."""
    from bench.scape_model import CONTEXT, Model, Text
    from bench.scape_runs import PIECES, RANKS

    letters = steps * RANKS * PIECES * CONTEXT
    return {
        "training": f"{Model(Text().letters).count:,} weights, {RANKS} ranks in one process with "
        f"the arithmetic of as many, {steps} steps, {letters:,} letters",
        "learning rates": "; ".join(_sweep(name, swept) for name, swept in methods.items()),
        "curves": "; ".join(
            f"{name}: " + ", ".join(f"{at:,} letters {loss:.3f}" for at, loss in swept.runs[0].curve)
            for name, swept in methods.items()
        ),
    }


def of_steps(count: int) -> dict[str, str]:
    """In what steps were measured: beside the figures."""
    from bench.scape_fabric import FABRIC, RATE

    return {
        "steps": f"4 ranks in {FABRIC}, links of {RATE}/s, {count:,} weights; "
        "computing is a pause before the method's step, in which nothing is sent"
    }


def rows_of_losses(methods: Mapping[str, Swept], ablations: Mapping[str, Swept]) -> list[Result]:
    """At the end of training, the mean over seeds at the best learning rate of each method."""
    dense = methods["AdamS, dense"]
    base = dense.losses[dense.best]
    rows = []
    for name, swept in methods.items():
        losses = swept.losses[swept.best]
        at = {"lr": swept.best, "losses": list(losses), "edge": swept.at_edge}
        at |= {"method": name, "curve": _curve(swept)}
        peer = {} if swept is dense else {"peer": "AdamS, dense", "peer_value": mean(base)}
        rows.append(result(f"loss: {name}", mean(losses), "nats", **peer, at=at))  # type: ignore[arg-type]
        if name in _FEWER and len(losses) > 1 and len(base) > 1:
            noise = 2 * math.sqrt(stdev(losses) ** 2 / len(losses) + stdev(base) ** 2 / len(base))
            rows.append(
                result(f"loss above dense: {name}; noise is two standard errors", mean(losses) - mean(base),
                       "nats", bound="at most", limit=round(noise, 4))
            )  # fmt: skip
    for name, swept in ablations.items():
        losses = swept.losses[swept.best]
        rows.append(
            result(f"loss: SCAPE, 90 %, but {name}", mean(losses), "nats", peer="AdamS, dense",
                   peer_value=mean(base), at={"lr": swept.best, "losses": list(losses)})
        )  # fmt: skip
    return rows


def rows_of_bytes(methods: Mapping[str, Swept]) -> list[Result]:
    """Payload that a rank sends in a step."""
    dense = methods["AdamS, dense"].runs[0].sent
    rows = []
    for name, swept in methods.items():
        limit = _FEWER.get(name)
        rows.append(
            result(f"bytes a step: {name}", swept.runs[0].sent, "B", peer="AdamS, dense", peer_value=dense,
                   bound=None if limit is None else "at most", limit=limit)
        )  # fmt: skip
    return rows


def rows_of_steps(found: Mapping[str, Steps]) -> list[Result]:
    """Seconds of a step in the fabric, and packets that its switches counted, of the methods measured."""
    from bench.scape_fabric import METHODS, SHARES

    dense = found["dense"]
    rows = [result("step without computing: AdamS, dense", found["alone"].step_s[0], "s")]
    for key, name in METHODS.items():
        if key == "dense" or key not in found:
            continue
        for share, step_s, beside in zip(SHARES, found[key].step_s, dense.step_s, strict=True):
            aimed = key == "0.1" and share == 0.5
            rows.append(
                result(f"step, communication {share:.0%} of a dense one: {name}", step_s, "s",
                       peer="AdamS, dense", peer_value=beside, bound="at most" if aimed else None,
                       limit=_STEP if aimed else None, at={"method": name, "share": share})
            )  # fmt: skip
        rows.append(
            result(f"packets a step, counted by switches: {name}", found[key].packets, "packets",
                   peer="AdamS, dense", peer_value=dense.packets)
        )  # fmt: skip
    return rows


def _curve(swept: Swept) -> dict[str, list[float]]:
    """Of the best learning rate, the mean over seeds."""
    from bench.scape_model import CONTEXT
    from bench.scape_runs import PIECES, RANKS

    letters = [at for at, _ in swept.runs[0].curve]
    nats = [
        mean(loss for _, loss in points) for points in zip(*(run.curve for run in swept.runs), strict=True)
    ]
    steps = [at / (RANKS * PIECES * CONTEXT) for at in letters]
    return {"step": steps, "letters": [float(at) for at in letters], "nats": nats}


def _sweep(name: str, swept: Swept) -> str:
    tried = ", ".join(f"{lr:g}: {mean(losses):.3f}" for lr, losses in sorted(swept.losses.items()))
    return f"{name}: {tried}{' (best at the edge)' if swept.at_edge else ''}"
