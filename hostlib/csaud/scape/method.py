"""One rank's part of a method of training; no I/O: what it wants of other ranks it asks for."""

from typing import Protocol

import numpy as np
import numpy.typing as npt

from csaud.scape.exchange import Asking

Vector = npt.NDArray[np.float32]


class Method(Protocol):
    """A way to train in which ranks have gradients of their own.

    Attributes:
        weights: of this rank, one vector, changed in place; the same at all ranks where training begins.
        steps: that were made.
    """

    weights: Vector
    steps: int

    def step(self, gradient: Vector, lr: float) -> Asking:
        """One step.

        Args:
            gradient: of this rank's samples at `weights`; left as it is.
        """

    def together(self) -> Asking:
        """Have the same weights at all ranks, the average of theirs."""

    def restart(self, rank: int, size: int) -> Asking:
        """Go on as `rank` of `size` ranks that are left, some of which may have ended a step that others have
        not.

        Raises:
            ConfigError: this method cannot.
        """
