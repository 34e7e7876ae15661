"""What SCAPE is compared with: gradients averaged, whole or in part, and then one update at all ranks; and
sparse momenta without weights of one's own."""

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from csaud.errors import ConfigError
from csaud.scape.exchange import Ask, Asking
from csaud.scape.masks import Mask, Parts
from csaud.scape.rules import Rates

Vector = npt.NDArray[np.float32]

_BLOCK = 256  # values that have one scale, of 8 bits each


class Rule(Protocol):
    """AdamS or AdamW."""

    def update(self, weights: Vector, gradient: Vector, lr: float) -> None: ...


class Mean(Protocol):
    """A way to the mean of the ranks' gradients, or near it."""

    def of(self, gradient: Vector) -> Any:
        """A generator that asks for collectives and returns the same vector at all ranks."""


class ByGradients:
    """Weights are the same at all ranks: each makes the same update, of the same mean.

    Attributes:
        weights, steps: as `csaud.scape.method.Method`.
    """

    def __init__(self, weights: Vector, rule: Rule, mean: Mean) -> None:
        self.weights, self._rule, self._mean = weights, rule, mean
        self.steps = 0

    def step(self, gradient: Vector, lr: float) -> Asking:
        """As `csaud.scape.method.Method`."""
        self._rule.update(self.weights, (yield from self._mean.of(gradient)), lr)
        self.steps += 1

    def together(self) -> Asking:
        """As `csaud.scape.method.Method`: they are."""
        yield from ()

    def restart(self, rank: int, size: int) -> Asking:
        """As `csaud.scape.method.Method`: it cannot."""
        raise ConfigError("scape: a baseline does not go on after a death; Scape does")


class Dense:
    """All of it."""

    def of(self, gradient: Vector) -> Any:
        """As `Mean`."""
        mean = gradient.copy()
        yield Ask("all_reduce", (mean,))
        return mean


class TopK:
    """Each rank's largest values with their places; what a rank has not sent it adds to its next gradient:
    the sparsification and error feedback of DGC (arXiv 1712.01887), before Adam-like rules, whose momentum
    takes the place of DGC's.

    Args:
        density: share of the places that a rank sends.
    """

    def __init__(self, count: int, density: float) -> None:
        self._sent = max(1, round(count * density))
        self._kept: Vector = np.zeros(count, np.float32)

    def of(self, gradient: Vector) -> Any:
        """As `Mean`."""
        kept, sent = self._kept, self._sent
        kept += gradient
        places = np.argpartition(np.abs(kept), kept.size - sent)[kept.size - sent :]
        message = np.empty((2, sent), np.uint32)
        message[0], message[1] = places, kept[places].view(np.uint32)
        kept[places] = 0
        told = yield Ask("all_gather", (message,))
        mean = np.zeros_like(gradient)
        for one in told:
            mean[one[0]] += one[1].view(np.float32)
        mean /= np.float32(len(told))
        return mean


class Chance:
    """Places by chance, the same at all ranks, so that values alone are sent; with error feedback.

    Args:
        density: share of the places.
    """

    def __init__(self, count: int, rank: int, size: int, density: float, seed: int = 0) -> None:
        self._parts = Parts(count, rank, size, density)
        self._random = np.random.default_rng(seed)
        self._kept: Vector = np.zeros(count, np.float32)

    def of(self, gradient: Vector) -> Any:
        """As `Mean`."""
        self._kept += gradient
        mask = self._parts.drawn(self._random)
        values = np.where(mask, self._kept, np.float32(0))
        self._kept[mask] = 0
        yield Ask("sparse_all_reduce", (values, mask))
        return values


