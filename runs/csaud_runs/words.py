"""What is told of runs, in words."""

from __future__ import annotations


def duration(seconds: float) -> str:
    """To the second, from an hour on to the minute."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"
