"""Signals as words."""

from __future__ import annotations

import signal


def signal_name(number: int) -> str:
    """As SIGKILL; those of real time, of which most have no name, by number."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
