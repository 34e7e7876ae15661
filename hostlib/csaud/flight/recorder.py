"""The flight recorder: a rank's latest collectives, kept in memory, written as JSON when asked or on error.

`csaud flight DIR` reads what several ranks wrote and says which of them lags.
"""

import dataclasses
import json
import os
import socket
import time
from collections import deque
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from csaud_runs.whole import write_whole

from csaud.flight.record import Record, Wait
from csaud.flight.totals import Totals
from csaud.flight.trace import events

VERSION = 1
_NANO = 1e-9


class Recorder:
    """The latest `limit` records of one rank."""

    def __init__(self, limit: int, rank: int, world: int, epoch: int, folder: str) -> None:
        self.rank, self.world, self.epoch = rank, world, epoch
        self.folder = folder
        self.asked = False  # by a signal
        self._totals: dict[tuple[int, str], Totals] = {}
        self._records: deque[Record] = deque(maxlen=limit)
        self._failed = False
        self._offset = _to_1970()

    def begin(self, record: Record) -> Record:
        """Note that it starts now."""
        record.started = time.monotonic_ns()
        self._records.append(record)
        return record

    def end(self, record: Record) -> None:
        """It has ended; counted once."""
        key = (record.comm, record.call.name)
        totals = self._totals.get(key)
        if totals is None:
            totals = self._totals[key] = Totals()
        totals.add(record)

    def totals(self, comm: int) -> dict[str, Totals]:
        """What the collectives of a communicator took, by name."""
        return {
            name: dataclasses.replace(each) for (of, name), each in list(self._totals.items()) if of == comm
        }

    def trace(self) -> list[dict[str, Any]]:
        """Its records as events of a trace (csaud.flight.trace)."""
        return events(self._records.copy(), self.rank, self._offset)

    def spans(self) -> list[dict[str, Any]]:
        """When each of its records that are over ran, and when the application waited for it.

        Rows of `communicator`, `number`, `peer` (-1: a collective), `started`, `ended`, and `waited`: pairs
        of begin and end, in seconds since 1970 by this machine's clock.
        """
        return [
            {
                "communicator": record.comm,
                "number": record.number,
                "peer": record.peer,
                "started": self._seconds(record.started),
                "ended": self._seconds(record.ended),
                "waited": [[self._seconds(begin), self._seconds(end)] for begin, end in record.waited],
            }
            for record in self._records.copy()
            if record.ended
        ]

    def match(self, other: Record) -> Record | None:
        """What this rank has under the number of another rank's record, None where it has nothing yet."""
        return next((mine for mine in reversed(self._records.copy()) if mine.matches(other)), None)

    def ended(self, name: str) -> list[Record]:
        """Those of collective `name`, by any algorithm, that are over and ended well, in order."""
        return [
            record
            for record in self._records.copy()
            if record.ended and not record.error and record.call.name.partition(".")[0] == name
        ]

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
        write_whole(path, json.dumps(self.contents(reason, waits)) + "\n")
        return path

    def _row(self, record: Record, waits: Iterable[Wait]) -> dict[str, Any]:
        state = "ended" if record.ended else "failed" if record.error else "running"
        return {
            "communicator": record.comm,
            "number": record.number,
            "call": record.call._asdict(),
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


def _to_1970() -> int:
    """ns from time.monotonic_ns() to 1970. Ranks of a machine are compared by it, so of several readings it
    is the one in which least time passed."""
    readings = []
    for _ in range(5):
        before, now, after = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
        readings.append((after - before, now - (before + after) // 2))
    return min(readings)[1]
