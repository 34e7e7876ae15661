"""A job whose gradients come by the backward pass of PyTorch."""

import hashlib
from collections.abc import Iterator
from functools import partial
from typing import Any

import torch

from csaud.recover.engine import Engine
from csaud.torch.recover.gradients import Gradients


class Job(Engine):
    """One worker's part; made by `csaud.torch.recover.start`. A context manager: leaving it closes the job.

    Args:
        gradients: of the model.
        seed: from which those of torch's random numbers follow; None: they are left alone.
        others: as for `csaud.recover.engine.Engine`.
    """

    def __init__(self, gradients: Gradients, seed: int | None, *others: Any, **named: Any) -> None:
        super().__init__(*others, **named)
        self._gradients, self._seed = gradients, seed

    def steps(self, count: int) -> Iterator["Step"]:
        """Steps 0 to count - 1; for a worker that comes later, from the one that the others are at. All that
        changes model or optimizer belongs into the body of the loop, after the microbatches.

        Raises:
            NoQuorum, Evicted: too few workers are left, or they have gone on without this one.
            RendezvousError: all workers that held a part of the state are gone.
            ConfigError: a step was left before its microbatches, or the sharded optimizer's, were done.
        """
        with self._gradients.hooked():
            for index in self._indices(count):
                yield Step(self, index)

    def _microbatches_of(self, step: int) -> Iterator[int]:
        with self._gradients.replaced():
            for number in self._numbers(step):
                self._seed_for(step, number)
                self._gradients.begin(partial(self._put, number))
                yield number
                self._gradients.end()
                self._computed(number)
        self._gradients.show()
        self._seed_for(step, self._microbatches)

    def _seed_for(self, step: int, number: int) -> None:
        if self._seed is not None:
            digest = hashlib.blake2b(f"{self._seed} {step} {number}".encode(), digest_size=8).digest()
            # Not torch.manual_seed, which keeps a stack trace for each kind of device that is not in use yet:
            # 3 ms a microbatch, and they pile up.
            torch.default_generator.manual_seed(int.from_bytes(digest, "little") >> 1)


class Step:
    """One step; iterating gives the numbers of the microbatches that this worker computes, each of which has
    its backward pass in the loop's body. There are more after a death. After the loop every parameter's
    `.grad` is the mean over the step's microbatches, at all workers.

    Attributes:
        index: 0 <= index < count.
    """

    def __init__(self, job: Job, index: int) -> None:
        self.index = index
        self._job = job

    def __iter__(self) -> Iterator[int]:
        return self._job._microbatches_of(self.index)
