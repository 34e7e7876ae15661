"""What ranks do in tests of training: DDP, FSDP2 and DTensor, beside gloo."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist

from tests.torch_backend.cases import gloo, same, values

_models: list[Any] = []


def _trained(model: Any, steps: int = 4) -> list[list[float]]:
    """Gradients of each step; inputs are others on each rank."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    found = []
    for step in range(steps):
        optimizer.zero_grad()
        model(values(torch.float32, 16, 32, seed=step)).square().mean().backward()
        found.append([float(p.grad.to_local().sum() if hasattr(p.grad, "to_local") else p.grad.sum())
                      for p in model.parameters()])  # fmt: skip
        optimizer.step()
    return found


def _model() -> Any:
    torch.manual_seed(3)
    return torch.nn.Sequential(
        torch.nn.Linear(32, 64),
        torch.nn.GELU(),
        torch.nn.Linear(64, 64),
        torch.nn.GELU(),
        torch.nn.Linear(64, 8),
    )


def _weights(model: Any) -> list[torch.Tensor]:
    return [p.full_tensor() if hasattr(p, "full_tensor") else p.detach() for p in model.parameters()]


def ddp_beside_gloo() -> None:
    """Small buckets, so that several are in flight while the backward pass goes on."""
    models = []
    for group in (None, gloo()):
        model = torch.nn.parallel.DistributedDataParallel(
            _model(), process_group=group, bucket_cap_mb=0.01, gradient_as_bucket_view=group is None
        )
        models.append((model, _trained(model)))
    (ours, our_gradients), (theirs, their_gradients) = models
    assert our_gradients == their_gradients
    for mine, other in zip(_weights(ours), _weights(theirs), strict=True):
        same(mine, other)


def ddp_compiled() -> None:
    """By dynamo, which sees the calls of the process group that are made under a frame of the model."""
    model = torch.nn.parallel.DistributedDataParallel(_model())
    plain = torch.nn.parallel.DistributedDataParallel(_model())
    assert _trained(torch.compile(model, backend="aot_eager")) == _trained(plain)


def ddp_of_half_precision_gradients() -> None:
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks

    models = []
    for group in (None, gloo()):
        model = torch.nn.parallel.DistributedDataParallel(_model(), process_group=group)
        model.register_comm_hook(group, default_hooks.fp16_compress_hook)
        models.append((model, _trained(model)))
    for mine, other in zip(_weights(models[0][0]), _weights(models[1][0]), strict=True):
        same(mine, other)


def ddp_of_gradients_of_low_rank() -> None:
    """PowerSGD, whose callbacks wait for collectives."""
    from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook

    models = []
    for group in (None, gloo()):
        model = torch.nn.parallel.DistributedDataParallel(_model(), process_group=group)
        state = powerSGD_hook.PowerSGDState(group, start_powerSGD_iter=2, min_compression_rate=1)
        model.register_comm_hook(state, powerSGD_hook.powerSGD_hook)
        models.append((model, _trained(model)))
    for mine, other in zip(_weights(models[0][0]), _weights(models[1][0]), strict=True):
        same(mine, other)


def fsdp_beside_gloo(replicas: int = 1) -> None:
    """FSDP2, gradients clipped over all shards; with replicas as HSDP, whose mesh has two dimensions."""
    from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
    from torch.distributed.fsdp import fully_shard

    size, device = dist.get_world_size(), torch.get_default_device().type
    found = []
    for backend in ("csaud", "gloo"):
        if replicas > 1:
            mesh = init_device_mesh(
                device, (replicas, size // replicas), mesh_dim_names=("replicate", "shard"),
                backend_override={"replicate": backend, "shard": backend},
            )  # fmt: skip
        else:
            group = None if backend == "csaud" else gloo()
            mesh = DeviceMesh.from_group(group or dist.group.WORLD, device, mesh_dim_names=("shard",))
        model = _model()
        for layer in model:
            if isinstance(layer, torch.nn.Linear):
                fully_shard(layer, mesh=mesh)
        fully_shard(model, mesh=mesh)
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        for step in range(3):
            optimizer.zero_grad()
            model(values(torch.float32, 16, 32, seed=step)).square().mean().backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
            optimizer.step()
        found.append(_weights(model))
    for mine, other in zip(*found, strict=True):
        if size == 2:
            same(mine, other)
        else:
            torch.testing.assert_close(mine, other, rtol=1e-5, atol=1e-6)


def dtensors() -> None:
    """Redistribution between all kinds of placement."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Partial, Replicate, Shard, distribute_tensor

    size = dist.get_world_size()
    mesh = init_device_mesh(torch.get_default_device().type, (size,))
    whole = torch.arange(4.0 * size * size).reshape(2 * size, 2 * size)
    shards = distribute_tensor(whole, mesh, [Shard(0)])
    columns = shards.redistribute(mesh, [Shard(1)])
    same(columns.to_local(), whole.chunk(size, dim=1)[dist.get_rank()])
    same(columns.redistribute(mesh, [Replicate()]).to_local(), whole)
    product = shards.t() @ shards  # a partial sum on each rank
    assert product.placements == (Partial(),)
    same(product.full_tensor(), whole.t() @ whole)


def ddp_step() -> None:
    """One step of a model that stays."""
    if not _models:
        _models.append(torch.nn.parallel.DistributedDataParallel(_model()))
    _models[0](torch.ones(16, 32)).square().mean().backward()


def ddp_overlaps() -> int:
    """How many buckets are on their way before the backward pass has come to the first layer, by the flight
    recorder's times."""
    import time

    model = torch.nn.parallel.DistributedDataParallel(_model(), bucket_cap_mb=0.01)
    model(values(torch.float32, 16, 32)).square().mean().backward()  # buckets are made anew after the first
    dist.barrier()
    begun = time.monotonic_ns()
    reached: list[int] = []
    first = next(model.parameters())
    first.register_hook(lambda gradient: reached.append(time.monotonic_ns()))
    model(values(torch.float32, 16, 32)).square().mean().backward()
    recorder = dist.group.WORLD._job.comm._job.recorder
    reduced = [record for record in recorder.ended("all_reduce") if record.started > begun]
    assert len(reduced) >= 2
    return sum(record.started < reached[0] for record in reduced)
