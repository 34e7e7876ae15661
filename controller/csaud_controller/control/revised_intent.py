"""What is asked for, revision by revision: each is kept, and noted in the history, before it is in force."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from csaud_controller.control.asker import ASKER, NOTE
from csaud_controller.control.client import ConflictError
from csaud_controller.desired.changes import Changes, differences
from csaud_controller.desired.history import Record, Revisions
from csaud_controller.desired.keeper import Keeper, NotKeptError, Save
from csaud_controller.desired.store import Stored
from csaud_controller.inventory import End
from csaud_controller.policy.intent import Intent

LOG = logging.getLogger("csaud.controller")

_RECALLED = 100
"""Changes of earlier controllers that are told of with our own: what happened while a job ran, say."""


class RevisedIntent:
    """Of one fabric, begun with what was `stored`; `dead_links` are those to be kept with it."""

    def __init__(
        self,
        stored: Stored,
        save: Save,
        history: Revisions,
        clock: Callable[[], float],
        dead_links: Callable[[], tuple[End, ...]],
    ) -> None:
        self.intent = stored.intent
        self.revision = stored.revision
        """How often it, or the fabric, has changed."""
        self.history, self.changes = history, Changes(stored.revision)
        self._clock, self._dead_links, self._election_id = clock, dead_links, stored.election_id
        self._keeper = Keeper(save, self._current)

    async def begin(self, now: Record, generation: int) -> None:
        """Go on with the history: `now` is what is asked for at the start. HistoryError."""
        await self.history.begin(now)
        earlier = list[Record]()
        for row in reversed(await self.history.newest(_RECALLED)):
            with contextlib.suppress(ValueError):  # of a version that knew other policies
                earlier.append(await self.history.at(row["revision"]))
        self.changes.recall(earlier, generation)

    @asynccontextmanager
    async def revising(self, revision: int | None = None) -> AsyncIterator[None]:
        """Within it nobody else makes a revision. ConflictError: `revision` was given, and is not that in
        force."""
        async with self._keeper.lock:
            if revision is not None and revision != self.revision:
                raise ConflictError(
                    f"it was changed meanwhile: revision {self.revision} is in force, not {revision}"
                )
            yield

    async def take(self, intent: Intent) -> None:
        """Keep it, within `revising`; it is that in force afterwards. NotKeptError, HistoryError: it is
        not."""
        if intent == self.intent:
            await self._keeper.keep(self._current())
            self.intent = intent
        else:
            await self.revise(differences(self.intent, intent), intent)

    async def revise(self, what: list[str], intent: Intent, beside: Callable[[], None] | None = None) -> None:
        """The same, of the next revision, whatever has changed with it: `what` says so, and `beside` keeps
        it, in a thread."""
        following = self.revision + 1
        stored = self._current().model_copy(update={"intent": intent, "revision": following})
        record = Record(following, self._clock(), ASKER.get(), what, NOTE.get(), intent)
        async with self.history.recorded(record):
            await self._keeper.keep(stored)
            try:
                if beside is not None:
                    await asyncio.to_thread(beside)
            except OSError as error:
                self._keeper.soon()  # its revision is kept already
                raise NotKeptError(f"it cannot be kept: {error}") from None
        self.intent, self.revision = intent, following

    def tell_since(self, before: Intent, generation: int) -> None:
        """Tell how it differs from that before, which is in force when every switch holds this generation."""
        if (noted := self.changes.add(before, self.intent, generation, self.revision)) is not None:
            LOG.info("asked for: %s", "; ".join(noted.what))

    def tell(self, what: list[str], generation: int) -> None:
        """The same of what else was changed, in words."""
        if what:
            LOG.info("asked for: %s", "; ".join(what))
            self.changes.note(what, self.intent, generation, self.revision)

    def keep_soon(self) -> None:
        """Save what is current, should it not be."""
        self._keeper.soon()

    @property
    def not_kept(self) -> str:
        """Why what is current is not kept; empty: it is."""
        return self._keeper.error

    async def end(self) -> None:
        """Save what is current a last time."""
        await self._keeper.end()
        await self.history.close()

    def _current(self) -> Stored:
        """What must outlive this process."""
        return Stored(
            intent=self.intent,
            revision=self.revision,
            dead_links=self._dead_links(),
            election_id=self._election_id,
        )
