"""A job whose gradients are arrays of numpy."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from csaud.errors import ConfigError
from csaud.recover.engine import Engine

Array = npt.NDArray[Any]


class Job(Engine):
    """One worker's part; made by `csaud.recover.start`. A context manager: leaving it closes the job."""

    def steps(self, count: int) -> Iterator["Step"]:
        """Steps 0 to count - 1; for a worker that comes later, from the one that the others are at. All that
        changes the state belongs into the body of the loop, after the microbatches.

        Raises:
            NoQuorum, Evicted: too few workers are left, or they have gone on without this one.
            ConfigError: a step was left before its microbatches were done.
        """
        for index in self._indices(count):
            yield Step(self, index)


class Step:
    """One step; iterating gives the numbers of the microbatches that this worker computes. There are more
    after a death, and when there are no more, the gradient is complete on all workers.

    Attributes:
        index: 0 <= index < count.
    """

    def __init__(self, job: Job, index: int) -> None:
        self.index = index
        self._job = job
        self._number: int | None = None

    def __iter__(self) -> Iterator[int]:
        try:
            for number in self._job._numbers(self.index):
                self._number = number
                yield number
        finally:
            self._number = None

    def add(self, gradients: Sequence[Array]) -> None:
        """The gradient of the microbatch under way: an array for each parameter, which are copied.

        Raises:
            ConfigError: there is none under way, or the arrays are not as the parameters.
        """
        if self._number is None:
            raise ConfigError("recover: add() belongs into the loop over a step's microbatches, once in each")
        places = self._job._buckets.places
        if [np.shape(gradient) for gradient in gradients] != [place.shape for place in places]:
            raise ConfigError(
                f"recover: gradients of shapes {[np.shape(gradient) for gradient in gradients]}, "
                f"parameters have {[place.shape for place in places]}"
            )
        kept = self._job._buckets.make()
        for view, gradient in zip(self._job._buckets.views(kept), gradients, strict=True):
            np.copyto(view, gradient, casting="same_kind")
        number, self._number = self._number, None
        for bucket, array in enumerate(kept):
            self._job._put(number, bucket, array)
        self._job._computed(number)

    @property
    def gradients(self) -> list[Array]:
        """The mean over the step's microbatches, an array for each parameter; of meaning after the loop over
        them, until the next step."""
        return self._job._buckets.views(self._job._reduced)
