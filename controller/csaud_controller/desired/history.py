"""What was asked for, revision by revision: by whom, when, and all of it. SQLite, in a thread of its own."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from csaud_controller.policy.intent import Intent

T = TypeVar("T")

KEPT = 10_000
"""Revisions."""

_TABLE = """create table if not exists revisions (
    revision integer primary key, time real not null, who text not null, what text not null,
    note text not null, intent text not null)"""
_COLUMNS = "revision, time, who, what, note"


class HistoryError(RuntimeError):
    """The history cannot be read or written; the text names its file."""


@dataclass(frozen=True)
class Record:
    """One revision of what is asked for."""

    revision: int
    time: float
    """Seconds since the epoch."""
    who: str
    what: list[str]
    """In words, a change each."""
    note: str
    """What users said about it."""
    intent: Intent

    def as_json(self) -> dict[str, Any]:
        """JSON values."""
        return {**vars(self), "intent": self.intent.model_dump(mode="json")}


class Revisions(Protocol):
    """A history, wherever it is."""

    async def begin(self, now: Record) -> None: ...
    def recorded(self, record: Record) -> AbstractAsyncContextManager[None]: ...
    async def newest(self, limit: int) -> list[dict[str, Any]]: ...
    async def at(self, revision: int) -> Record: ...
    async def before(self, intent: Intent, now: float) -> Record: ...
    async def close(self) -> None: ...


class History:
    """Of one run; in memory where no path is given."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._thread = ThreadPoolExecutor(1, "history")
        self._open_connection: sqlite3.Connection | None = None

    async def begin(self, now: Record) -> None:
        """What is asked for when a controller starts. What was noted beyond it was never in force: it was
        killed before it could be kept."""

        def work(connection: sqlite3.Connection) -> None:
            connection.execute("delete from revisions where revision > ?", (now.revision,))
            found = connection.execute("select 1 from revisions where revision = ?", (now.revision,))
            if found.fetchone() is None:
                _insert(connection, now)

        await self._do(work)

    @asynccontextmanager
    async def recorded(self, record: Record) -> AsyncIterator[None]:
        """Note a revision that comes into force within; it is forgotten where that fails."""
        await self._do(lambda connection: _insert(connection, record))
        try:
            yield
        except BaseException:
            await self._do(
                lambda c: c.execute("delete from revisions where revision = ?", (record.revision,))
            )
            raise

    async def newest(self, limit: int) -> list[dict[str, Any]]:
        """The last revisions, newest first, as JSON values without what was asked for."""

        def work(connection: sqlite3.Connection) -> list[dict[str, Any]]:
            rows = connection.execute(
                f"select {_COLUMNS} from revisions order by revision desc limit ?", (limit,)
            )
            return [
                {**dict(zip(_COLUMNS.split(", "), row, strict=True)), "what": json.loads(row[3])}
                for row in rows
            ]

        return await self._do(work)

    async def at(self, revision: int) -> Record:
        """One revision; ValueError says which are kept."""

        def work(connection: sqlite3.Connection) -> Record:
            query = f"select {_COLUMNS}, intent from revisions where revision = ?"
            kept = abs(revision) < 1 << 63 and connection.execute(query, (revision,)).fetchone()
            if not kept:
                first, last = connection.execute(
                    "select min(revision), max(revision) from revisions"
                ).fetchone()
                raise ValueError(f"no revision {revision} is kept; expected one from {first} to {last}")
            return _record(kept)

        return await self._do(work)

    async def before(self, intent: Intent, now: float) -> Record:
        """The newest revision with another policy, which has not ended by `now`; ValueError when there is
        none."""

        def work(connection: sqlite3.Connection) -> Record:
            for row in connection.execute(f"select {_COLUMNS}, intent from revisions order by revision desc"):
                record = _record(row)
                if record.intent.policy != intent.policy and record.intent.at(now) is record.intent:
                    return record
            raise ValueError("no other policy was in force before: there is nothing to go back to")

        return await self._do(work)

    async def close(self) -> None:
        """Idempotent."""
        if (connection := self._open_connection) is not None:
            self._open_connection = None
            await asyncio.get_running_loop().run_in_executor(self._thread, connection.close)
        self._thread.shutdown(wait=False)

    async def _do(self, work: Callable[[sqlite3.Connection], T]) -> T:
        def within() -> T:
            try:
                connection = self._connection()
                with connection:
                    return work(connection)
            except sqlite3.Error as error:
                raise HistoryError(f"{self._path or 'the history'}: {error}") from None

        return await asyncio.get_running_loop().run_in_executor(self._thread, within)

    def _connection(self) -> sqlite3.Connection:
        if self._open_connection is None:
            made = sqlite3.connect(self._path or ":memory:", check_same_thread=False)
            made.execute(_TABLE)
            made.commit()
            self._open_connection = made
        return self._open_connection


def _insert(connection: sqlite3.Connection, record: Record) -> None:
    connection.execute(
        f"insert or replace into revisions ({_COLUMNS}, intent) values (?, ?, ?, ?, ?, ?)",
        (
            record.revision,
            record.time,
            record.who,
            json.dumps(record.what),
            record.note,
            record.intent.model_dump_json(exclude_none=True),
        ),
    )
    connection.execute("delete from revisions where revision <= ?", (record.revision - KEPT,))


def _record(row: tuple[Any, ...]) -> Record:
    revision, time, who, what, note, intent = row
    return Record(revision, time, who, json.loads(what), note, Intent.model_validate_json(intent))
