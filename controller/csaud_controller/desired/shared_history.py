"""The history of a fabric with several controllers: revisions in their store, so that whoever is primary goes
on with it. As `history.History`, which is beside one controller."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from csaud_runs.etcd import StoreError, delete, put

from csaud_controller.desired.history import KEPT, HistoryError, Record
from csaud_controller.desired.shared import SharedStore
from csaud_controller.policy.intent import Intent

T = TypeVar("T")
_AT_ONCE = 100


class SharedHistory:
    """In the store."""

    def __init__(self, store: SharedStore) -> None:
        self._store = store
        self._first, self._end = store.key("history/"), store.key("history0")  # "0" comes after "/"
        self._thread = ThreadPoolExecutor(1, "history")

    async def begin(self, now: Record) -> None:
        """What is asked for when a controller becomes primary; what is noted beyond was never in force."""

        def work() -> None:
            self._store.write(delete(self._key(now.revision + 1), self._end))
            if not self._store.etcd.range(self._key(now.revision)):
                self._insert(now)

        await self._do(work)

    @asynccontextmanager
    async def recorded(self, record: Record) -> AsyncIterator[None]:
        """Note a revision that comes into force within; it is forgotten where that fails."""
        await self._do(lambda: self._insert(record))
        try:
            yield
        except BaseException:
            await self._do(lambda: self._store.write(delete(self._key(record.revision))))
            raise

    async def newest(self, limit: int) -> list[dict[str, Any]]:
        """The last revisions, newest first, as JSON values without what was asked for."""

        def work() -> list[dict[str, Any]]:
            found = self._store.etcd.range(self._first, self._end, newest_first=True, limit=limit)
            rows = [json.loads(text) for _, text in found]
            return [{key: value for key, value in row.items() if key != "intent"} for row in rows]

        return await self._do(work)

    async def at(self, revision: int) -> Record:
        """One revision; ValueError says which are kept."""

        def work() -> Record:
            if not (found := self._store.etcd.range(self._key(revision))):
                first = self._store.etcd.range(self._first, self._end, limit=1)
                last = self._store.etcd.range(self._first, self._end, newest_first=True, limit=1)
                numbers = [json.loads(text)["revision"] for _, text in (*first, *last)]
                raise ValueError(
                    f"no revision {revision} is kept; expected one from {numbers[0]} to {numbers[-1]}"
                )
            return _record(found[0][1])

        return await self._do(work)

    async def before(self, intent: Intent, now: float) -> Record:
        """The newest revision with another policy, not ended by `now`; ValueError: there is none."""

        def work() -> Record:
            for record in self._backwards():
                if record.intent.policy != intent.policy and record.intent.at(now) is record.intent:
                    return record
            raise ValueError("no other policy was in force before: there is nothing to go back to")

        return await self._do(work)

    async def close(self) -> None:
        """Idempotent."""
        self._thread.shutdown(wait=False)

    def _backwards(self) -> Iterator[Record]:
        end = self._end
        while found := self._store.etcd.range(self._first, end, newest_first=True, limit=_AT_ONCE):
            yield from (_record(text) for _, text in found)
            end = found[-1][0]

    def _insert(self, record: Record) -> None:
        self._store.write(
            put(self._key(record.revision), json.dumps(record.as_json())),
            delete(self._first, self._key(max(0, record.revision - KEPT + 1))),
        )

    def _key(self, revision: int) -> str:
        return f"{self._first}{revision:020d}"

    async def _do(self, work: Callable[[], T]) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        except StoreError as error:
            raise HistoryError(str(error)) from None


def _record(text: str) -> Record:
    row = json.loads(text)
    return Record(**{**row, "intent": Intent.model_validate(row["intent"])})
