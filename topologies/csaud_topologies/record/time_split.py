"""Where the ranks' time went: computing, communicating, waiting for ranks that come later."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from csaud_topologies.record.model import RankTime

Interval = tuple[float, float]


def time_split(spans: Sequence[Sequence[Mapping[str, Any]]]) -> list[RankTime] | None:
    """Of each rank from what it had under way (csaud.Communicator.spans); of one that told nothing there is
    no entry, and None where nobody did.

    A wait for a collective counts as waiting until the last rank has called it, as communicating from then
    on; a wait for a transfer is communicating. The ranks' clocks must be one machine's. What a program waits
    for without a call of the library, as DDP does for its futures, is communication beside computing.
    """
    latest: dict[tuple[int, int, int], float] = {}
    for span in (span for of_rank in spans for span in of_rank if span["peer"] < 0):
        latest[_key(span)] = max(latest.get(_key(span), 0.0), span["started"])
    return [_of_rank(rank, of_rank, latest) for rank, of_rank in enumerate(spans) if of_rank] or None


def _of_rank(
    rank: int, spans: Sequence[Mapping[str, Any]], latest: Mapping[tuple[int, int, int], float]
) -> RankTime:
    waiting: list[Interval] = []
    waits: list[Interval] = []
    for span in spans:
        for begin, end in span["waited"]:
            here = begin if span["peer"] >= 0 else min(max(begin, latest[_key(span)]), end)
            waiting.append((begin, here))
            waits.append((begin, end))
    under_way = [*waits, *((span["started"], span["ended"]) for span in spans)]
    begin, end = min(each[0] for each in under_way), max(each[1] for each in under_way)
    waiting_s, waits_s, under_way_s = covered(waiting), covered(waits), covered(under_way)
    return RankTime(
        rank=rank,
        collectives=len(spans),
        computing_s=end - begin - under_way_s,
        beside_s=under_way_s - waits_s,
        communicating_s=waits_s - waiting_s,
        waiting_s=waiting_s,
    )


def covered(intervals: Iterable[Interval]) -> float:
    """Length of what at least one of them covers."""
    length, until = 0.0, float("-inf")
    for begin, end in sorted(intervals):
        length += max(0.0, end - max(begin, until))
        until = max(until, end)
    return length


def _key(span: Mapping[str, Any]) -> tuple[int, int, int]:
    return span.get("epoch", 0), span["communicator"], span["number"]
