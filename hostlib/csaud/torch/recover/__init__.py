"""Training by PyTorch that goes on when workers die (docs/training.md).

from csaud.torch import recover

with recover.start(16, model, optimizer) as job:
    for step in job.steps(1000):
        for number in step:
            loss_of(model, step.index, number).backward()
        optimizer.step()
"""

from csaud.torch.recover.job import Job, Step
from csaud.torch.recover.optimizer import ShardedOptimizer
from csaud.torch.recover.start import start

__all__ = ["Job", "ShardedOptimizer", "Step", "start"]
