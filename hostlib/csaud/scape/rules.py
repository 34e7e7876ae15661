"""How a gradient becomes a change of weights: AdamS and AdamW, on vectors."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Rates:
    """What both rules have.

    Attributes:
        beta1, beta2: of the first and the second moment.
        eps: added to the root of the second moment.
        weight_decay: decoupled: weights shrink by lr times this.
    """

    beta1: float = 0.9
    beta2: float = 0.95
    eps: float = 1e-8
    weight_decay: float = 0.0


class AdamS:
    """Adam with momentum itself in the second moment's place (arXiv 2505.16363, known to us from second-hand
    accounts): v = beta2 m'^2 + (1 - beta2) g^2 with m' the momentum before this step, m = beta1 m' +
    (1 - beta1) g, w -= lr (m / (sqrt(v) + eps) + weight_decay w). There is no correction of bias.

    Attributes:
        momentum: m, all of its state.
    """

    def __init__(self, count: int, rates: Rates) -> None:
        self.momentum: Vector = np.zeros(count, np.float32)
        self._rates = rates

    def update(self, weights: Vector, gradient: Vector, lr: float) -> None:
        """Change `weights` in place."""
        rates, m = self._rates, self.momentum
        root = _square_sum(rates.beta2, m, 1 - rates.beta2, gradient)
        np.sqrt(root, out=root)
        root += np.float32(rates.eps)
        m *= np.float32(rates.beta1)
        m += np.float32(1 - rates.beta1) * gradient
        np.divide(m, root, out=root)
        root *= np.float32(lr)
        if rates.weight_decay:
            weights *= np.float32(1 - lr * rates.weight_decay)
        weights -= root


class AdamW:
    """Adam with decoupled weight decay and corrected bias (arXiv 1711.05101)."""

    def __init__(self, count: int, rates: Rates) -> None:
        self._m: Vector = np.zeros(count, np.float32)
        self._v: Vector = np.zeros(count, np.float32)
        self._rates, self._steps = rates, 0

    def update(self, weights: Vector, gradient: Vector, lr: float) -> None:
        """Change `weights` in place."""
        rates = self._rates
        self._steps += 1
        self._m *= np.float32(rates.beta1)
        self._m += np.float32(1 - rates.beta1) * gradient
        self._v *= np.float32(rates.beta2)
        self._v += np.float32(1 - rates.beta2) * gradient * gradient
        root = np.sqrt(self._v / np.float32(1 - rates.beta2**self._steps)) + np.float32(rates.eps)
        if rates.weight_decay:
            weights *= np.float32(1 - lr * rates.weight_decay)
        weights -= np.float32(lr / (1 - rates.beta1**self._steps)) * self._m / root


def _square_sum(a: float, x: Vector, b: float, y: Vector) -> Vector:
    """a x^2 + b y^2."""
    total = x * x
    total *= np.float32(a)
    other = y * y
    other *= np.float32(b)
    total += other
    return total
