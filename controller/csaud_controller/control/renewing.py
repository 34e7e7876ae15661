"""Renewing a term while a controller is made and leads, however busy its event loop is: in a thread."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable

from csaud_runs.etcd import StoreError

from csaud_controller.desired.shared import SupersededError

_RENEW_S = 0.5
_STUCK_S = 30.0
"""An event loop that answered nobody for so long is not busy: another controller shall be primary."""

_END_S = 0.5
"""That a store which does not answer may hold up the end."""


class Renewing:
    """Within it, `renew` is called again and again, and `renewed` is told on the event loop how that went:
    with None, or with why nobody knows."""

    def __init__(self, renew: Callable[[], None], renewed: Callable[[StoreError | None], None]) -> None:
        self._renew, self._renewed = renew, renewed
        self._loop = asyncio.get_running_loop()
        self.over: asyncio.Future[None] = self._loop.create_future()
        """Fails with SupersededError when another controller is primary."""
        self._heard = time.monotonic()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._work, name="term", daemon=True)

    async def __aenter__(self) -> Renewing:
        self._thread.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._ended.set()
        if not self.over.cancel():
            self.over.exception()  # who could do something about it has ended, too
        await asyncio.to_thread(self._thread.join, _END_S)

    def _work(self) -> None:
        while not self._ended.wait(_RENEW_S):
            error: Exception | None = None
            if time.monotonic() - self._heard < _STUCK_S:
                try:
                    self._renew()
                except Exception as raised:
                    error = raised
            if not self._ended.is_set():
                self._loop.call_soon_threadsafe(self._tell, error)

    def _tell(self, error: Exception | None) -> None:
        self._heard = time.monotonic()
        if self._ended.is_set():
            return
        if error is None or (isinstance(error, StoreError) and not isinstance(error, SupersededError)):
            self._renewed(error)
        else:
            self._ended.set()
            self.over.set_exception(error)
