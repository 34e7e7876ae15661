"""A word to the user beside what is printed."""

from __future__ import annotations

import contextlib
import sys


def say(text: str) -> None:
    """One line on stderr; where nobody reads it any more, nothing."""
    with contextlib.suppress(OSError, ValueError):
        print(f"csaud: {text}", file=sys.stderr, flush=True)
