"""Sparse averages of ranks that go on with weights of their own between them: SCAPE with our choices."""

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from csaud.errors import ConfigError
from csaud.scape.exchange import Ask, Asking, Late
from csaud.scape.masks import Mask, Parts
from csaud.scape.rules import AdamS, Rates

Vector = npt.NDArray[np.float32]
Statistic = Literal["moments", "momentum", "gradient", "chance"]
Values = Literal["float32", "bfloat16"]


@dataclass(frozen=True)
class Sparsity:
    """What is sent of weights, and when.

    Attributes:
        density: share of the weights that a mask has: 0.1 at 90 % sparsity.
        statistic: of which a mask has the highest: "moments", what has accumulated of normalised first
            moments, in weights, since a place was averaged last; "momentum", AdamS's first moment |m|;
            "gradient", |g|; "chance": none, every rank draws the same mask, and no message is needed.
        late: a mask is used in the step after the one it was chosen in, and its messages are under way
            meanwhile; otherwise in the same step, which waits for it.
        refresh: steps for which a mask is used.
        synchronised: first moments are averaged with the weights, in the same buffer, so that the second
            moments, which AdamS has of them, are of all ranks' gradients; otherwise each rank's are its own.
        values: what they are sent as; "bfloat16" needs the package ml_dtypes.
        seed: of masks by chance, and of the first one.
    """

    density: float = 0.1
    statistic: Statistic = "moments"
    late: bool = True
    refresh: int = 1
    synchronised: bool = True
    values: Values = "bfloat16"
    seed: int = 0

    def __post_init__(self) -> None:
        if self.statistic not in get_args(Statistic):
            raise ConfigError(f"scape: statistic={self.statistic!r}: expected {_one_of(Statistic)}")
        if self.values not in get_args(Values):
            raise ConfigError(f"scape: values={self.values!r}: expected {_one_of(Values)}")
        if self.refresh < 1:
            raise ConfigError(f"scape: refresh={self.refresh}: expected 1 or more")


class Local:
    """AdamS at every rank by its own gradients; under a mask, another one each step, the ranks' weights (and
    first moments) become their average. What is not averaged yet is not lost: it is in the weights of the
    rank that computed it. What is averaged is rounded to `Sparsity.values` where it is sent, summed and
    divided, and no rank keeps what that cuts off.

    Attributes:
        weights: this rank's. They are some way from the others', as far as is not averaged.
        steps: that were made.
    """

    def __init__(
        self, weights: Vector, rank: int, size: int, sparsity: Sparsity | None = None,
        rates: Rates | None = None,
    ) -> None:  # fmt: skip
        self.weights = weights
        self._sparsity = sparsity or Sparsity()
        self._rule = AdamS(weights.size, rates or Rates())
        self._common = weights.copy()  # where all ranks were when a place was averaged last
        self.steps = 0
        self._coming: tuple[Mask, Late | None] | None = None
        rows = 2 if self._sparsity.synchronised else 1
        self._buffer = np.zeros((rows, weights.size), _dtype(self._sparsity.values))
        self._mask: Mask = np.zeros(0, np.bool_)
        self._place(rank, size)

    def step(self, gradient: Vector, lr: float) -> Asking:
        """As `csaud.scape.method.Method`."""
        self._rule.update(self.weights, gradient, lr)
        choose = self.steps % self._sparsity.refresh == 0
        self.steps += 1
        if self._coming is not None:
            mask, handle = self._coming
            self._coming = None
            if handle is not None:
                handle.wait()
            self._mask = mask
        if choose and not self._sparsity.late:
            self._mask = yield from self._chosen(gradient)
        yield from self._average(self._mask)
        if choose and self._sparsity.late:
            yield from self._choose_late(gradient)

    def together(self) -> Asking:
        """As `csaud.scape.method.Method`."""
        own = self.weights, self._rule.momentum
        means = [vector.copy() for vector in own]  # of a collective that fails, parts of sums come back
        for mean in means:
            yield Ask("all_reduce", (mean,))
        for vector, mean in zip(own, means, strict=True):
            vector[:] = mean
        self._common[:] = self.weights

    def restart(self, rank: int, size: int) -> Asking:
        """As `csaud.scape.method.Method`. What a rank that is gone had not shared is lost with it."""
        steps = np.array([self.steps], np.float64)
        yield Ask("all_reduce", (steps,))
        yield from self.together()
        self.steps = int(steps[0])
        self._place(rank, size)

    def _place(self, rank: int, size: int) -> None:
        self._parts = Parts(self.weights.size, rank, size, self._sparsity.density)
        self._random = np.random.default_rng([self._sparsity.seed, self.steps])
        self._mask = self._parts.drawn(self._random)
        self._coming = None

    def _average(self, mask: Mask) -> Asking:
        places = np.flatnonzero(mask)
        buffer, moved = self._buffer, self.weights[places] - self._common[places]
        buffer[0, places] = moved
        if len(buffer) == 2:
            buffer[1, places] = self._rule.momentum[places]
        yield Ask("sparse_all_reduce", (buffer, np.broadcast_to(mask, buffer.shape)))
        self._common[places] += buffer[0, places].astype(np.float32)
        self.weights[places] = self._common[places]
        if len(buffer) == 2:
            self._rule.momentum[places] = buffer[1, places].astype(np.float32)

    def _chosen(self, gradient: Vector) -> Any:
        mask = self._choice(gradient)
        if self._sparsity.statistic != "chance":
            yield Ask("all_gather_mask", (mask,))
        return mask

    def _choose_late(self, gradient: Vector) -> Asking:
        mask = self._choice(gradient)
        handle = None
        if self._sparsity.statistic != "chance":
            handle = yield Ask("all_gather_mask", (mask,), late=True)
        self._coming = mask, handle

    def _choice(self, gradient: Vector) -> Mask:
        """A mask: this rank's part of it, or all of one by chance."""
        statistic, own = self._sparsity.statistic, self._parts.own
        if statistic == "chance":
            return self._parts.drawn(self._random)
        if statistic == "moments":
            score = self.weights[own] - self._common[own]
        else:
            score = self._rule.momentum[own] if statistic == "momentum" else gradient[own]
        return self._parts.highest(np.abs(score))


def _dtype(values: Values) -> np.dtype[Any]:
    if values == "float32":
        return np.dtype(np.float32)
    try:
        import ml_dtypes
    except ImportError:
        raise ConfigError(
            "scape: values='bfloat16' needs the package ml_dtypes: pip install 'csaud[torch]'"
        ) from None
    dtype: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
    return dtype


def _one_of(kind: Any) -> str:
    return " or ".join(repr(each) for each in get_args(kind))
