"""How ranks find out that they called different collectives.

Messages of unlike calls never meet (csaud.collectives.signature), so ranks that disagree wait for each
other. A rank that has waited for a while tells those that it waits for what it is at, again and again, less
and less often. Who is told compares that with what it called under the same number itself; where the two
differ it ends the job with an error that has both. While collectives end in time nothing of this happens.
"""

import json
import logging
from collections.abc import Collection, Iterable, Mapping
from typing import Protocol

from csaud.errors import MismatchError
from csaud.flight.record import Call, Record, Wait
from csaud.flight.recorder import Recorder

log = logging.getLogger(__name__)

ASK_AFTER = 1.0
"""Seconds that a collective takes before others are asked about it."""
_NAME_BYTES = 50  # a registered algorithm's name may be of any length; a note has 200
_DETAIL_BYTES = 50


class Notes(Protocol):
    """Short texts between ranks, which may get lost; `csaud.groups.transport.Transport` has them."""

    def tell(self, rank: int, note: bytes) -> None:
        """Send a note to another rank."""

    def take_notes(self) -> Mapping[int, bytes]:
        """The latest note of each rank that told one since the last call."""


class Inquiries:
    """Of one rank; its calls come from one thread."""

    def __init__(self, notes: Notes, recorder: Recorder) -> None:
        self._notes = notes
        self._recorder = recorder
        self._next: dict[int, float] = {}  # id() of a record -> its age when it is asked about next, s
        self._open: dict[int, Record] = {}  # the latest that each rank told, where it could not be judged yet

    def ask(self, record: Record, age: float, waits: Iterable[Wait]) -> None:
        """Tell those that `record` waits for what it is, when it is time; `age` in seconds."""
        if age < self._next.get(id(record), ASK_AFTER):
            return
        self._next[id(record)] = 2 * age
        for rank in sorted({wait.rank for wait in waits}):
            self._notes.tell(rank, _encode(record))

    def forget(self, running: Collection[int]) -> None:
        """Of all records but these (by id()) nothing is kept."""
        self._next = {key: age for key, age in self._next.items() if key in running}

    def hear(self) -> MismatchError | None:
        """What others told; the error of one that called something else than this rank did."""
        for rank, note in self._notes.take_notes().items():
            if (record := _decode(note, rank)) is not None:
                self._open[rank] = record
        for rank, theirs in list(self._open.items()):
            mine = self._recorder.match(theirs)
            if mine is None:
                continue
            del self._open[rank]
            if not _alike(mine.call, theirs.call):
                where = f"number {mine.number} of communicator {mine.comm}"
                return MismatchError(
                    f"{where}: rank {self._recorder.rank} called {mine.call}, rank {rank} {theirs.call}"
                )
        return None


def _alike(mine: Call, theirs: Call) -> bool:
    return _fields(mine) == _fields(theirs)


def _fields(call: Call) -> list[str | int]:
    detail = call.detail[:_DETAIL_BYTES]
    return [
        call.name[:_NAME_BYTES],
        call.dtype,
        call.count,
        call.op,
        call.root,
        *([detail] if detail else []),
    ]


def _encode(record: Record) -> bytes:
    fields = [record.comm, record.number, int(record.peer >= 0), int(record.sends), *_fields(record.call)]
    return json.dumps(fields, separators=(",", ":")).encode()


def _decode(note: bytes, rank: int) -> Record | None:
    """The record of `rank`; None where it cannot be read."""
    try:
        comm, number, transfer, sends, name, dtype, count, op, root, *detail = json.loads(note)
        call = Call(str(name), str(dtype), int(count), str(op), int(root), *map(str, detail))
        if not str(call).isprintable():  # it goes into an error that people read
            raise ValueError("what it called is no text")
        return Record(int(comm), int(number), call, 0, (), rank if transfer else -1, bool(sends))
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        log.warning("what rank %d tells cannot be read: %r", rank, error)
        return None
