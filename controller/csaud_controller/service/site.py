"""What the interface works with: the run it speaks for."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from csaud_controller.control.client import ControlError
from csaud_controller.run.directory import RunDir
from csaud_controller.service.audit import Audit
from csaud_controller.service.sampling import Sampler

MOST_WAITING = 16
"""Requests that wait for something to happen; each takes one of the 40 threads that requests have."""


@dataclass(frozen=True)
class Site:
    """One controller, as seen from here."""

    run: RunDir
    sampler: Sampler
    audit: Audit
    interval_s: float
    """Between two samples for whoever watches."""
    _places: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(MOST_WAITING))

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Within it, a request waits; ControlError where too many do."""
        if not self._places.acquire(blocking=False):
            raise ControlError(f"{MOST_WAITING} requests wait already: ask later, or without waiting")
        try:
            yield
        finally:
            self._places.release()
