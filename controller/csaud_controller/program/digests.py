"""The digests that the P4 program sends."""

from __future__ import annotations

from csaud_controller.program.entities import Digest

ALARMS = Digest("overflow_alarm_t", list_size=16, timeout_ns=20_000_000)
"""Tells of alarms. A switch sends at most one a port and interval (`alarm_interval`)."""
