"""Time that a switch adds to a single frame between two veth pairs, when nothing else goes on.

A frame goes out every millisecond and is waited for; a veth pair without a switch is subtracted.
"""

from __future__ import annotations

from collections.abc import Sequence

from bench.results import Result, result
from bench.rig import Peer, rig

_SIZE = 1100


def measure(peers: Sequence[Peer], cores: tuple[int, int], *, count: int) -> list[Result]:
    rows = []
    for peer in peers:
        with rig(peer, cores) as running:
            wire = running.ping(count=count, size=_SIZE, wire=True)
            through = running.ping(count=count, size=_SIZE)
        added = through["median_us"] - wire["median_us"]
        rows.append(result(f"added by {peer.name} between veths, idle", added, "us"))
    return rows
