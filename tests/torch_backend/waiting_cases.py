"""What ranks do in tests of who comes late, or never."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist


def endless() -> None:
    """Until somebody dies."""
    while True:
        dist.all_reduce(torch.ones(1000))


def late_for_a_monitored_barrier() -> str:
    try:
        if dist.get_rank() != 1:
            dist.monitored_barrier(timeout=timedelta(milliseconds=300))
        return ""
    except RuntimeError as error:
        said = str(error)
        return said if dist.get_rank() == 0 else said[said.index("Not there") :]
    finally:
        dist.barrier()


def group_without_a_peer(members: list[int], **settings: Any) -> None:
    """Those that call it wait for those that do not."""
    dist.new_group(members, timeout=timedelta(seconds=1), pg_options=settings or None)


def work_that_takes_too_long() -> str:
    """A wait with a limit: the work is not over for it."""
    rank = dist.get_rank()
    said = ""
    if rank == 0:
        tensor = torch.empty(1)
        work = dist.irecv(tensor, 1)
        try:
            work.wait(timedelta(seconds=0.2))
        except RuntimeError as error:
            said = f"{type(error).__name__}: {error}"
        dist.barrier()
        work.wait()
        assert tensor.item() == 7
    else:
        dist.barrier()
        if rank == 1:
            dist.send(torch.tensor([7.0]), 0)
    return said


def group_that_times_out(how: str) -> None:
    """One rank does not come to what others wait for longer than the group allows."""
    group = dist.new_group([0, 1], timeout=timedelta(seconds=1))
    if dist.get_rank() == 0:
        if how == "future":
            dist.all_reduce(torch.ones(1), group=group, async_op=True).get_future().wait()
        dist.all_reduce(torch.ones(1).to_sparse() if how == "sparse" else torch.ones(1), group=group)
