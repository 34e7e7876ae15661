"""What ranks do in tests of groups that end, and begin anew."""

from __future__ import annotations

import torch
import torch.distributed as dist

from tests.torch_backend.cases import forget_gloo


def _own_threads() -> list[str]:
    import threading

    return [thread.name for thread in threading.enumerate() if thread.name.startswith("csaud")]


def after_the_end() -> list[str]:
    """What is left when the group of a broken job is destroyed; another call fails with the same error."""
    try:
        dist.barrier()
    except dist.DistBackendError as error:
        assert "rank 1" in str(error), error
    work_of_old = dist.group.WORLD
    dist.destroy_process_group()
    assert work_of_old is not None
    return _own_threads()


def begins_again(folder: str) -> list[str]:
    """Jobs one after the other in one process, of which nothing stays. Files are their stores: another
    TCPStore at the same port is not to be relied on."""
    rank, size = dist.get_rank(), dist.get_world_size()
    dist.destroy_process_group()
    forget_gloo()
    for turn in range(2):
        dist.init_process_group("csaud", f"file://{folder}/{turn}", rank=rank, world_size=size)
        work = dist.all_reduce(tensor := torch.ones(10), async_op=True)
        assert work.get_future().wait() and tensor[0] == size
        dist.new_group(list(range(turn + 1)))
        dist.destroy_process_group()
    return _own_threads()


def with_options() -> list[str]:
    """Settings of the library for a group of its own."""
    rank = dist.get_rank()
    group = dist.new_group(pg_options={"window": 8, "paths": 4})
    dist.all_reduce(tensor := torch.ones(3), group=group)
    assert tensor[0] == dist.get_world_size()
    dist.destroy_process_group(group)
    try:
        dist.new_group([rank], pg_options={"windwo": 8}, use_local_synchronization=True)
    except ValueError as error:
        return [type(error).__name__, str(error)[:20], str(error)[str(error).index("no setting") :][:19]]
    return []
