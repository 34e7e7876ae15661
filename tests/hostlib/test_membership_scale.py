"""A decision among very many ranks takes the leader a few steps an answer, not one for each rank."""

import sys
from types import FrameType
from typing import Any

from csaud.membership.arbiter import Majority
from csaud.membership.decree import Decree
from csaud.membership.messages import HasAccepted, Json, Promise

BRINGS: Json = {"admit": True, "newcomers": []}


def led(world: int) -> Decree:
    """A decision that rank 0 of `world` led to its end."""
    decree = Decree(
        "next", 0, world, BRINGS, lambda brought: {"members": sorted(brought), "newcomers": []}, Majority(),
        failed=(), now=0.0, timeout=30.0,
    )  # fmt: skip
    ballot: Any = decree._ballot
    for rank in range(1, world):
        decree.receive(rank, Promise("next", ballot, BRINGS, None), 0.001)
    for rank in range(1, world):
        decree.receive(rank, HasAccepted("next", ballot), 0.002)
    return decree


def steps(world: int) -> int:
    """Instructions of Python that this takes: the same number wherever and however often it runs."""
    count = 0

    def follow(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        count += event == "opcode"
        return follow

    before = sys.gettrace()
    sys.settrace(follow)
    try:
        decree = led(world)
    finally:
        sys.settrace(before)
    assert decree.outcome == {"members": list(range(world)), "newcomers": []}
    return count


def test_the_leader_of_sixteen_times_as_many_takes_about_sixteen_times_as_many_steps() -> None:
    assert led(16_000).outcome == {"members": list(range(16_000)), "newcomers": []}
    few, many = steps(100), steps(1_600)
    assert many < 1.5 * 16 * few


def test_what_goes_to_all_is_one_message() -> None:
    decree = led(50)
    bodies = {id(body) for _, body in decree.outbox if type(body).__name__ in ("Accept", "Decided")}
    assert len(bodies) == 2
