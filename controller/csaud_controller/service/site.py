"""What the interface works with: the run it speaks for."""

from __future__ import annotations

from dataclasses import dataclass

from csaud_controller.run.directory import RunDir
from csaud_controller.service.audit import Audit
from csaud_controller.service.sampling import Sampler


@dataclass(frozen=True)
class Site:
    """One controller, as seen from here."""

    run: RunDir
    sampler: Sampler
    audit: Audit
    interval_s: float
    """Between two samples for whoever watches."""