class EightBits:
    """Values of 8 bits, with a scale for each 256 of them (nearest, error feedback): each rank sends every
    other one its part, and then the mean of its own part to all.

    Args:
        count: of places; those of a part are a multiple of 256, the last ones empty.
    """

    def __init__(self, count: int, rank: int, size: int) -> None:
        self._length = -(-count // (size * _BLOCK)) * _BLOCK
        self._rank, self._size = rank, size
        self._kept: Vector = np.zeros((size, self._length), np.float32)
        self._kept_of_mean: Vector = np.zeros(self._length, np.float32)

    def of(self, gradient: Vector) -> Any:
        """As `Mean`."""
        kept = self._kept
        kept.reshape(-1)[: gradient.size] += gradient
        message = np.stack([_coded(part) for part in kept])
        kept -= np.stack([_decoded(part) for part in message])
        parts = yield Ask("all_to_all", (message,))
        mean = self._kept_of_mean
        mean += sum(_decoded(part) for part in parts) / np.float32(self._size)
        own = _coded(mean)
        mean -= _decoded(own)
        told = yield Ask("all_gather", (own,))
        return np.concatenate([_decoded(part) for part in told])[: gradient.size]


class Momenta:
    """AdamS where weights outside the mask wait: each rank has momenta of its own gradients; under the mask
    they become their mean, from which alone the update is made: g = (m - beta1 m') / (1 - beta1), with m' the
    mean that this place had last. Our reading of what is published of SCAPE (arXiv 2607.01678). Masks are of
    the step before, each rank's part by its own |m|.

    Args:
        density: share of the places under a mask.
    """

    def __init__(self, weights: Vector, rank: int, size: int, density: float, rates: Rates) -> None:
        self.weights, self._rates = weights, rates
        self.steps = 0
        self._parts = Parts(weights.size, rank, size, density)
        self._own: Vector = np.zeros_like(weights)
        self._last: Vector = np.zeros_like(weights)
        self._mask: Mask = self._parts.drawn(np.random.default_rng(0))
        self._handle: Any = None

    def step(self, gradient: Vector, lr: float) -> Asking:
        """As `csaud.scape.method.Method`."""
        rates, own = self._rates, self._own
        own *= np.float32(rates.beta1)
        own += np.float32(1 - rates.beta1) * gradient
        if self._handle is not None:
            self._handle.wait()
        places = np.flatnonzero(self._mask)
        yield Ask("sparse_all_reduce", (own, self._mask))
        before, mean = self._last[places], own[places]
        input_ = (mean - np.float32(rates.beta1) * before) / np.float32(1 - rates.beta1)
        second = np.float32(rates.beta2) * before**2 + np.float32(1 - rates.beta2) * input_**2
        if rates.weight_decay:
            self.weights[places] *= np.float32(1 - lr * rates.weight_decay)
        self.weights[places] -= np.float32(lr) * mean / (np.sqrt(second) + np.float32(rates.eps))
        self._last[places] = mean
        score = np.abs(own[self._parts.own])
        score[self._mask[self._parts.own]] = 0  # others come first
        self._mask = self._parts.highest(score)
        self._handle = yield Ask("all_gather_mask", (self._mask,), late=True)
        self.steps += 1

    def together(self) -> Asking:
        """As `csaud.scape.method.Method`: they are."""
        yield from ()

    def restart(self, rank: int, size: int) -> Asking:
        """As `csaud.scape.method.Method`: it cannot."""
        raise ConfigError("scape: a baseline does not go on after a death; Scape does")


def _coded(values: Vector) -> npt.NDArray[np.uint8]:
    """Bytes of values, a multiple of 256, and after them their scales."""
    blocks = values.reshape(-1, _BLOCK)
    scales = np.maximum(np.abs(blocks).max(axis=1), np.float32(1e-30)) / np.float32(127)
    rounded = np.rint(blocks / scales[:, None]).astype(np.int8)
    return np.concatenate([rounded.reshape(-1).view(np.uint8), scales.astype(np.float32).view(np.uint8)])


def _decoded(message: npt.NDArray[np.uint8]) -> Vector:
    blocks = message.size // (_BLOCK + 4)
    values = message[: blocks * _BLOCK].view(np.int8).reshape(blocks, _BLOCK)
    scales = np.frombuffer(message[blocks * _BLOCK :].tobytes(), np.float32)
    decoded: Vector = (values * scales[:, None]).reshape(-1)
    return decoded
