"""Training that goes on when workers die: a linear classifier, whose weights come out as without any death.

csaud recover --workers 4 --returns 1 -- python examples/recover.py --deaths 2
"""

import argparse
import hashlib
import os
import signal

import numpy as np
from csaud import recover

MICROBATCHES, STEPS = 8, 30

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--deaths", type=int, default=0, help="workers that kill themselves on the way")
deaths = parser.parse_args().deaths

weights, bias = np.zeros((64, 4), np.float32), np.zeros(4, np.float32)
truth = np.random.default_rng(0).normal(size=(64, 4))

with recover.start(MICROBATCHES, [weights, bias], dead_after=1.0) as job:
    rank = int(os.environ.get("RANK", -1))  # at the start; one that returns has none
    for step in job.steps(STEPS):
        losses = []
        for number in step:  # those of this worker; more of them when another one dies
            if 0 < rank <= deaths and step.index == 10 * rank:
                os.kill(os.getpid(), signal.SIGKILL)
            inputs = np.random.default_rng([step.index, number]).normal(size=(128, 64)).astype(np.float32)
            scores = np.exp(inputs @ weights + bias)
            wrong = scores / scores.sum(axis=1, keepdims=True) - np.eye(4)[np.argmax(inputs @ truth, axis=1)]
            losses.append(np.square(wrong).sum(axis=1).mean())
            step.add([inputs.T @ wrong / 128, wrong.mean(axis=0)])
        for parameter, gradient in zip((weights, bias), step.gradients, strict=True):
            parameter -= 2 * gradient
        if job.rank == 0 and step.index % 5 == 4:
            print(f"step {step.index}: {job.size} workers, loss {np.mean(losses):.3f}")
    if job.rank == 0:
        print(f"weights {hashlib.sha256(weights.tobytes() + bias.tobytes()).hexdigest()[:16]}")
