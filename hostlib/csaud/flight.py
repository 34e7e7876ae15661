"""The flight recorder: a rank's latest collectives, kept in memory, written as JSON when asked or on error.

`csaud flight DIR` reads what several ranks wrote and says which of them lags.
"""

import dataclasses
import json
import os
import socket
import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from csaud.collectives.call import Call

VERSION = 1
_NANO = 1e-9


@dataclasses.dataclass(slots=True, eq=False)
class Record:
    """One collective, or one transfer from rank to rank.

    Attributes:
        comm, number: communicator, and running number in it; of a transfer: with this peer.
        nbytes: of this rank's array.
        ranks: of the communicator, as numbered in the job.
        peer: rank in the job, -1 for a collective.
        sends: a transfer's direction.
        started, ended: ns of time.monotonic_ns(); ended is 0 while it is not over.
        error: what ended it, where it did not end well.
    """

    comm: int
    number: int
    call: "Call"
    nbytes: int
    ranks: Sequence[int]
    peer: int = -1
    sends: bool = False
    started: int = 0
    ended: int = 0
    error: str = ""

    def matches(self, other: "Record") -> bool:
        """Whether `other`, of rank `other.peer` where it is a transfer, has the same number there."""
        if (self.comm, self.number, self.peer) != (other.comm, other.number, other.peer):
            return False
        return self.peer < 0 or self.sends != other.sends

    def __str__(self) -> str:
        if self.peer >= 0:
            way = f"to rank {self.peer}" if self.sends else f"from rank {self.peer}"
            return f"{self.call} {way} (number {self.number} of communicator {self.comm})"
        return f"{self.call} (number {self.number} of communicator {self.comm})"


@dataclasses.dataclass(frozen=True, slots=True)
class Wait:
    """A message that a collective waits for.

    Attributes:
        rank: who has to send it, or to take it.
        arrived, packets: how much of it has come, as far as this rank knows.
    """

    rank: int
    sends: bool
    step: int
    chunk: int
    nbytes: int
    arrived: int
    packets: int

    def __str__(self) -> str:
        what = "to" if self.sends else "from"
        missing = f"{self.packets - self.arrived} of {self.packets} packets missing"
        return f"{what} rank {self.rank} (step {self.step}, message {self.chunk}: {missing})"


class Recorder:
    """The latest `limit` records of one rank."""

    def __init__(self, limit: int, rank: int, world: int, epoch: int, folder: str) -> None:
        self.rank, self.world, self.epoch = rank, world, epoch
        self.folder = folder
        self.asked = False  # by a signal
        self._records: deque[Record] = deque(maxlen=limit)
        self._failed = False
        self._offset = time.time_ns() - time.monotonic_ns()

    def begin(self, record: Record) -> Record:
        """Note that it starts now."""
        record.started = time.monotonic_ns()
        self._records.append(record)
        return record

    def match(self, other: Record) -> Record | None:
        """What this rank has under the number of another rank's record, None where it has nothing yet."""
        return next((mine for mine in reversed(self._records.copy()) if mine.matches(other)), None)

    def fail(self, reason: str) -> bool:
        """The job is over, and what runs has failed; False where that was known."""
        if self._failed:
            return False
        self._failed = True
        for record in self._records.copy():
            if not record.ended:
                record.error = reason
        return True

    def contents(self, reason: str, waits: Mapping[int, Iterable[Wait]]) -> dict[str, Any]:
        """What `write` writes; `waits` by id() of the record."""
        records = [self._row(record, waits.get(id(record), ())) for record in self._records.copy()]
        return {
            "version": VERSION,
            "rank": self.rank,
            "world": self.world,
            "epoch": self.epoch,
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "time": time.time(),
            "reason": reason,
            "collectives": records,
        }

    def write(self, reason: str, waits: Mapping[int, Iterable[Wait]]) -> Path:
        """Write the file of this rank and epoch, in one go. OSError where that cannot be."""
        folder = Path(self.folder)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"epoch-{self.epoch}-rank-{self.rank}.json"
        draft = path.with_suffix(f".{os.getpid()}.tmp")
        draft.write_text(json.dumps(self.contents(reason, waits)) + "\n")
        draft.replace(path)
        return path

    def _row(self, record: Record, waits: Iterable[Wait]) -> dict[str, Any]:
        state = "ended" if record.ended else "failed" if record.error else "running"
        return {
            "communicator": record.comm,
            "number": record.number,
            "call": dataclasses.asdict(record.call),
            "bytes": record.nbytes,
            "ranks": list(record.ranks),
            "peer": record.peer,
            "sends": record.sends,
            "state": state,
            "error": record.error,
            "started": self._seconds(record.started),
            "ended": self._seconds(record.ended) if record.ended else None,
            "waits_for": [dataclasses.asdict(wait) for wait in waits],
        }

    def _seconds(self, monotonic: int) -> float:
        """Since 1970."""
        return (monotonic + self._offset) * _NANO
