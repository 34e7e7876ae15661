"""Keeping the desired state on disk beside an event loop, which waits for no disk."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from csaud_controller.desired.store import Stored

LOG = logging.getLogger("csaud.controller")

Save = Callable[[Stored], None]


_AGAIN_S = 0.5


class NotKeptError(RuntimeError):
    """A change could not be kept, and so was not made."""


class Keeper:
    """Saves with `save`, in a thread and one at a time. `current` tells what is to be kept by now."""

    def __init__(self, save: Save, current: Callable[[], Stored]) -> None:
        self._save, self._current = save, current
        self._kept: Stored | None = None
        """None: nobody knows."""
        self._waiting: asyncio.Task[None] | None = None
        self._again: asyncio.TimerHandle | None = None
        self._ended = False
        self._disk = ThreadPoolExecutor(1, "keeper")
        self.lock = asyncio.Lock()
        """Held by whoever changes what `current` tells after having kept it."""
        self.error = ""
        """Why what is to be kept is not; empty: it is."""

    async def keep(self, stored: Stored) -> None:
        """Save this, under `lock`. NotKeptError: nobody knows that it is; what is current will be, soon."""
        if stored == self._kept:
            return
        self._kept = None  # it may be saved though the answer of a store is lost
        try:
            await asyncio.get_running_loop().run_in_executor(self._disk, self._save, stored)
        except OSError as error:
            self._try_again()
            raise NotKeptError(f"it cannot be kept: {error}") from None
        self._kept, self.error = stored, ""

    def soon(self) -> None:
        """Save what is current, when the disk has time; what changes meanwhile is saved with it."""
        if not self._ended and (self._waiting is None or self._waiting.done()):
            self._waiting = asyncio.get_running_loop().create_task(self.now(), name="keeper")

    def _try_again(self) -> None:
        if self._again is not None:
            self._again.cancel()
        if not self._ended:
            self._again = asyncio.get_running_loop().call_later(_AGAIN_S, self.soon)

    async def end(self) -> None:
        """Save what is current a last time: what is saved from then on is somebody else's."""
        self._ended = True
        if self._again is not None:
            self._again.cancel()
        await self.now()

    async def now(self) -> None:
        """Save what is current; `error` says why it could not be."""
        async with self.lock:
            while (stored := self._current()) != self._kept:
                try:
                    await self.keep(stored)
                except NotKeptError as error:
                    if str(error) != self.error:
                        LOG.error("the desired state: %s", error)
                    self.error = str(error)
                    return
