"""The backend's registration, and what makes its process groups."""

from typing import Any

from torch.distributed import Backend

from csaud.torch import coalescing, compiling, monitored
from csaud.torch.process_group import NAME, CsaudProcessGroup
from csaud.torch.shared_communicator import open_group
from csaud.torch.views import DEVICES
from csaud.torch.work import CsaudWork, Finished, Together

BACKEND = NAME


def register() -> None:
    """Have `init_process_group("csaud")` and `new_group(backend="csaud")` work. Idempotent."""
    if BACKEND.upper() in Backend._plugins:
        return
    Backend.register_backend(BACKEND, _create, extended_api=True, devices=list(DEVICES))
    monitored.serve()
    coalescing.serve()
    ours = [kind for kind in CsaudProcessGroup.__mro__ if kind.__module__.startswith("csaud.")]
    compiling.leave_alone(*ours, CsaudWork, Finished, Together)


def _create(options: Any, settings: dict[str, Any] | None) -> CsaudProcessGroup:
    """torch calls it on the members of a new group.

    Args:
        settings: argument `pg_options`: settings of the library by name (`csaud settings`).

    Raises:
        ValueError: it is of another kind.
    """
    if settings is not None and not isinstance(settings, dict):
        kind = type(settings).__name__
        raise ValueError(f"csaud: pg_options is a {kind}: expected a dict of settings by name")
    size, rank = options.group_size, options.group_rank
    ranks = list(options.global_ranks_in_group) or list(range(size))
    name = str(options.group_id)
    job, group = open_group(options.store, name, rank, ranks, options.timeout, dict(settings or {}))
    return CsaudProcessGroup(options.store, group, job, options.timeout)
