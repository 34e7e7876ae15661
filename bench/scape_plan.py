"""What is trained for the comparison of methods: learning rates swept for each, seeds, ablations. Each run is
kept in a file, so that an interrupted comparison goes on."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path
from statistics import mean

import numpy as np
import torch
from csaud.scape import local
from csaud.scape.local import Sparsity
from csaud_runs.children import end_with_parent

from bench import kept as files
from bench.scape_model import Model, Text
from bench.scape_runs import Make, Trained, by_gradients, momenta, scape, train

DENSE = "AdamS, dense"
NINETY, NINETY_NINE = "SCAPE, 90 %", "SCAPE, 99 %"
ABLATED = Sparsity(0.1)

METHODS: dict[str, tuple[Make, float]] = {
    DENSE: (by_gradients("AdamS"), 2e-3),
    "AdamW, dense": (by_gradients("AdamW"), 6e-3),
    NINETY: (scape(ABLATED), 3e-3),
    NINETY_NINE: (scape(Sparsity(0.01)), 3e-3),
    "8 bits, error feedback": (by_gradients("AdamS", "8 bits"), 2e-3),
    "top-k, error feedback (DGC), 90 %": (by_gradients("AdamS", "top-k", 0.1), 2e-3),
    "top-k, error feedback (DGC), 99 %": (by_gradients("AdamS", "top-k", 0.01), 2e-3),
    "by chance, error feedback, 90 %": (by_gradients("AdamS", "chance", 0.1), 2e-3),
    "by chance, error feedback, 99 %": (by_gradients("AdamS", "chance", 0.01), 2e-3),
    "sparse momenta, weights wait, 90 %": (momenta(0.1), 1e-2),
    "sparse momenta, weights wait, 99 %": (momenta(0.01), 1e-2),
}
"""Each with the learning rate at which its sweep begins."""

ABLATIONS: dict[str, Sparsity] = {
    "mask of the same step": replace(ABLATED, late=False),
    "mask by |m|": replace(ABLATED, statistic="momentum"),
    "mask by |m| of the same step": replace(ABLATED, statistic="momentum", late=False),
    "mask by raw gradients": replace(ABLATED, statistic="gradient"),
    "mask by chance": replace(ABLATED, statistic="chance"),
    "mask for 4 steps": replace(ABLATED, refresh=4),
    "mask for 16 steps": replace(ABLATED, refresh=16),
    "second moments local": replace(ABLATED, synchronised=False),
    "75 % sparsity": replace(ABLATED, density=0.25),
    "50 % sparsity": replace(ABLATED, density=0.5),
}
"""Of SCAPE at 90 %, at its best learning rate."""

_FINAL = (DENSE, NINETY, NINETY_NINE)


@dataclass(frozen=True)
class Effort:
    """How much is trained.

    Attributes:
        seeds: of a sweep; `final` more for dense AdamS and SCAPE.
        widen: how often a sweep goes on where its best learning rate is its lowest or highest.
    """

    steps: int
    seeds: int
    final: int
    widen: int
    methods: tuple[str, ...] = tuple(METHODS)
    ablations: tuple[str, ...] = tuple(ABLATIONS)


WHOLE = Effort(steps=500, seeds=3, final=2, widen=2)
QUICK = Effort(6, 1, 1, 0, (DENSE, NINETY, NINETY_NINE), ("mask by chance",))


@dataclass(frozen=True)
class Swept:
    """A method's runs.

    Attributes:
        losses: at the end, by learning rate, seed by seed.
    """

    losses: Mapping[float, Sequence[float]]
    runs: Sequence[Trained]

    @property
    def best(self) -> float:
        """The learning rate whose losses' mean is lowest."""
        return min(self.losses, key=lambda lr: mean(self.losses[lr]))

    @property
    def at_edge(self) -> bool:
        """No higher or no lower one was tried."""
        return self.best in (min(self.losses), max(self.losses))


class Kept:
    """Runs in a folder, each trained once, as long as what defines it stays what it is.

    Attributes:
        trained: how many of them here and now.
    """

    def __init__(self, folder: Path, steps: int) -> None:
        self.trained = 0
        self._folder, self._steps = folder, steps
        self._text = Text()
        self._model = Model(self._text.letters)

    def run(self, name: str, make: Make, lr: float, seed: int) -> Trained:
        """One of them."""
        path = self._path(name, lr, seed)
        if (found := _read(path)) is not None:
            return found
        trained = train(make, self._model, self._text, self._steps, lr, seed)
        self.trained += 1
        files.write(path, asdict(trained))
        return trained

    def has(self, name: str, lr: float, seed: int) -> bool:
        """Whether it was trained before."""
        return _read(self._path(name, lr, seed)) is not None

    def _path(self, name: str, lr: float, seed: int) -> Path:
        plain = "".join(letter if letter.isalnum() else "-" for letter in name)
        return self._folder / f"{plain}.{self._steps}.{lr:g}.{seed}.{definition()}.json"


def _read(path: Path) -> Trained | None:
    try:
        told = files.read(path)
        return Trained([(at, loss) for at, loss in told["curve"]], told["sent"])
    except (ValueError, KeyError, TypeError):
        return None


