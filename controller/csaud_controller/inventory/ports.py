"""Ports: their numbers, their names as interfaces, and the end of a link."""

from __future__ import annotations

from typing import NamedTuple

from csaud_runs.names import interface

__all__ = ["CPU_PORT", "MAX_PORT", "RECIRCULATION_PORT", "End", "interface"]

CPU_PORT = 510
"""Port number of the P4 targets' packet-in/packet-out (their --cpu-port)."""
RECIRCULATION_PORT = 127
"""Packets for it pass the P4 program once more; no interface is behind it."""
MAX_PORT = RECIRCULATION_PORT - 1
"""Counters of the P4 program are indexed by port*4+kind for ports below 128."""


class End(NamedTuple):
    """One end of a link: a switch or host and its port (of a host: the number of its NIC, from 0)."""

    node: str
    port: int

    def __str__(self) -> str:
        return f"{self.node}:{self.port}"
