"""What the interface works with: the run it speaks for."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field

from csaud_controller.control.client import ControlError
from csaud_controller.run.directory import RunDir
from csaud_controller.service.audit import Audit
from csaud_controller.service.sampling import Sampler

MOST_WAITING = 16
"""Requests that wait for something to happen; each takes one of the 40 threads that requests have."""
MOST_WORKING = 16
"""Requests for which the controller has to work; the threads that are left are of those who look."""


@dataclass(frozen=True)
class Site:
    """One controller, as seen from here."""

    run: RunDir
    sampler: Sampler
    audit: Audit
    interval_s: float
    """Between two samples for whoever watches."""
    _waiting: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(MOST_WAITING))
    _working: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(MOST_WORKING))

    def waiting(self) -> AbstractContextManager[None]:
        """Within it, a request waits; ControlError where too many do."""
        return _one_of(self._waiting, f"{MOST_WAITING} requests wait already: ask later, or without waiting")

    def working(self) -> AbstractContextManager[None]:
        """Within it, a request has the controller change, plan or trace; ControlError where too many do."""
        return _one_of(self._working, f"{MOST_WORKING} changes, plans and traces are under way: ask later")


@contextmanager
def _one_of(places: threading.Semaphore, none_left: str) -> Iterator[None]:
    if not places.acquire(blocking=False):
        raise ControlError(none_left)
    try:
        yield
    finally:
        places.release()