@cache
def definition() -> str:
    """What makes a run what it is, beside its steps, learning rate and seed, in few letters: methods, model
    and training as they are written, and the versions of what they are made with (the text is Python's
    manual)."""
    ours = [Path(__file__).with_name(f"scape_{part}.py") for part in ("model", "plan", "runs")]
    theirs = sorted(Path(local.__file__).parent.glob("*.py"))
    return files.definition([*ours, *theirs], sys.version, np.__version__, torch.__version__)


def sweep(kept: Kept, effort: Effort, name: str, widen: int) -> Swept:
    """A method at learning rates that are twice each other, from its own on, down and up while that helps."""
    make, rates = METHODS[name][0], _first_rates(name, widen)
    swept = _of(kept, name, make, rates, range(1, effort.seeds + 1))
    while widen and swept.at_edge:
        rates.append(swept.best / 2 if swept.best == min(rates) else swept.best * 2)
        widen -= 1
        swept = _of(kept, name, make, rates, range(1, effort.seeds + 1))
    if name in _FINAL:
        more = range(1, effort.seeds + effort.final + 1)
        final = _of(kept, name, make, [swept.best], more)
        return Swept({**swept.losses, **final.losses}, final.runs)
    return swept


def ablation(kept: Kept, effort: Effort, name: str, lr: float) -> Swept:
    """SCAPE at 90 % otherwise."""
    return _of(kept, name, scape(ABLATIONS[name]), [lr], range(1, effort.seeds + 1))


Told = Callable[[str, int, bool], None]
"""What is over, in words; how many runs that were; whether they were trained now."""


def planned(effort: Effort) -> int:
    """Runs of a comparison, but for those by which sweeps are widened."""
    return (
        len(_first(effort))
        + effort.final * len(set(effort.methods) & set(_FINAL))
        + effort.seeds * len(effort.ablations)
    )


def compare(
    folder: Path, effort: Effort, jobs: int, told: Told = lambda what, runs, now: None
) -> tuple[dict[str, Swept], dict[str, Swept]]:
    """All methods, then all ablations; `jobs` processes."""
    with ProcessPoolExecutor(
        jobs, get_context("spawn"), initializer=_prepare, initargs=(os.getpid(),)
    ) as pool:
        try:
            return _compare(pool, folder, effort, told)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)  # those that have begun end, no other begins
            raise


def _compare(
    pool: ProcessPoolExecutor, folder: Path, effort: Effort, told: Told
) -> tuple[dict[str, Swept], dict[str, Swept]]:
    kept = Kept(folder, effort.steps)
    missing = [run for run in _first(effort) if not kept.has(*run)]
    if there := len(_first(effort)) - len(missing):
        told(f"{there} runs", there, False)
    waits = {pool.submit(_train, folder, effort, *run): run for run in missing}
    for each in as_completed(waits):
        name, lr, seed = waits[each]
        told(f"{name}, {lr:g}, seed {seed}: {each.result():.3f} nats", 1, True)
    methods: dict[str, Swept] = {}
    found = pool.map(partial(_sweep, folder, effort), effort.methods)
    for name, (swept, now) in zip(effort.methods, found, strict=True):
        methods[name] = swept
        told(f"{name}: best at {swept.best:g}", effort.final if name in _FINAL else 0, now)
    ablations: dict[str, Swept] = {}
    found = pool.map(partial(_ablation, folder, effort, methods[NINETY].best), effort.ablations)
    for name, (swept, now) in zip(effort.ablations, found, strict=True):
        ablations[name] = swept
        told(f"SCAPE, 90 %, but {name}", effort.seeds, now)
    return methods, ablations


def _first_rates(name: str, widen: int) -> list[float]:
    middle = METHODS[name][1]
    return [middle] if widen == 0 else [middle / 2, middle, middle * 2]


def _first(effort: Effort) -> list[tuple[str, float, int]]:
    """The runs that are known before any was made, as (method, learning rate, seed)."""
    return [
        (name, lr, seed)
        for seed in range(1, effort.seeds + 1)
        for name in effort.methods
        for lr in _first_rates(name, effort.widen)
    ]


def _train(folder: Path, effort: Effort, name: str, lr: float, seed: int) -> float:
    return Kept(folder, effort.steps).run(name, METHODS[name][0], lr, seed).loss


def _sweep(folder: Path, effort: Effort, name: str) -> tuple[Swept, bool]:
    kept = Kept(folder, effort.steps)
    swept = sweep(kept, effort, name, effort.widen)
    return swept, kept.trained > 0


def _ablation(folder: Path, effort: Effort, lr: float, name: str) -> tuple[Swept, bool]:
    kept = Kept(folder, effort.steps)
    return ablation(kept, effort, name, lr), kept.trained > 0


def _prepare(parent: int) -> None:
    end_with_parent(parent)
    torch.set_num_threads(1)


def _of(kept: Kept, name: str, make: Make, rates: Sequence[float], seeds: Sequence[int]) -> Swept:
    """The runs kept of it are those at the best learning rate."""
    runs = {lr: [kept.run(name, make, lr, seed) for seed in seeds] for lr in rates}
    swept = Swept({lr: [run.loss for run in of] for lr, of in runs.items()}, [])
    return Swept(swept.losses, runs[swept.best])
