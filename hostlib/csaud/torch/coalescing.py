"""Blocks of calls that torch puts together, left by an error: torch keeps the group in them, and takes the
calls that follow for parts of the block, which never run. With any backend; here for this one's groups."""

import contextlib
from collections.abc import Iterator
from typing import Any

import torch.distributed
from torch.distributed import distributed_c10d


@contextlib.contextmanager
def coalescing_manager(group: Any = None, device: Any = None, async_ops: bool = False) -> Iterator[Any]:
    """`torch.distributed._coalescing_manager`. Left by an error, what was recorded in it is not done."""
    chosen = distributed_c10d._get_default_group() if group is None else group
    leave = getattr(chosen, "leave_coalescing", None)
    begun = False
    try:
        with _of_torch(group, device, async_ops) as manager:
            begun = True
            yield manager
    except BaseException:
        if begun and leave is not None:  # or it is in another block, which goes on
            distributed_c10d._world.pg_coalesce_state.pop(chosen, None)
            leave()
        raise


_of_torch = distributed_c10d._coalescing_manager


def serve() -> None:
    """Have torch's own calls come here, too."""
    torch.distributed._coalescing_manager = coalescing_manager
    distributed_c10d._coalescing_manager = coalescing_manager
