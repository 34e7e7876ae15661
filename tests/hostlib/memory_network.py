"""A network of ranks in one process for the executor: every message arrives, in an order that a seed
chooses."""

import random
import threading
from collections.abc import Callable

import csaud_testnet
import numpy as np
from csaud import _core
from csaud.collectives.executor import Collective, Execution
from csaud.collectives.reductions import Reduction
from csaud.collectives.schedule import Schedule
from csaud.errors import CsaudError

_PATIENCE = 20.0  # s


class MemoryNetwork:
    """Messages by their name; a send completes when its receive does, as with acknowledgements."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._changed = threading.Condition()
        self._executors: dict[int, csaud_testnet.Executor] = {}
        self._sends: dict[tuple, tuple] = {}
        self._receives: dict[tuple, tuple] = {}
        self._failed: BaseException | None = None
        self.messages = 0

    def start(self, rank: int, execution: _core.Execution) -> None:
        with self._changed:
            executor = self._executors.setdefault(rank, csaud_testnet.Executor(rank))
            executor.start(execution, 0)
            self._take(rank)
            self._changed.notify_all()  # another thread may wait already

    def fail(self, failure: BaseException) -> None:
        """Nobody need wait any more."""
        with self._changed:
            self._failed = failure
            self._changed.notify_all()

    def wait(self, rank: int, execution: _core.Execution) -> bool:
        """Deliver messages that are posted on both sides, and reduce pieces, in an order chosen by the
        seed, until `execution` has ended."""
        return self.wait_any(rank, [execution])

    def wait_any(self, rank: int, executions: list[_core.Execution]) -> bool:
        """As `wait`, until one of them has ended."""
        with self._changed:
            while not any(execution.ended for execution in executions):
                if self._failed is not None:
                    raise CsaudError(f"another rank failed: {self._failed}")
                if not self._go_on():
                    assert self._changed.wait(_PATIENCE), f"rank {rank} waits for what never comes"
            return True

    def _go_on(self) -> bool:
        """One message, or one piece of a reduction; False where there is neither."""
        ready = sorted(self._sends.keys() & self._receives.keys())
        if not ready or self._random.random() < 0.3:
            for rank in self._random.sample(sorted(self._executors), len(self._executors)):
                if self._executors[rank].work(0):
                    self._take(rank)
                    self._changed.notify_all()
                    return True
        if ready:
            self._deliver(self._random.choice(ready))
            self._changed.notify_all()
        return bool(ready)

    def pending(self, rank: int) -> dict[int, tuple[int, int]]:
        with self._changed:
            sides = (self._sends, self._receives)
            return {post.id: (0, 1) for side in sides for owner, post in side.values() if owner == rank}

    def _take(self, rank: int) -> None:
        for post in self._executors[rank].take():
            side = self._sends if post.is_send else self._receives
            ends = (rank, post.peer) if post.is_send else (post.peer, rank)
            key = (post.comm, post.coll_seq, *ends, post.step, post.chunk)
            assert key not in side, f"posted twice: {key}"
            side[key] = (rank, post)

    def _deliver(self, key: tuple) -> None:
        sender, sent = self._sends.pop(key)
        receiver, received = self._receives.pop(key)
        assert sent.bytes == received.bytes, f"{key}: {sent.bytes} bytes sent, {received.bytes} expected"
        received.write(sent.read())
        self.messages += 1
        ends = [(sender, sent), (receiver, received)]
        for rank, post in self._random.sample(ends, 2):
            assert self._executors[rank].complete(post.id, post.is_send, _core.Status.ok, post.peer, 0)
            self._take(rank)


class MemoryTransport:
    """One rank's access; `csaud.collectives.executor.Runner`."""

    def __init__(self, network: MemoryNetwork, rank: int) -> None:
        self._network = network
        self._rank = rank
        self.pinned = 0  # times

    def start(self, execution: _core.Execution) -> None:
        self._network.start(self._rank, execution)

    def run(self, execution: _core.Execution, timeout: float) -> bool:
        self.start(execution)
        return self.wait(execution, timeout)

    def wait(self, execution: _core.Execution, timeout: float) -> bool:
        return self._network.wait(self._rank, execution)

    def wait_any(self, executions: list[_core.Execution], timeout: float) -> bool:
        return self._network.wait_any(self._rank, executions)

    def pin(self, memory: np.ndarray) -> object:
        self.pinned += 1
        return None

    def awaited(self, execution: _core.Execution) -> list[tuple[int, int]]:
        return []

    def pending(self) -> dict[int, tuple[int, int]]:
        return self._network.pending(self._rank)


def on_every_rank(
    size: int, work: Callable[[int], None], failed: Callable[[BaseException], None] = lambda failure: None
) -> None:
    """Do work(rank) in a thread for each rank; `failed` hears of each failure, the first is raised."""
    failures: list[BaseException] = []

    def run(rank: int) -> None:
        try:
            work(rank)
        except BaseException as failure:
            failures.append(failure)
            failed(failure)

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def run_everywhere(
    schedules: list[Schedule], arrays: list[np.ndarray], reduce: Reduction | None, seed: int
) -> MemoryNetwork:
    """Run one collective on all ranks, each in a thread; `arrays` hold the results afterwards."""
    network = MemoryNetwork(seed)

    def work(rank: int) -> None:
        array = arrays[rank]
        collective = Collective(schedules[rank], array.dtype, reduce, ranks=range(len(schedules)))
        execution = Execution(collective, 7, array)
        transport = MemoryTransport(network, rank)
        transport.start(execution.native)
        assert transport.wait(execution.native, 0)

    on_every_rank(len(schedules), work, network.fail)
    return network
