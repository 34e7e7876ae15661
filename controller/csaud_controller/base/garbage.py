"""Garbage collection in a process most of whose memory lasts."""

from __future__ import annotations

import gc

_FULL_EVERY = 1000
"""Collections of the middle generation: seven million objects, in place of 70,000."""


def collect_little() -> None:
    """Tables last and have no cycles, and a collection that visits all of 80 switches' takes half a second:
    full ones are seldom from now on, and visit nothing of what is there by now."""
    before, middle, _ = gc.get_threshold()
    gc.set_threshold(before, middle, _FULL_EVERY)
    gc.freeze()
