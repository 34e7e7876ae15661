"""The process group that `torch.distributed` calls: names, lifetime, and the collectives of its parents."""

from datetime import timedelta
from typing import Any

import torch

from csaud.groups.group import Group
from csaud.torch.calls import Calls
from csaud.torch.monitored import Meter, pass_barrier
from csaud.torch.moving import Moving
from csaud.torch.reducing import Reducing
from csaud.torch.shared_communicator import SharedCommunicator
from csaud.torch.transfers import Transfers
from csaud.torch.views import DEVICES
from csaud.torch.work import Together

NAME = "csaud"


class CsaudProcessGroup(Reducing, Moving, Transfers):
    """A process group over CSA-UD; `init_process_group` and `new_group` make it."""

    def __init__(self, store: Any, group: Group, job: SharedCommunicator, timeout: timedelta) -> None:
        super().__init__(store, group, job, timeout)
        self._lanes = {}
        self._mail = {}
        self._together: list[Any] | None = None
        self._described = "undefined"
        self._open = True
        self._barriers = Meter()

    # --- lifetime

    def shutdown(self) -> None:
        """Leave; `destroy_process_group` calls it. Nothing is left of the group then."""
        if self._open:
            self._open = False
            for group in (self._group, *self._lanes.values()):
                if group is not self._job.comm:
                    group.free()
            self._job.leave()
            # Meshes and sharded modules keep process groups for good.
            gone: Any = _Gone()
            self._job = self._group = gone
            self._lanes, self._mail = {}, {}

    def abort(self) -> None:
        """End the job: what is in flight fails, here and at the other ranks."""
        if self._open:
            self._job.comm.abort()
            self.shutdown()

    # --- what it is called; C++ and Python ask by several names

    def getBackendName(self) -> str:
        return NAME

    def name(self) -> str:
        return NAME

    def _get_backend_name(self) -> str:
        return NAME

    def _set_group_name(self, name: str) -> None:
        self._named = str(name)

    def _set_group_desc(self, words: str) -> None:
        self._described = str(words)

    def getGroupName(self) -> str:
        return self._named

    def getGroupDesc(self) -> str:
        return self._described

    setGroupName = _set_group_name
    setGroupDesc = _set_group_desc

    @property
    def group_name(self) -> str:
        return self._named

    @property
    def group_desc(self) -> str:
        return self._described

    @property
    def _device_types(self) -> list[torch.device]:
        return [torch.device(kind) for kind in DEVICES]

    # --- what torch asks of backends

    def get_group_store(self) -> Any:
        return self._store

    @property
    def supports_splitting(self) -> bool:
        return False

    @property
    def supports_coalescing(self) -> bool:
        return True

    @property
    def supports_time_estimate(self) -> bool:
        return False

    def _get_backend(self, device: torch.device) -> "CsaudProcessGroup":
        if torch.device(device).type not in DEVICES:
            raise RuntimeError(f"No backend type associated with device type {device}")
        return self

    _set_default_timeout = Calls.set_timeout

    def _start_coalescing(self, device: torch.device) -> None:
        del device
        self._together = []

    def _end_coalescing(self, device: torch.device) -> Any:
        del device
        works, self._together = self._together or [], None
        return Together(works)

    def leave_coalescing(self) -> None:
        """What was begun since `_start_coalescing` goes on, and is waited for by nobody."""
        self._together = None

    def _work(self, *arguments: Any, **options: Any) -> Any:
        work = Calls._work(self, *arguments, **options)
        if self._together is not None:
            self._together.append(work)
        return work

    def monitored_barrier(self, timeout: timedelta | None = None, wait_all_ranks: bool = False) -> None:
        """See `csaud.torch.monitored_barrier`."""
        limit = self._limit if timeout is None else timeout.total_seconds()
        pass_barrier(self._store, self._barriers, self.rank(), self.size(), limit, wait_all_ranks)


class _Gone:
    """In place of what a destroyed process group had."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError("csaud: this process group has been destroyed")
