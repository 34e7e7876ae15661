"""A barrier that says which ranks have not come: over torch's store, not over the fabric."""

from datetime import timedelta
from typing import Any

import torch.distributed
from torch.distributed import distributed_c10d

_LONGEST = timedelta(days=1)
_GRACE = 10.0  # s that others wait longer for what rank 0 has to say


class Meter:
    """How many such barriers a group has had: their names in the store."""

    def __init__(self) -> None:
        self._count = 0

    def next(self) -> int:
        """The number of the next one."""
        self._count += 1
        return self._count


def pass_barrier(
    store: Any, meter: Meter, rank: int, size: int, limit: float | None, wait_all_ranks: bool
) -> None:
    """Return once every rank has called it.

    Args:
        limit: seconds that rank 0 waits for the others; None: a day.
        wait_all_ranks: rank 0 names all that have not come; otherwise the first of them.

    Raises:
        RuntimeError: ranks have not come in time; rank 0 names them, the others refer to it.
    """
    prefix = f"csaud/monitored/{meter.next()}"
    time = _LONGEST if limit is None else timedelta(seconds=limit)
    if rank != 0:
        store.set(f"{prefix}/{rank}", "here")
        try:
            store.wait([f"{prefix}/over"], time + timedelta(seconds=_GRACE))
            late = store.get(f"{prefix}/over").decode()
        except RuntimeError:  # each kind of store has another one
            late = "0"
        if late:
            raise RuntimeError(
                f"Rank {rank} successfully reached monitoredBarrier, but received errors while waiting for "
                f"send/recv from rank 0. Please check rank 0 logs for faulty rank. Not there: {late}"
            )
        return
    if time <= timedelta():
        store.set(f"{prefix}/over", "0")
        raise RuntimeError("Rank 0 timed out in monitoredBarrier after 0 ms: its timeout is 0")
    keys = {other: f"{prefix}/{other}" for other in range(1, size)}
    missing: list[int] = []
    try:
        if keys:
            store.wait(list(keys.values()), time)
    except RuntimeError:
        missing = [other for other, key in keys.items() if not store.check([key])]
    named = missing if wait_all_ranks else missing[:1]
    store.set(f"{prefix}/over", ", ".join(str(other) for other in named))
    if named:
        words = ", ".join(str(other) for other in named)
        raise RuntimeError(
            f"{'Ranks' if len(named) > 1 else 'Rank'} {words} failed to pass monitoredBarrier in "
            f"{time.total_seconds() * 1e3:.0f} ms"
        )


def monitored_barrier(
    group: Any = None, timeout: timedelta | float | None = None, wait_all_ranks: bool = False
) -> None:
    """`torch.distributed.monitored_barrier`, which torch itself has for gloo alone.

    Args:
        group: process group; None: that of all ranks.
        timeout: until when all must have come; None: that of the group.
        wait_all_ranks: rank 0 names all ranks that have not come; otherwise the first of them.

    Raises:
        RuntimeError: ranks have not come in time.
    """
    chosen = distributed_c10d._get_default_group() if group is None else group
    method = getattr(chosen, "monitored_barrier", None)
    if method is None:
        _of_torch(group, timeout, wait_all_ranks)
        return
    if isinstance(timeout, float | int):
        timeout = timedelta(seconds=timeout)
    method(timeout, wait_all_ranks)


_of_torch = torch.distributed.monitored_barrier


def serve() -> None:
    """Have `torch.distributed.monitored_barrier` work for groups of this backend, too."""
    torch.distributed.monitored_barrier = monitored_barrier
    distributed_c10d.monitored_barrier = monitored_barrier
