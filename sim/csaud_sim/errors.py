"""What fails, apart from what was asked for wrongly."""

from __future__ import annotations

from csaud_runs.errors import RunError


class RunFailed(RunError):
    """What was asked for can be, and did not come about (exit status 1); other errors are of mistaken use."""
