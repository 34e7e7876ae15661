"""What every call of the process group does: check tensors, start, wait or give a Work."""

from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from typing import Any

import numpy as np
import torch
from torch.distributed import ProcessGroup

from csaud.errors import CsaudError
from csaud.groups.group import Group
from csaud.groups.operands import goes_over
from csaud.torch import staging
from csaud.torch.shared_communicator import SharedCommunicator
from csaud.torch.views import Array, array_of, check_tensor, is_plain, movable, plain
from csaud.torch.work import CsaudWork, Finished

Finish = Callable[[], object]
Room = tuple[Array, Finish | None]
"""Where the library writes, and what brings that to its tensor; None: it is the tensor's memory."""


class Calls(ProcessGroup):
    """A process group's place, and how its calls run.

    Args:
        store: of this group.
        group: the library's, of the same ranks in the same order.
        job: what that is a part of.
        timeout: of a call, unless it has one of its own.
    """

    def __init__(self, store: Any, group: Group, job: SharedCommunicator, timeout: timedelta) -> None:
        super().__init__(group.rank, group.size)
        self._store = store
        self._group = group
        self._job = job
        self.set_timeout(timeout)
        self._named = ""

    def set_timeout(self, timeout: timedelta) -> None:
        """Of calls from now on that have none of their own."""
        self._limit: float = timeout.total_seconds()
        # A call that blocks in the library has the job's limit.
        job = self._job.comm.settings.timeout
        self._blocks = 0 < job <= self._limit

    def _call(
        self,
        what: str,
        start: Callable[..., Any],
        tensors: list[torch.Tensor],
        finish: Finish | None = None,
        opts: Any = None,
    ) -> Any:
        """One call of the library's: `start(wait=..., timeout=...)` gives a Handle unless it waits."""
        wait = self._blocks and opts is not None and not opts.asyncOp and opts.timeout.total_seconds() < 0
        try:
            handle = start(wait=wait, timeout=self._longest(self._limit_of(opts)))
        except CsaudError as error:
            raise self._error(what, error) from error
        if not wait:
            return self._work(what, [handle], tensors, finish, opts)
        if finish is not None:
            finish()
        return Finished(tensors)

    def _work(
        self, what: str, handles: Sequence[Any], tensors: list[torch.Tensor], finish: Finish | None = None,
        opts: Any = None, source: int = -1,
    ) -> CsaudWork:  # fmt: skip
        limit = self._limit_of(opts)
        return CsaudWork(self._job, self._words(what), handles, tensors, finish, source=source, limit=limit)

    def _limit_of(self, opts: Any) -> float:
        """Seconds that a call may take: its own, or the group's."""
        asked = 0.0 if opts is None else float(opts.timeout.total_seconds())
        return asked if asked > 0 else self._limit

    def _longest(self, limit: float) -> float | None:
        """After so long the library ends the job of a call: not before torch gives the call up; None: after
        the time that the setting gives."""
        return None if self._job.limited else max(limit, self._job.comm.settings.timeout)

    def _error(self, what: str, error: CsaudError) -> Exception:
        return self._job.error(self._words(what), error)

    def _words(self, what: str) -> str:
        return f"{what} in group {self._named or '?'}"


def only(tensors: Any) -> torch.Tensor:
    """The tensor of a list of one: what a process contributes."""
    if isinstance(tensors, torch.Tensor):
        return tensors
    if len(tensors) != 1:
        raise RuntimeError(f"csaud: {len(tensors)} tensors, expected 1: a process is one rank")
    tensor: torch.Tensor = tensors[0]
    return tensor


def root_of(opts: Any) -> int:
    """The root in options, or given in place of them."""
    return opts if isinstance(opts, int) else int(opts.rootRank)


def options(opts: Any) -> Any:
    """None where something else is given in place of them."""
    return opts if hasattr(opts, "asyncOp") else None


def inward(tensor: torch.Tensor) -> Array:
    """What is read of a tensor: its own memory, or a copy where that is a GPU's or not plain."""
    check_tensor(tensor)
    if tensor.device.type != "cpu":
        return array_of(staging.values_of(tensor))
    return array_of(tensor if is_plain(tensor) else plain(tensor))


def through(tensor: torch.Tensor) -> Room:
    """What is read of a tensor, and where a result goes then: its own memory, or a copy, and what copies that
    back."""
    check_tensor(tensor)
    if tensor.device.type != "cpu":
        return _staged(tensor, staging.values_of(tensor))
    if is_plain(tensor):
        return array_of(tensor), None
    dense = plain(tensor.detach())
    return array_of(dense), lambda: tensor.detach().copy_(dense)


def outward(tensor: torch.Tensor) -> Room:
    """Where a result goes that fills a tensor: as `through`, but for its values."""
    if tensor.device.type != "cpu":
        check_tensor(tensor)
        return _staged(tensor, staging.room_for(tensor))
    return through(tensor)


def fill(rooms: Iterable[Room], arrays: Iterable[Array]) -> None:
    """Have each tensor whose `outward` this is filled by an array of as many elements."""
    for (into, finish), array in zip(rooms, arrays, strict=True):
        np.copyto(movable(into), array.reshape(-1))
        if finish is not None:
            finish()


def _staged(tensor: torch.Tensor, host: torch.Tensor) -> Room:
    return array_of(host), staging.way_back(tensor, host)


def kept(source: Array, into: Array, same: tuple[Array, Array] | None = None) -> Array:
    """What is sent while `into` is written: a copy where the library would refuse it, since users of gloo
    give one tensor for both; `same` as of `operands.goes_over`."""
    return source.copy() if goes_over(into, source, same) else source
