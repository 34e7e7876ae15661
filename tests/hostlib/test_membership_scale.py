"""A decision among very many ranks takes the leader a few steps an answer, not one for each rank."""

import time
from typing import Any

from csaud.membership.arbiter import Majority
from csaud.membership.decree import Decree
from csaud.membership.messages import HasAccepted, Json, Promise

BRINGS: Json = {"admit": True, "newcomers": []}


def led(world: int) -> tuple[Decree, float]:
    """A decision that rank 0 of `world` led to its end, and processor time for that."""
    began = time.process_time()
    decree = Decree(
        "next", 0, world, BRINGS, lambda brought: {"members": sorted(brought), "newcomers": []}, Majority(),
        failed=(), now=0.0, timeout=30.0,
    )  # fmt: skip
    ballot: Any = decree._ballot
    for rank in range(1, world):
        decree.receive(rank, Promise("next", ballot, BRINGS, None), 0.001)
    for rank in range(1, world):
        decree.receive(rank, HasAccepted("next", ballot), 0.002)
    return decree, time.process_time() - began


def test_the_leader_of_sixteen_times_as_many_works_about_sixteen_times_as_long() -> None:
    led(100)
    few = min(led(1_000)[1] for _ in range(3))
    decree, many = led(16_000)
    assert decree.outcome == {"members": list(range(16_000)), "newcomers": []}
    assert many < 16 * few * 5, f"{few:.4f} s of 1,000 ranks, {many:.3f} s of 16,000"


def test_what_goes_to_all_is_one_message() -> None:
    decree, _ = led(50)
    bodies = {id(body) for _, body in decree.outbox if type(body).__name__ in ("Accept", "Decided")}
    assert len(bodies) == 2
