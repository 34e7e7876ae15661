"""Links that flap are left out until they are quiet, and nothing else moves meanwhile."""

import asyncio

import pytest
from csaud_controller.control.fabric_controller import FabricController
from csaud_controller.inventory import End, leaf_spine
from csaud_controller.links.damping import FAILURE, Damping, DampingSettings
from csaud_controller.links.health import LinkHealth
from csaud_controller.links.monitor import Change
from csaud_controller.paths.live import LiveView
from csaud_controller.policy.intent import Intent
from csaud_controller.policy.model import Policy
from pydantic import ValidationError

from tests.controller.soft import PATIENCE_S, controller, programmed, run_directory, switches
from tests.controller.test_traffic import arrived, rounds_passed, sent_more, traffic

S = 1_000_000_000
LINK = End("l1", 1)


def test_a_penalty_halves_with_every_half_life_and_has_a_ceiling() -> None:
    damping: Damping[str] = Damping(DampingSettings())
    damping.failed("l1-s1", 0)
    assert damping.penalty("l1-s1", 15 * S) == pytest.approx(FAILURE / 2)
    for _ in range(100):
        damping.failed("l1-s1", 15 * S)
    assert damping.penalty("l1-s1", 15 * S) == 750 * 2**4
    assert damping.reused_in("l1-s1", 15 * S) == pytest.approx(60 * S)
    assert damping.settle(74 * S) == []
    assert [link for link, _ in damping.settle(76 * S)] == ["l1-s1"]


def test_two_failures_are_forgiven_and_a_third_is_not() -> None:
    damping: Damping[str] = Damping(DampingSettings())
    assert [damping.failed("l1-s1", n * S) for n in range(3)] == [False, False, True]
    assert not any(damping.failed("l1-s2", n * 60 * S) for n in range(100)), "they are far apart"


def test_settings_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ValidationError, match="reuse: expected less than suppress"):
        DampingSettings(reuse=3000)
    with pytest.raises(ValidationError, match="longest: too short"):
        DampingSettings(longest=1 * S)


def test_a_link_that_fails_a_hundred_times_in_ten_seconds_moves_tables_three_times() -> None:
    """Two failures as ever; the third suppresses it. It is told of when that begins and when it ends."""
    health = LinkHealth(leaf_spine(2, 2))
    health.damping.settings = DampingSettings()
    told: list[Change] = []
    views: list[LiveView] = []
    down = LiveView(frozenset({LINK}))
    fabric = leaf_spine(2, 2)
    now = 0

    def look(seen: LiveView) -> None:
        view = health.seen_in(fabric, seen)
        if not views or views[-1] != view:
            views.append(view)

    for n in range(100):
        for up, seen in ((False, down), (True, LiveView())):
            now = n * S // 10 + up * S // 20
            told += health.settle(seen, now)
            told += health.take([Change("l1-s1", up, "probes", LINK)], now)
            look(seen)
    assert [(change.up, "damped" in change.why) for change in told] == [
        (False, False), (True, False), (False, False), (True, False), (False, True),
    ]  # fmt: skip
    damped = LiveView(doubted=frozenset({LINK}))
    assert views == [down, LiveView(), down, LiveView(), damped]
    told.clear()
    while not told and now < 200 * S:
        now += S // 2
        told += health.settle(LiveView(), now)
    look(LiveView())
    (change,) = told
    assert change.up
    assert "it failed 100 times" in change.why
    assert 60 * S < now < 72 * S
    assert views[-1] == LiveView()


def test_a_damped_link_that_is_still_down_is_said_to_be() -> None:
    health = LinkHealth(leaf_spine(2, 2))
    health.damping.settings = DampingSettings()
    for n in range(3):
        health.take([Change("l1-s1", False, "probes", LINK)], n)
    (change,) = health.settle(LiveView(frozenset({LINK})), 100 * S)
    assert not change.up
    assert "still down" in change.why


def test_what_is_not_damped_is_told_each_time() -> None:
    health = LinkHealth(leaf_spine(2, 2))
    told = [
        change for n in range(20) for change in health.take([Change("l1-s1", n % 2 == 1, "", LINK)], n * S)
    ]
    assert len(told) == 20
    assert health.seen_in(leaf_spine(2, 2), LiveView()) == LiveView()


def updates(made: FabricController) -> int:
    return sum(task.status.updates for task in made.tasks.values())


def test_links_that_flap_under_load_move_nothing_once_they_are_damped() -> None:
    """A link between switches, and one to a host; what goes over others is not lost."""
    settings = DampingSettings(half_life=3600 * S, suppress=2500, reuse=2400, longest=86_400 * S)
    shorter = DampingSettings(half_life=S // 100, suppress=2500, reuse=2400, longest=S)
    damped = LiveView(doubted=frozenset({End("l1", 2)}))

    async def main() -> None:
        with run_directory(leaf_spine(2, 3)) as run:
            async with switches(run) as host, controller(run, probe_interval_s=0.02) as made:
                await made.change(Intent(policy=Policy(damping=settings)))
                await programmed(made)

                def flap(node: str, port: int, up: bool) -> None:
                    host.fabric.set_link(node, port, up)

                def is_damped() -> bool:
                    return any("damped: it failed 3 times" in event["why"] for event in made.events)

                # Of one failure there may be an event for each direction, so states are waited for.
                for _ in range(3):
                    flap("l1", 2, False)
                    assert await made.wait_until(lambda: made.live != LiveView(), PATIENCE_S)
                    flap("l1", 2, True)
                    assert await made.wait_until(lambda: made.live == LiveView() or is_damped(), PATIENCE_S)
                assert await made.wait_until(lambda: made.live == damped and is_damped(), PATIENCE_S)
                await programmed(made)
                before = made.generation, updates(made), len(made.events)
                with traffic(host) as sender:
                    for n in range(100):
                        flap("l1", 2, n % 2 == 1)
                        flap("l1", 4, n % 2 == 1)
                        if n % 10 == 0:
                            await sent_more(sender)
                await arrived(sender)
                assert (made.generation, updates(made), len(made.events)) == before
                assert sender.received == {("l2", 4): sender.sent}, "none went to the link that flaps"
                await rounds_passed(made, 5)
                await made.change(Intent(policy=Policy(damping=shorter)))
                assert await made.wait_until(lambda: made.live == LiveView(), PATIENCE_S)
                assert "used again" in made.events[-1]["why"]

    asyncio.run(main())
