"""A word to the user beside what is printed."""

from __future__ import annotations

import contextlib
import os
import sys


def say(text: str) -> None:
    """One line on stderr; where nobody reads it any more, nothing."""
    with contextlib.suppress(OSError, ValueError):
        print(f"csaud: {text}", file=sys.stderr, flush=True)


def drop_unsaid() -> None:
    """What cannot be said any more, as on a terminal that is closed, does not change how we end."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
