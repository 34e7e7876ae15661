"""A network of ranks in one process for the executor: every message arrives, in an order that a seed
chooses."""

import random
import threading
from collections.abc import Callable

import numpy as np
from csaud.collectives.executor import Execution, Name, name_of
from csaud.collectives.schedule import Recv, Schedule, Send
from csaud.collectives.timing import Expected
from csaud.errors import CsaudError


class MemoryNetwork:
    """Messages by their name; a send completes when its receive does, as with acknowledgements."""

    def __init__(self, seed: int, patience: float = 20.0) -> None:
        self._random = random.Random(seed)
        self._patience = patience
        self._changed = threading.Condition()
        self._sends: dict[tuple, tuple] = {}
        self._receives: dict[tuple, tuple] = {}
        self._completed: dict[int, list[int]] = {}
        self._next_id = 0
        self._failed: BaseException | None = None
        self.messages = 0

    def post(self, side: dict, rank: int, key: tuple, view: memoryview) -> int:
        with self._changed:
            self._next_id += 1
            assert key not in side, f"posted twice: {key}"
            side[key] = (rank, self._next_id, view)
            self._changed.notify_all()  # another thread of the rank may wait already
            return self._next_id

    def fail(self, failure: BaseException) -> None:
        """Nobody need wait any more."""
        with self._changed:
            self._failed = failure
            self._changed.notify_all()

    def deliver_and_collect(self, rank: int) -> list[int]:
        """Deliver one message that is posted on both sides, chosen by the seed; then this rank's
        completions."""
        with self._changed:
            if self._failed is not None:
                raise CsaudError(f"another rank failed: {self._failed}")
            ready = sorted(self._sends.keys() & self._receives.keys())
            if ready:
                self._deliver(self._random.choice(ready))
                self._changed.notify_all()
            elif not self._completed.get(rank):
                assert self._changed.wait(self._patience), f"rank {rank} waits for what never comes"
            return self._completed.pop(rank, [])

    def pending(self, rank: int) -> dict[int, tuple[int, int]]:
        with self._changed:
            sides = (self._sends, self._receives)
            return {id: (0, 1) for side in sides for owner, id, _ in side.values() if owner == rank}

    def _deliver(self, key: tuple) -> None:
        sender, send_id, source = self._sends.pop(key)
        receiver, receive_id, target = self._receives.pop(key)
        assert len(source) == len(target), f"{key}: {len(source)} bytes sent, {len(target)} expected"
        target[:] = source
        self.messages += 1
        self._completed.setdefault(sender, []).append(send_id)
        self._completed.setdefault(receiver, []).append(receive_id)


class MemoryTransport:
    """One rank's access; `csaud.collectives.executor.Transport`."""

    def __init__(self, network: MemoryNetwork, rank: int) -> None:
        self._network = network
        self._rank = rank

    def post(
        self, op: Send | Recv, name: Name, buffer: np.ndarray, offset: int, length: int, expected: Expected
    ) -> int:
        network, sends = self._network, isinstance(op, Send)
        ends = (self._rank, op.dst) if isinstance(op, Send) else (op.src, self._rank)
        key = (name.comm, name.coll_seq, *ends, op.step | name.step_mark, op.chunk | name.chunk_mark)
        side = network._sends if sends else network._receives
        return network.post(side, self._rank, key, _part(buffer, offset, length))

    def now(self) -> int:
        return 0

    def pending(self) -> dict[int, tuple[int, int]]:
        return self._network.pending(self._rank)

    def wait(self, timeout: float) -> list[int]:
        return self._network.deliver_and_collect(self._rank)


def _part(buffer: np.ndarray, offset: int, length: int) -> memoryview:
    if buffer.size == 0:
        assert length == 0
        return memoryview(bytearray())
    return memoryview(buffer).cast("B")[offset : offset + length]


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


def run_everywhere(schedules: list[Schedule], arrays: list[np.ndarray], reduce, seed: int) -> MemoryNetwork:
    """Run one collective on all ranks, each in a thread; `arrays` hold the results afterwards."""
    network = MemoryNetwork(seed)

    def work(rank: int) -> None:
        name = name_of(0, 7, schedules[rank])
        transport = MemoryTransport(network, rank)
        assert Execution(schedules[rank], transport, name, arrays[rank], reduce).run(None)

    on_every_rank(len(schedules), work)
    return network
