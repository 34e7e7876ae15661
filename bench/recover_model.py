"""What failures cost, by formula: training that recovers within a step, and checkpoints with restarts."""

from __future__ import annotations

import math


def young_daly(checkpoint_s: float, between_failures_s: float) -> float:
    """Seconds between two checkpoints that cost least (Young 1974, Daly 2006, first order)."""
    return math.sqrt(2 * checkpoint_s * between_failures_s)


def of_restarts(checkpoint_s: float, restart_s: float, between_failures_s: float) -> float:
    """Share of the time that is useful steps, where checkpoints are an optimal interval apart.

    A failure costs the restart and, in the mean, half an interval that is done again.
    """
    interval = young_daly(checkpoint_s, between_failures_s)
    return 1 / (1 + checkpoint_s / interval + (restart_s + interval / 2) / between_failures_s)


def of_recovery(recovery_s: float, between_failures_s: float) -> float:
    """Share of the time that is useful steps, where a failure costs `recovery_s` alone."""
    return 1 / (1 + recovery_s / between_failures_s)
