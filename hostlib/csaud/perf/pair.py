"""Messages from one rank to another: bandwidth and latency. Rank 1 measures, rank 0 is the other end."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from csaud._core import StreamRole
from csaud.groups.communicator import Communicator
from csaud.perf.plan import Plan
from csaud.perf.row import Row, make_row

SERVER, CLIENT = 0, 1
_COMM = 0x7FFF  # of messages that belong to no group; groups count from 0
_FILL = 0x5A


def measure(comm: Communicator, plan: Plan, show: Callable[[Row], None]) -> list[Row]:
    """Run the plan with the other of the first two ranks; rows at rank 1, which shows them as they come.

    Raises:
        CsaudError: the transport failed.
    """
    rows: list[Row] = []
    pair = _Pair(comm, plan)
    for size in plan.sizes:
        row = pair.latency(size) if plan.test == "latency" else pair.bandwidth(size)
        if comm.rank == CLIENT:
            rows.append(row)
            show(row)
    return rows


class _Pair:
    def __init__(self, comm: Communicator, plan: Plan) -> None:
        self._comm = comm
        self._plan = plan
        self._client = comm.rank == CLIENT
        self._peer = SERVER if self._client else CLIENT
        self._first = 0  # coll_seq of the next message

    def bandwidth(self, size: int) -> Row:
        """Messages one way, several under way."""
        role = StreamRole.send if self._client else StreamRole.receive
        depth = self._plan.depth
        buffer = np.full(size if self._client else depth * size, _FILL if self._client else 0, np.uint8)
        times, elapsed = self._run(role, size, depth, buffer)
        wrong = self._wrong(buffer[: min(depth, len(times)) * size])
        return make_row("bandwidth", 2, size, [t * 1e-3 for t in times], elapsed * 1e-3, wrong=wrong)

    def latency(self, size: int) -> Row:
        """There and back again, one message at a time; half of it is reported."""
        role = StreamRole.ping if self._client else StreamRole.pong
        depth = 2  # the receive of the next message is posted before this one is answered
        buffer = np.zeros((1 + depth) * size, np.uint8)
        buffer[:size] = _FILL
        times, _ = self._run(role, size, depth, buffer)
        halves = [t * 0.5e-3 for t in times]
        wrong = self._wrong(buffer[size:])
        return make_row("latency", 2, size, halves, sum(halves), wrong=wrong)

    def _run(self, role: StreamRole, size: int, depth: int, buffer: np.ndarray) -> tuple[list[int], int]:
        warmup = max(self._plan.warmup, 2 * depth)
        _, took = self._stream(role, size, warmup, depth, buffer)
        wish = np.array([self._plan.iterations_for(took * 1e-9 / warmup)], np.int64)
        iterations = int(self._comm.broadcast(wish, CLIENT)[0])
        return self._stream(role, size, iterations, depth, buffer)

    def _stream(
        self, role: StreamRole, size: int, messages: int, depth: int, buffer: np.ndarray
    ) -> tuple[list[int], int]:
        self._comm.barrier()
        first, self._first = self._first, self._first + messages
        return self._comm.transport.stream(role, self._peer, _COMM, first, size, messages, depth, buffer)

    def _wrong(self, filled: np.ndarray) -> int | None:
        """Bytes that did not arrive as they were sent, at whichever end receives (what one has sent is filled
        anyway); both learn it."""
        if not self._plan.check:
            return None
        mine = int(np.count_nonzero(filled != _FILL))
        return int(self._comm.all_reduce(np.array([mine], np.int64))[0])
