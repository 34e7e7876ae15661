"""The folder that a command is started in."""

from __future__ import annotations

from pathlib import Path

GONE = "the working folder is gone: change into one that is there"


def is_gone() -> bool:
    """Whether somebody has removed it meanwhile."""
    try:
        Path.cwd()
    except FileNotFoundError:
        return True
    return False
