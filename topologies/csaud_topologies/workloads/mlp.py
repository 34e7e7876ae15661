"""A multilayer perceptron in plain numpy float32, its parameters and gradients in one flat array each.

The same inputs give the same bits in every process of one machine, as long as the BLAS uses one thread.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Labels = NDArray[np.int64]


class Mlp:
    """ReLU layers of the given widths (input first, classes last) and softmax cross-entropy."""

    def __init__(self, widths: list[int], seed: int) -> None:
        """He-initialised weights from `seed`, zero biases."""
        self.widths = widths
        self.size = sum(i * o + o for i, o in pairwise(widths))
        self.parameters: Floats = np.zeros(self.size, np.float32)
        self.gradient: Floats = np.zeros(self.size, np.float32)
        self._layers = self._views(self.parameters)
        self._gradients = self._views(self.gradient)
        random = np.random.default_rng(seed)
        for weights, _ in self._layers:
            scale = np.float32(np.sqrt(2 / weights.shape[0]))
            weights[:] = random.standard_normal(weights.shape, np.float32) * scale

    def _views(self, flat: Floats) -> list[tuple[Floats, Floats]]:
        """(weights of shape (in, out), bias of shape (out,)) of each layer, as views into the flat array."""
        views = []
        at = 0
        for inputs, outputs in pairwise(self.widths):
            weights = flat[at : at + inputs * outputs].reshape(inputs, outputs)
            at += inputs * outputs
            views.append((weights, flat[at : at + outputs]))
            at += outputs
        return views

    def _forward(self, x: Floats) -> list[Floats]:
        """The input of each layer, then the logits."""
        activations = [x]
        for index, (weights, bias) in enumerate(self._layers):
            x = x @ weights + bias
            if index < len(self._layers) - 1:
                np.maximum(x, 0, out=x)
            activations.append(x)
        return activations

    def loss_and_gradient(self, x: Floats, labels: Labels) -> float:
        """Mean cross-entropy over the batch; its gradient is left in `self.gradient`. x has shape (batch,
        inputs).
        """
        *activations, logits = self._forward(x)
        logits = logits - logits.max(axis=1, keepdims=True)
        exponentials = np.exp(logits)
        probabilities = exponentials / exponentials.sum(axis=1, keepdims=True)
        rows = np.arange(len(labels))
        loss = -float(np.log(probabilities[rows, labels] + np.float32(1e-12)).mean())
        delta = probabilities
        delta[rows, labels] -= 1
        delta /= np.float32(len(labels))
        for (weights, _), (grad_w, grad_b), inputs in zip(
            reversed(self._layers), reversed(self._gradients), reversed(activations), strict=True
        ):
            np.matmul(inputs.T, delta, out=grad_w)
            delta.sum(axis=0, out=grad_b)
            delta = (delta @ weights.T) * (inputs > 0)
        return loss

    def accuracy(self, x: Floats, labels: Labels) -> float:
        """Share of rows whose largest logit is the label's."""
        return float((self._forward(x)[-1].argmax(axis=1) == labels).mean())


def settled(values: Floats) -> Floats:
    """The same with every NaN in one form: which of two NaNs a sum keeps, numpy's too, follows from its place
    in a register, so that their bits say nothing of what was sent."""
    missing = np.isnan(values)
    return np.where(missing, np.float32(np.nan), values) if missing.any() else values


class MomentumSgd:
    """w <- w - rate * v with v <- momentum * v + gradient / ranks, in place, the same operations on every
    rank.
    """

    def __init__(self, size: int, rate: float, momentum: float) -> None:
        self.velocity: Floats = np.zeros(size, np.float32)
        self.rate = np.float32(rate)
        self.momentum = np.float32(momentum)

    def step(self, parameters: Floats, gradient_sum: Floats, ranks: int) -> None:
        """Apply one step with the gradients' sum over all ranks."""
        self.velocity *= self.momentum
        self.velocity += gradient_sum / np.float32(ranks)
        parameters -= self.rate * self.velocity
