"""Why a job that failed may be no fault of the network's: switches that could not keep up."""

from __future__ import annotations

from collections.abc import Mapping


def overload(before: Mapping[str, int], after: Mapping[str, int]) -> str:
    """What the P4 target dropped unseen by the program between two readings of `hidden_drops`: one more line
    of a message; empty where it dropped nothing."""
    lost = {place: packets - before.get(place, 0) for place, packets in after.items()}
    if not any(lost.values()):
        return ""
    place, most = max(lost.items(), key=lambda item: item[1])
    return (
        f"\n  {sum(lost.values()):,} packets came faster than this machine's switches could take them, "
        f"{most:,} at {place}: slower links (--rate) or less traffic beside the job may help"
    )
