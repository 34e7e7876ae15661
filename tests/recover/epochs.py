"""Workers of a job in one process, in a network that is made up: every order of events and every moment of a
death that a schedule asks for. One thread runs at a time.

A collective ends at a rank once all ranks of its epoch have begun it; where one of them is dead or in a later
epoch, it may end at some ranks and fail at others, as a schedule's random numbers have it.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from csaud.errors import PeerUnreachable, RendezvousError
from csaud.membership.agreement import OPERATIONS, Agreement


class Killed(BaseException):
    """The end of a worker."""


class Worker:
    """A thread that runs only when it is resumed.

    Attributes:
        epoch: that it is in; None: a newcomer that waits.
        waits: for what: (kind of thing, whether it is there, what it gives).
    """

    def __init__(self, name: int, program: Callable[[Worker], object]) -> None:
        self.name = name
        self.epoch: Epoch | None = None
        self.alive = True
        self.over = False
        self.calls = 0
        self.failed = False  # in this epoch
        self.error: BaseException | None = None
        self.waiting: tuple[Callable[[], bool], bool] | None = None  # ready, and whether it may fail
        self.moved: tuple[bool, int] | None = None  # to the next epoch: (newcomers are admitted, number)
        self._answer: BaseException | None = None
        self._mine, self._engines = threading.Semaphore(0), threading.Semaphore(0)
        self._thread = threading.Thread(target=self._run, args=(program,), daemon=True)
        self._thread.start()

    def resume(self, error: BaseException | None = None) -> None:
        """Run until it waits or ends."""
        self._answer = error
        self._mine.release()
        self._engines.acquire()

    def wait(self, ready: Callable[[], bool], may_fail: bool) -> None:
        """Until the engine has it that it goes on."""
        self.waiting = (ready, may_fail)
        self._engines.release()
        self._mine.acquire()
        self.waiting = None
        if self._answer is not None:
            raise self._answer

    def _run(self, program: Callable[[Worker], object]) -> None:
        self._mine.acquire()
        try:
            program(self)
        except Killed:
            pass
        except BaseException as error:
            self.error = error
        self.over = True
        self._engines.release()


class Epoch:
    """The ranks of an epoch, and what they have called."""

    def __init__(self, members: list[Worker]) -> None:
        self.members = members
        self.begun: dict[tuple[Any, ...], dict[int, Any]] = {}
        self.agreed: dict[int, Agreement] = {}

    def rank(self, worker: Worker) -> int:
        return self.members.index(worker)

    def lost(self) -> bool:
        return any(not member.alive or member.epoch is not self or member.moved for member in self.members)


class Network:
    """The engine. `deaths`: by worker, the number of the call at which it dies."""

    def __init__(self, seed: int, deaths: dict[int, int]) -> None:
        self.random = random.Random(seed)
        self.deaths = deaths
        self.workers: list[Worker] = []
        self.waiting_newcomers: list[Worker] = []

    def call(self, worker: Worker) -> None:
        """Each call of a worker is a moment at which it may die."""
        worker.calls += 1
        if self.deaths.get(worker.name) == worker.calls:
            worker.alive = False
            raise Killed

    def run(self) -> None:
        """Until all have ended; AssertionError where they wait for each other."""
        while alive := [worker for worker in self.workers if not worker.over]:
            ready, failing = [], []
            for worker in alive:
                if worker.waiting is None:
                    ready.append(worker)
                    continue
                is_ready, may_fail = worker.waiting
                if is_ready():
                    ready.append(worker)
                if may_fail and (worker.failed or (worker.epoch is not None and worker.epoch.lost())):
                    failing.append(worker)
            if not ready and not failing and all(worker in self.waiting_newcomers for worker in alive):
                alive[0].resume(RendezvousError("the job is over"))
                continue
            assert ready or failing, "all wait for each other"
            worker = self.random.choice(ready + failing)
            if worker in ready and (worker not in failing or self.random.random() < 0.5):
                worker.resume()
            else:
                worker.failed = True
                worker.resume(PeerUnreachable(0))

    def enter(self, worker: Worker) -> Communicator:
        """All workers that begin the job meet."""
        return Communicator(self, worker)

    def join(self, worker: Worker) -> Communicator:
        """The worker waits for an epoch that it is in."""
        self.call(worker)
        self.waiting_newcomers.append(worker)
        worker.wait(lambda: worker.epoch is not None, False)
        return Communicator(self, worker)

    def next_epoch(self, worker: Worker, admit: bool) -> None:
        epoch = worker.epoch
        assert epoch is not None
        worker.moved = (admit, 0)

        def ready() -> bool:
            if worker.epoch is not epoch:
                return True
            there = [member for member in epoch.members if member.alive and not member.over]
            if not all(member.moved and member.epoch is epoch for member in there):
                return False
            newcomers = []
            if all(member.moved and member.moved[0] for member in there):
                newcomers = [one for one in self.waiting_newcomers if one.alive]
                self.waiting_newcomers = []
            following = Epoch(there + newcomers)
            for member in following.members:
                member.epoch, member.moved, member.failed = following, None, False
            return True

        worker.wait(ready, False)


class Communicator:
    """What `csaud.recover` uses of a communicator."""

    def __init__(self, network: Network, worker: Worker, group: int = 0) -> None:
        assert worker.epoch is not None
        self._network, self._worker, self._epoch, self._group = network, worker, worker.epoch, group
        self.rank, self.size = self._epoch.rank(worker), len(self._epoch.members)
        self._count = 0

    @property
    def newcomers(self) -> int:
        # a door is one of them
        return len(self._network.waiting_newcomers) if self.rank == 0 else 0

    def split(self, color: int) -> Communicator:
        self._start("split", None).wait()
        return Communicator(self._network, self._worker, self._group + 1)

    def shrink(self, timeout: float) -> Communicator:
        return self._next(False)

    def reform(self, timeout: float) -> Communicator:
        return self._next(True)

    def _next(self, admit: bool) -> Communicator:
        self._network.call(self._worker)
        self._network.next_epoch(self._worker, admit)
        return Communicator(self._network, self._worker)

    def agree(self, value: int, op: str, timeout: float) -> Agreement:
        self._network.call(self._worker)
        self._count += 1
        epoch, number = self._epoch, self._count
        told = epoch.begun.setdefault(("agree", number), {})
        told[self.rank] = value

        def ready() -> bool:
            if number not in epoch.agreed:
                there = [m for m in epoch.members if m.alive and not m.over and m.epoch is epoch]
                if not all(epoch.rank(m) in told for m in there):
                    return False
                assert not any(m.moved for m in there), "one agrees, another one has moved on"
                gone = tuple(r for r in range(len(epoch.members)) if r not in told)
                epoch.agreed[number] = Agreement(OPERATIONS[op](list(told.values())), gone)
            return True

        self._worker.wait(ready, False)
        return epoch.agreed[number]

    # --- collectives

    def all_reduce(self, array: Any, op: str = "sum", wait: bool = True) -> Any:
        def end(told: dict[int, Any]) -> None:
            values = [told[rank] for rank in range(self.size)]
            array[:] = np.max(values, axis=0) if op == "max" else np.sum(values, axis=0, dtype=array.dtype)

        return self._start("all_reduce", array.copy(), end)

    def all_to_all_v(self, array: Any, sent: Any, received: Any, out: Any, wait: bool) -> Handle:
        parts = np.split(array.copy(), np.cumsum(sent)[:-1])

        def end(told: dict[int, Any]) -> None:
            out[:] = np.concatenate([told[rank][self.rank] for rank in range(self.size)])
            assert [told[rank][self.rank].size for rank in range(self.size)] == list(received)

        return self._start("all_to_all_v", parts, end)

    def all_gather_v(self, array: Any, counts: Any = None, out: Any = None, wait: bool = True) -> Any:
        found: list[Any] = []

        def end(told: dict[int, Any]) -> None:
            found.extend(told[rank] for rank in range(self.size))
            if out is not None:
                out[:] = np.concatenate(found)

        handle = self._start("all_gather_v", array.copy(), end)
        if not wait:
            return handle
        handle.wait()
        return found

    def broadcast(self, array: Any, root: int) -> None:
        def end(told: dict[int, Any]) -> None:
            array[...] = told[root]

        self._start("broadcast", array.copy(), end).wait()

    def _start(
        self, kind: str, value: Any, end: Callable[[dict[int, Any]], None] = lambda told: None
    ) -> Handle:
        worker = self._worker
        self._network.call(worker)
        if worker.failed:
            raise PeerUnreachable(0)
        self._count += 1
        told = self._epoch.begun.setdefault((self._group, self._count), {})
        told[self.rank] = (kind, value)
        return Handle(self, told, end)


class Handle:
    """A collective in flight."""

    def __init__(
        self, comm: Communicator, told: dict[int, Any], end: Callable[[dict[int, Any]], None]
    ) -> None:
        self._comm, self._told, self._end = comm, told, end
        self._ended = False

    def _all_there(self) -> bool:
        return len(self._told) == self._comm.size

    @property
    def ended_well(self) -> bool:
        if not self._ended and self._all_there() and self._comm._network.random.random() < 0.5:
            self._finish()
        return self._ended

    def wait(self) -> bool:
        if not self._ended:
            self._comm._network.call(self._comm._worker)
            self._comm._worker.wait(self._all_there, True)
            self._finish()
        return True

    def _finish(self) -> None:
        assert len({kind for kind, _ in self._told.values()}) == 1, "ranks called different collectives"
        self._end({rank: value for rank, (_, value) in self._told.items()})
        self._ended = True
