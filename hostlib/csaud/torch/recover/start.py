"""From a model and its optimizer to a job that goes on when workers die."""

from collections.abc import Sequence
from typing import Any

import torch
from torch.nn.modules.batchnorm import _BatchNorm
from torch.optim import Optimizer

from csaud.errors import ConfigError
from csaud.recover.engine import Watch
from csaud.recover.start import BUCKET_BYTES, TIMEOUT, enter
from csaud.torch.recover.gradients import Gradients, check_reducible
from csaud.torch.recover.job import Job
from csaud.torch.recover.optimizer import Settings, ShardedOptimizer
from csaud.torch.recover.state import Stateful, States


def start(
    microbatches: int,
    model: torch.nn.Module,
    optimizer: Optimizer,
    state: Sequence[Stateful] = (),
    *,
    seed: int | None = 0,
    overlap: bool = True,
    in_order: bool = True,
    doors: str = "",
    timeout: float = TIMEOUT,
    bucket_bytes: int = BUCKET_BYTES,
    watch: Watch | None = None,
    **settings: Any,
) -> Job:
    """Start a worker, or join the job that runs.

    Args:
        microbatches: of a step, of all workers together; it stays the same whoever dies.
        model: on the CPU. Workers begin with the parameters and buffers of rank 0.
        optimizer: of the model's parameters: one of PyTorch's, whose state each worker has, or a
            ShardedOptimizer.
        state: what else a step changes, the same on all workers, such as schedulers of learning rates.
        seed: torch's random numbers follow from this, the step and the microbatch, whoever computes it;
            after the microbatches they are the same at all workers. None: they are left alone.
        overlap: gradients are reduced while the backward pass of a worker's last microbatch goes on; each
            microbatch has one backward pass then.
        others: as for `csaud.recover.start`; `watch` has "update" and "spread" of sharded optimizers, too.

    Raises:
        ConfigError: an argument or a setting is wrong; the model keeps statistics of what a worker has seen.
        RendezvousError: workers are missing; no door opened.
    """
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    _check(model, trained, optimizer)
    gradients = Gradients(trained, bucket_bytes, overlap)
    sharded = optimizer if isinstance(optimizer, ShardedOptimizer) else None
    whole: Stateful = optimizer if sharded is None else Settings(sharded)
    job = enter(
        lambda comm, joined, file: Job(
            gradients, seed, comm, joined, microbatches, gradients.buckets, gradients.mean,
            States([model, whole, *state]), in_order=in_order, timeout=timeout, watch=watch, doors=file,
            shards=None if sharded is None else sharded.parts, terms={"seed": seed},
        ),
        doors, timeout, settings,
    )  # fmt: skip
    if sharded is not None:
        sharded.serve(job._update)
    return job


def _check(model: torch.nn.Module, trained: Sequence[torch.nn.Parameter], optimizer: Optimizer) -> None:
    if not isinstance(optimizer, Optimizer):
        raise ConfigError(f"recover: optimizer is a {type(optimizer).__name__}: expected one of torch.optim")
    if reason := getattr(optimizer, "not_recovered", ""):
        raise ConfigError(f"recover: {type(optimizer).__name__}: {reason}")
    for name, module in model.named_modules():
        if isinstance(module, _BatchNorm) and module.track_running_stats:
            raise ConfigError(
                f"recover: {name or 'the model'} ({type(module).__name__}) keeps statistics of the "
                "microbatches that this worker computes, so weights would depend on who computes which: take "
                "track_running_stats=False, GroupNorm or LayerNorm"
            )
    for name, parameter in model.named_parameters():
        if parameter.device.type != "cpu" or not parameter.is_contiguous():
            raise ConfigError(f"recover: parameter {name}: expected a contiguous one on the CPU")
        if parameter.requires_grad and not check_reducible(parameter):
            raise ConfigError(f"recover: parameter {name}: gradients of {parameter.dtype} cannot be summed")
    known = {id(parameter) for parameter in trained}
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            if parameter.requires_grad and id(parameter) not in known:
                raise ConfigError("recover: the optimizer has a parameter that the model has not")
