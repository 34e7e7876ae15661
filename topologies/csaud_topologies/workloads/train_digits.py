"""Data-parallel training on handwritten digits: each rank's gradient of its shard, summed by
all-reduce.
"""

from __future__ import annotations

import gzip
import hashlib
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from csaud_topologies.workloads.mlp import Floats, Labels, Mlp, MomentumSgd, settled
from csaud_topologies.workloads.protocol import Communicator, Emit, Main, RingSum
from csaud_topologies.workloads.specs import TrainDigits

_CLASSES = 10
_TEST_SAMPLES = 360
# 1,797 rows of 64 pixels from 0 to 16 and the digit: the test part of E. Alpaydin and C. Kaynak's "Optical
# Recognition of Handwritten Digits" (1998, UCI Machine Learning Repository, CC BY 4.0).
_DIGITS = Path(__file__).with_name("digits.csv.gz")


class Digits:
    """The data set, shuffled by seed and cut in a training and a test part."""

    def __init__(self, path: Path, seed: int) -> None:
        with np.load(path) as stored:
            x: Floats = stored["x"]
            labels: Labels = stored["labels"]
        order = np.random.default_rng(seed).permutation(len(x))
        x, labels = x[order], labels[order]
        self.test_x, self.test_labels = x[:_TEST_SAMPLES], labels[:_TEST_SAMPLES]
        self._x, self._labels = x[_TEST_SAMPLES:], labels[_TEST_SAMPLES:]

    @property
    def inputs(self) -> int:
        """Values of one sample."""
        return int(self._x.shape[1])

    def batch(self, rank: int, world: int, step: int, size: int) -> tuple[Floats, Labels]:
        """Samples of one rank's shard (every world-th one) for one step, going round in order."""
        shard_x, shard_labels = self._x[rank::world], self._labels[rank::world]
        rows = (step * size + np.arange(size)) % len(shard_x)
        return shard_x[rows], shard_labels[rows]


class Training:
    """The state that every rank holds, and that the reference holds once."""

    def __init__(self, spec: TrainDigits, seed: int, folder: Path) -> None:
        self.spec = spec
        self.digits = Digits(folder / "digits.npz", seed)
        self.model = Mlp([self.digits.inputs, *spec.hidden, _CLASSES], seed)
        self._optimizer = MomentumSgd(self.model.size, spec.learning_rate, spec.momentum)
        self._sums = hashlib.sha256()  # weights alone would hide an error that rounding swallows

    def gradient(self, rank: int, world: int, step: int) -> float:
        """Compute one rank's gradient into model.gradient; its loss."""
        return self.model.loss_and_gradient(*self.digits.batch(rank, world, step, self.spec.batch))

    def update(self, gradient_sum: Floats, world: int) -> None:
        """Apply the summed gradient."""
        self._sums.update(settled(gradient_sum).data)
        self._optimizer.step(self.model.parameters, gradient_sum, world)

    def test_accuracy(self) -> float:
        """Accuracy on the test part."""
        return self.model.accuracy(self.digits.test_x, self.digits.test_labels)

    def result(self) -> dict[str, Any]:
        """What must be equal on every rank and in the reference, bit by bit."""
        weights = hashlib.sha256(settled(self.model.parameters).data).hexdigest()
        digest = hashlib.sha256(f"{weights} {self._sums.hexdigest()}".encode()).hexdigest()
        return {"digest": digest, "weights_sha256": weights, "parameters": self.model.size}


class TrainDigitsWorkload:
    """Train a multilayer perceptron on handwritten digits, data-parallel."""

    def prepare(self, spec: TrainDigits, seed: int, folder: Path) -> None:
        """Unpack the data set once for all ranks."""
        with _DIGITS.open("rb") as packed, gzip.open(packed, "rt") as rows:
            table = np.loadtxt(rows, dtype=np.int64, delimiter=",")
        x = (table[:, :-1] / 16).astype(np.float32)
        np.savez(folder / "digits.npz", x=x, labels=table[:, -1])

    def work(
        self, comm: Communicator, spec: TrainDigits, seed: int, folder: Path, emit: Emit
    ) -> dict[str, Any]:
        """One rank: gradient of its own shard, all-reduce, update."""
        training = Training(spec, seed, folder)
        for step in range(spec.steps):
            loss = training.gradient(comm.rank, comm.size, step)
            begun = time.monotonic()
            comm.all_reduce(training.model.gradient)
            spent = time.monotonic() - begun
            training.update(training.model.gradient, comm.size)
            accuracy = training.test_accuracy() if comm.rank == 0 else None
            emit(
                "step",
                step=step,
                loss=loss,
                accuracy=accuracy,
                all_reduce_s=spent,
                bytes=training.model.gradient.nbytes,
            )
        return training.result()

    def reference(
        self, spec: TrainDigits, seed: int, world: int, folder: Path, ring_sum: RingSum
    ) -> dict[str, Any]:
        """One process: the gradients of all shards, summed in ring order."""
        training = Training(spec, seed, folder)
        for step in range(spec.steps):
            gradients = []
            for rank in range(world):
                training.gradient(rank, world, step)
                gradients.append(training.model.gradient.copy())
            training.update(ring_sum(gradients), world)
        return {**training.result(), "accuracy": training.test_accuracy()}


if __name__ == "__main__":
    sys.exit(Main(TrainDigitsWorkload(), TrainDigits)())
