"""Jobs that process groups stand on: one communicator for all groups of its ranks, closed with the last of
them."""

import threading
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from torch.distributed import PrefixStore

from csaud.errors import CsaudError
from csaud.groups.communicator import Communicator
from csaud.groups.group import Group
from csaud.groups.handle import Handle
from csaud.groups.job_state import LAST_NUMBER, waits_in_words
from csaud.torch.completion import Completion
from csaud.torch.failures import raised
from csaud.torch.meeting import communicator, gathered, is_limited

_lock = threading.Lock()
# Open ones, in the order in which they began, the same at all their ranks.
_jobs: list["SharedCommunicator"] = []


class SharedCommunicator:
    """A communicator and the process groups on it.

    Args:
        store: of this job alone.
        members: global rank, as torch.distributed counts, of each rank of the job.

    Attributes:
        completion: of its groups' futures.
        limited: the setting `timeout` was given; torch's timeouts do not lengthen it.
    """

    def __init__(self, comm: Communicator, store: Any, members: tuple[int, ...], limited: bool) -> None:
        self.comm = comm
        self.members = members
        self.limited = limited
        self.completion = Completion(self._watch, comm.transport.recall)
        self._store = store
        self._groups = 0

    def _watch(self, handles: Sequence[Handle], timeout: float) -> None:
        """Sleep until one of them has ended, well or not, or the time is over, or somebody recalls it."""
        self.comm.transport.watch_any([handle._execution.native for handle in handles], timeout)

    def failure(self) -> CsaudError | None:
        """What has ended it; None while it goes on."""
        return self.comm.transport.failure

    def error(self, what: str, error: CsaudError) -> Exception:
        """torch's error for the library's."""
        return raised(error, what, self.members)

    def waits(self, handles: Sequence[Any]) -> str:
        """What collectives in flight wait for, and of whom, as the end of a sentence."""
        found = self.comm._job.waits()
        records = [handle._execution.record for handle in handles if isinstance(handle, Handle)]
        return waits_in_words([wait for record in records for wait in found.get(id(record), [])])

    def subgroup(self, name: str, rank: int, members: tuple[int, ...], timeout: timedelta) -> Group:
        """A group of some of the ranks, who alone take part in making it.

        They agree through the store: messages from rank to rank, as of Group.new_group, could meet those that
        the application has under way.

        Args:
            name: of the group, the same at all of them.
            rank: of this process in it.
        """
        state = self.comm._job
        # A name may come again when its group is gone.
        prefix = f"number/{name}/{self._store.add(f'number/{name}/{rank}', 1)}"
        with state.naming:
            self._store.set(f"{prefix}/{rank}", str(state.next_number))
            keys = [f"{prefix}/{other}" for other in range(len(members))]
            # Higher than any number that a member has in use, and so new to every pair of them.
            number = max(map(int, gathered(self._store, keys, members, timeout)))
            state.next_number = number + 1
        return Group(state, number, [self.members.index(member) for member in members], rank)

    def lane(self, group: Group, tag: int) -> Group:
        """A second group of the same ranks, for messages of a tag; only those who use it ask for it."""
        key = f"lane/{group._number}/{tag}"
        if self._store.check([key]):
            number = int(self._store.get(key))
        else:
            mine = LAST_NUMBER - self._store.add("lanes", 1)
            number = int(self._store.compare_set(key, "", str(mine)))
        if number < self.comm._job.next_number:
            raise RuntimeError(f"csaud: tag {tag}: more tags and groups than a job can number")
        return Group(self.comm._job, number, group.ranks, group.rank)

    def join(self) -> None:
        """One more process group."""
        self._groups += 1

    def leave(self) -> None:
        """One less; the last one closes the communicator, and waits for the other ranks to do so."""
        with _lock:
            self._groups -= 1
            if self._groups > 0:
                return
            if self in _jobs:
                _jobs.remove(self)
        self.completion.close()
        self.comm.close()


def open_group(
    store: Any, name: str, rank: int, ranks: Sequence[int], timeout: timedelta, settings: dict[str, Any]
) -> tuple[SharedCommunicator, Group]:
    """The library's group for a process group: part of a job that has all its ranks, or a job of its own.

    Args:
        store: of this process group alone.
        rank: of this process in the group.
        ranks: global ranks of the group's members.

    Raises:
        DistBackendError, ValueError: the ranks do not come together; a setting is wrong.
    """
    members = tuple(ranks)
    with _lock:
        try:
            for job in _jobs:
                if set(members) <= set(job.members) and not settings:
                    group = job.subgroup(name, rank, members, timeout)
                    break
            else:
                # A store may outlive a group (that of torchrun's agent does): the next one has its own names.
                own = PrefixStore(f"csaud/{store.add(f'csaud/times/{rank}', 1)}", store)
                comm = communicator(own, rank, members, timeout, settings)
                job, group = SharedCommunicator(comm, own, members, is_limited(settings)), comm
                _jobs.append(job)
        except CsaudError as error:
            raise raised(error, f"process group {name}", members) from error
        job.join()
    return job, group
