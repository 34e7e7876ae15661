"""Packets per second through veth ports: the embedded switch beside simple_switch_grpc, over frame sizes.

Each switch has one processor, the generator the other one. The offered rate is what the generator can do, and
then twice what was forwarded, as a switch that is flooded may do less than one that is only busy; the better
figure counts. Switches take turns, so that a change in the machine's load meets all of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from statistics import median

from bench.results import Result, result
from bench.rig import Peer, Rig, rig

MAIN_SIZE = 1100
TARGETS = {"default build": 20.0, "fast build": 10.0}


def measure(
    embedded: Peer,
    peers: Sequence[Peer],
    cores: tuple[int, int],
    sizes: Sequence[int],
    *,
    seconds: float,
    rounds: int,
) -> list[Result]:
    """Rows for each size and peer, and how far ahead of the switch the generator is."""
    rates: dict[tuple[str, int], list[float]] = defaultdict(list)
    generator: list[float] = []
    for _ in range(rounds):
        for peer in (embedded, *peers):
            with rig(peer, cores) as running:
                if peer is embedded:
                    generator.append(running.generator_alone(seconds=seconds, size=MAIN_SIZE))
                for size in sizes:
                    rates[peer.name, size].append(best_rate(running, size, seconds))
    rows = []
    for size in sizes:
        own = median(rates[embedded.name, size])
        at = {"curve": "embedded", "x": size}
        rows.append(result(f"veth, {size} B", own, "packets/s", at=at))
        for peer in peers:
            theirs = median(rates[peer.name, size])
            limit = TARGETS.get(peer.name) if size == MAIN_SIZE else None
            rows.append(
                result(
                    f"veth, {size} B", own, "packets/s", peer=f"simple_switch_grpc, {peer.name}",
                    peer_value=theirs, bound="at least" if limit else None, limit=limit,
                    at={"curve": peer.name, "x": size},
                )
            )  # fmt: skip
    rows.append(
        result(
            "generator alone", median(generator), "packets/s", peer="embedded, forwarding",
            peer_value=median(rates[embedded.name, MAIN_SIZE]),
        )
    )  # fmt: skip
    return rows


def best_rate(running: Rig, size: int, seconds: float) -> float:
    """Packets forwarded per second, the better of flooded and busy."""
    flooded = running.blast(seconds=seconds, size=size).forwarded
    busy = running.blast(seconds=seconds, size=size, rate=max(2000.0, 2 * flooded)).forwarded
    return max(flooded, busy)
