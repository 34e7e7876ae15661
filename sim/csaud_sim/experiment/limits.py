"""Bounds of what an experiment may ask for: beyond them clocks and counters of the simulation overflow."""

from __future__ import annotations

from typing import Annotated

from csaud_controller.base.units import Duration, between

from csaud_sim.link_events import LONGEST_TIME as LONGEST_TIME

FASTEST_LINK = 10**15
"""bit/s. Those of all hosts are added up."""
LONGEST_QUEUE = 2**31 - 1
"""Packets."""
LONGEST_FLOW = 2**40
"""Bytes; of an array, too."""
SEEDS = 2**32
MOST_SEEDS = 100_000
"""Of a sweep."""
MOST_COLLECTIVES = 1_000_000

Span = Annotated[Duration, between(0, LONGEST_TIME)]
"""A duration that is one of an experiment's."""
