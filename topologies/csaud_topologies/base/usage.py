"""Mistaken use, apart from what fails."""

from __future__ import annotations

from csaud_runs.errors import RunError


class UsageError(RunError):
    """An option, an argument, a value or a file that cannot be; nothing was changed (exit status 2)."""
