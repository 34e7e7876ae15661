"""Training by N ranks in one process, with their arithmetic: each rank has its own samples, gradient and
state, and sums are added up in the order of the group's algorithms."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from csaud.scape.baselines import ByGradients, Chance, Dense, EightBits, Mean, Momenta, Rule, TopK
from csaud.scape.exchange import Traffic, lockstep
from csaud.scape.local import Local, Sparsity
from csaud.scape.method import Method
from csaud.scape.rules import AdamS, AdamW, Rates

from bench.scape_model import CONTEXT, Model, Text

Vector = npt.NDArray[np.float32]
Make = Callable[[Vector, int, int], Method]

RANKS, PIECES = 4, 2
_RATES = Rates()
_WARM_UP = 50  # steps in which the learning rate grows
_END = 0.1  # of the learning rate, at the end of a cosine


@dataclass(frozen=True)
class Trained:
    """What came of a run.

    Attributes:
        curve: (letters read by all ranks, validation loss), the last one at the end.
        sent: bytes of payload that a rank sends in a step, in the mean.
    """

    curve: list[tuple[int, float]]
    sent: float

    @property
    def loss(self) -> float:
        """At the end."""
        return self.curve[-1][1]


def by_gradients(rule: str, mean: str = "dense", density: float = 1.0) -> Make:
    """A method that averages gradients."""

    def make(weights: Vector, rank: int, size: int) -> Method:
        count = weights.size
        kind: Rule = AdamS(count, _RATES) if rule == "AdamS" else AdamW(count, _RATES)
        ways: dict[str, Callable[[], Mean]] = {
            "dense": Dense,
            "top-k": lambda: TopK(count, density),
            "chance": lambda: Chance(count, rank, size, density),
            "8 bits": lambda: EightBits(count, rank, size),
        }
        return ByGradients(weights, kind, ways[mean]())

    return make


def momenta(density: float) -> Make:
    """Sparse momenta; weights outside the mask wait."""
    return lambda weights, rank, size: Momenta(weights, rank, size, density, _RATES)


def scape(sparsity: Sparsity) -> Make:
    """SCAPE with our choices."""
    return lambda weights, rank, size: Local(weights, rank, size, sparsity, _RATES)


def train(make: Make, model: Model, text: Text, steps: int, lr: float, seed: int, points: int = 4) -> Trained:
    """One run.

    Args:
        lr: the highest; it grows for 50 steps and falls by a cosine to a tenth.
        points: of the curve.
    """
    begin = model.weights(seed)
    every = np.stack([begin] * RANKS)
    ranks = [make(every[rank], rank, RANKS) for rank in range(RANKS)]
    held, traffic, curve = text.validation(150), Traffic(), []
    for step in range(steps):
        pieces = np.stack([text.pieces(PIECES, seed, step, rank) for rank in range(RANKS)])
        gradients = model.gradients(every, pieces)
        now = lr * min(1.0, (step + 1) / _WARM_UP)
        now *= _END + (1 - _END) * (1 + math.cos(math.pi * step / steps)) / 2
        lockstep([each.step(own, now) for each, own in zip(ranks, gradients, strict=True)], traffic)
        if step + 1 == steps:
            lockstep([each.together() for each in ranks])
        if (step + 1) % max(1, steps // points) == 0 or step + 1 == steps:
            mean = every.mean(axis=0, dtype=np.float64).astype(np.float32)
            curve.append(((step + 1) * RANKS * PIECES * CONTEXT, model.loss(mean, held)))
    return Trained(curve, traffic.total / steps)
