"""Training that goes on when workers die (docs/training.md).

with csaud.recover.start(16, parameters) as job:
    for step in job.steps(1000):
        for number in step:
            step.add(gradients_of(step.index, number))
        for parameter, gradient in zip(parameters, step.gradients):
            parameter -= 0.1 * gradient
"""

from csaud.recover.job import Job, Step
from csaud.recover.start import start

__all__ = ["Job", "Step", "start"]
