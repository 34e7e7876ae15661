"""What `make reproduce-training` is made of: parts, each with its figures and goals."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, Protocol

from bench import kept, machine, recover, scape
from bench.results import Result

Measured = tuple[list[Result], dict[str, str]]
"""Figures, and what goes beside them."""


class NotMeasured(RuntimeError):
    """A part could not be measured; the message says why."""


class Told(Protocol):
    """Hears what is over.

    Args:
        what: in words.
        seconds: that it was expected to take.
        now: it was done now, and not before.
    """

    def __call__(self, what: str, seconds: float, now: bool) -> None: ...


@dataclass(frozen=True)
class Part:
    """Figures that are measured together.

    Attributes:
        name: for `--only`, and of its folder and files.
        title: of its section.
        about: what is compared, for readers.
        seconds: that all of it takes on two processors, roughly.
        measure: does what its folder lacks, in so many processes, and tells of it. NotMeasured where that
            cannot be.
    """

    name: str
    title: str
    about: str
    seconds: float
    measure: Callable[[Path, int, Told], Measured]


def parts(quick: bool) -> tuple[Part, ...]:
    """All of them; the quick form tries whether they run."""
    from bench import scape_plan

    effort = scape_plan.QUICK if quick else scape_plan.WHOLE
    training_s = 1.0 if quick else 3.0  # a run, where two processors share them out
    steps_s = 60.0 if quick else 200.0
    return (
        Part(
            "recover",
            "Training that goes on when workers die",
            "Workers are killed while they train. With csaud.torch.recover the others go on in the same "
            "step; DDP over gloo is restarted by torchrun, at its last checkpoint.",
            90.0 if quick else 300.0,
            lambda out, jobs, told: _recover(out, quick, told),
        ),
        Part(
            "scape",
            "Sending a part of the weights: what is learnt",
            "One model trained by each method, at the best of the learning rates tried for it; bytes of "
            "payload that a rank sends.",
            training_s * scape_plan.planned(effort),
            lambda out, jobs, told: _learnt(out, effort, jobs, training_s, told),
        ),
        Part(
            "steps",
            "Sending a part of the weights: what a step takes",
            "Steps in an emulated fabric whose links limit them, where communication is 20, 50 and 80 % of a "
            "dense step.",
            steps_s,
            lambda out, jobs, told: _steps(out, quick, steps_s, told),
        ),
    )  # fmt: skip


def described() -> dict[str, str]:
    """The machine, and the versions of what is measured."""
    import torch

    return {
        **machine.describe(),
        "versions": f"csaud {metadata.version('csaud')}, PyTorch {torch.__version__}, "
        f"Python {platform.python_version()}",
    }


def _recover(out: Path, quick: bool, told: Told) -> Measured:
    case: dict[str, Any] = {**recover.QUICK, "steps": 60 if quick else 2400}
    seconds = iter((30.0, 30.0, 30.0) if quick else (30.0, 110.0, 160.0))
    try:
        compared = recover.compare(
            case, 1.0 if quick else recover.BETWEEN_S, lambda what, now: told(what, next(seconds), now), out
        )
    except recover.RunFailed as failure:
        raise NotMeasured(str(failure)) from failure
    return compared.rows(), compared.circumstances()


def _learnt(out: Path, effort: Any, jobs: int, training_s: float, told: Told) -> Measured:
    from bench import scape_plan

    methods, ablations = scape_plan.compare(
        out, effort, jobs, lambda what, runs, now: told(what, runs * training_s, now)
    )
    rows = [*scape.rows_of_losses(methods, ablations), *scape.rows_of_bytes(methods)]
    return rows, scape.of_training(methods, effort.steps)


def _steps(out: Path, quick: bool, seconds: float, told: Told) -> Measured:
    import csaud

    from bench import scape_fabric

    effort = scape_fabric.QUICK if quick else scape_fabric.WHOLE
    ours = [Path(scape_fabric.__file__), Path(scape_fabric.__file__).with_name("scape_worker.py")]
    library = sorted((Path(csaud.__file__).parent / "scape").glob("*.py"))
    path = out / f"steps.{effort.count}.{effort.steps}.{kept.definition([*ours, *library])}.json"
    found = kept.read(path)
    if now := found is None:
        if os.geteuid() != 0:
            raise NotMeasured("an emulated fabric needs root: nobody else may make network namespaces")
        try:
            measured = scape_fabric.measure(effort)
        except scape_fabric.FabricError as error:
            raise NotMeasured(str(error)) from error
        found = {name: asdict(each) for name, each in measured.items()}
        kept.write(path, found)
    told(f"{len(found)} methods", seconds, now)
    measured = {name: scape_fabric.Steps(**each) for name, each in found.items()}
    return scape.rows_of_steps(measured), scape.of_steps(effort.count)
