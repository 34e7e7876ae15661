"""What ranks do in tests of tensors on GPUs, beyond what they do with any."""

from __future__ import annotations

import torch
import torch.distributed as dist

from tests.torch_backend.cases import same

_LONG = 200_000_000
"""Cycles of a GPU: a tenth of a second, in which a copy that does not wait would be through."""


def values_that_are_still_computed() -> None:
    """What is sent is what the stream of the call has made of it by then, not the default stream."""
    size = dist.get_world_size()
    tensor = torch.zeros(1000)
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(_LONG)
        tensor += 1
        work = dist.all_reduce(tensor, async_op=True)
    work.wait()
    same(tensor, torch.full((1000,), float(size)))


def results_over_what_is_still_read() -> None:
    """A kernel that was begun before the call reads what was there before; whoever ends the call."""
    rank, size = dist.get_rank(), dist.get_world_size()
    mine = torch.tensor([float(rank)], device="cpu")
    into, parts = torch.full((1,), -1.0), [torch.full((1,), -1.0) for _ in range(size)]
    sent = dist.isend(mine, rank ^ 1)
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream()):
        torch.cuda._sleep(_LONG)
        kept = [tensor.clone() for tensor in (into, *parts)]
        received = dist.irecv(into, rank ^ 1)
        gathered = dist.all_gather(parts, mine, async_op=True)
        gathered.get_future().wait()
        received.wait()
    sent.wait()
    torch.cuda.synchronize()
    for before in kept:
        same(before, torch.full((1,), -1.0))
    same(into, torch.tensor([float(rank ^ 1)]))
    same(torch.cat(parts), torch.arange(float(size)))


def of_both_kinds() -> None:
    """Tensors of the CPU and of the GPU in one group, and as one call's list."""
    size = dist.get_world_size()
    here, there = torch.ones(5, device="cpu"), torch.ones(5, device="cuda")
    works = [dist.all_reduce(tensor, async_op=True) for tensor in (here, there)]
    for work in works:
        work.wait()
    same(here, torch.full((5,), float(size), device="cpu"))
    same(there.cpu(), here)
    parts = [torch.empty(5, device=device) for device in ["cpu", "cuda"] * (size // 2)]
    dist.all_gather(parts, there)
    for part in parts:
        same(part.cpu(), here)
