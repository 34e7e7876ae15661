"""A scenario's events happen, and are shown, at the step that the scenario says."""

from __future__ import annotations

import pytest
from csaud_controller.inventory import End, Fabric, load_fabric
from csaud_topologies.job.events import EventSchedule
from csaud_topologies.job.run_job import StepLog
from csaud_topologies.scenario.events import LinkEvent


class Noted:
    """A fabric that notes what is done to its links."""

    def __init__(self) -> None:
        self.done: list[tuple[object, ...]] = []

    @property
    def inventory(self) -> Fabric:
        return load_fabric("leaf-spine-2x2")

    def set_link(self, a, b, up):
        self.done.append((a, b, up))

    def slow(self, at: End, rate):
        self.done.append((f"{at.node}:{at.port}", rate))

    def lose(self, rules):
        self.done.append(tuple((rule.where, rule.probability, rule.seed) for rule in rules))


def test_an_event_happens_and_is_shown_at_the_step_of_the_scenario():
    said: list[str] = []
    fabric = Noted()
    done = fabric.done
    events = [
        LinkEvent(at_step=0, link=("l1", "s1"), do="down"),
        LinkEvent(at_step=4, link=("l1", "s1"), do="up"),
    ]
    schedule = EventSchedule(events, fabric, 1, said.append)
    schedule.begin()  # the ranks have found each other
    assert done == [("l1", "s1", False)]
    log = StepLog(2)
    for step in range(6):  # as workers count them, from 0
        log.add(0, {"step": step, "all_reduce_s": 0.1})
        schedule.advance(log.finished)
        assert (len(done) == 2) == (step >= 4), "rank 1 has not finished it yet"
        log.add(1, {"step": step, "all_reduce_s": 0.1})
        assert log.finished == step + 1
        schedule.advance(log.finished)
    assert done[1:] == [("l1", "s1", True)]
    assert [(event.step, event.what) for event in schedule.fired] == [
        (0, "link l1-s1 down"),
        (4, "link l1-s1 up"),
    ]
    assert said == ["before step 1: link l1-s1 down", "after step 4: link l1-s1 up"]
    assert schedule.failed_links == {frozenset(("l1", "s1"))}


def test_an_event_happens_when_its_time_after_the_start_has_come():
    now = [100.0]
    fabric = Noted()
    done = fabric.done
    events = [
        LinkEvent(after="500ms", link=("l1", "s1"), do="down"),
        LinkEvent(after="2s", link=("l1", "s1"), do="up"),
    ]
    said: list[str] = []
    schedule = EventSchedule(events, fabric, 1, said.append, clock=lambda: now[0])
    schedule.tick()  # no job yet
    now[0] = 200.0
    schedule.begin()
    now[0] = 200.4
    schedule.tick()
    assert done == []
    now[0] = 200.6
    schedule.tick()
    assert done == [("l1", "s1", False)]
    now[0] = 203.0
    schedule.tick()
    assert done[1:] == [("l1", "s1", True)]
    assert said == ["after 500ms: link l1-s1 down", "after 2s: link l1-s1 up"]
    assert [event.at_s for event in schedule.fired] == pytest.approx([0.6, 3.0])


def test_a_link_is_slow_or_loses_packets_until_it_is_up_or_the_job_is_over():
    said: list[str] = []
    fabric = Noted()
    events = [
        LinkEvent(at_step=1, link=("l1", "s1"), do="slow", rate="50Mbit"),
        LinkEvent(at_step=2, link=("l2", "s2"), do="lose", loss=0.05),
        LinkEvent(at_step=3, link=("l1", "s1"), do="lose", loss=0.5),
        LinkEvent(at_step=4, link=("l1", "s1"), do="up"),
    ]
    schedule = EventSchedule(events, fabric, 7, said.append)
    schedule.begin()
    for step in range(1, 5):
        schedule.advance(step)
    ends = [("l1:1", 50_000_000), ("s1:1", 50_000_000)]
    first, second = (("l2:2", 0.05, 7), ("s2:2", 0.05, 7)), (("l1:1", 0.5, 7), ("s1:1", 0.5, 7))
    whole = [("l1", "s1", True), ("l1:1", None), ("s1:1", None), first]
    assert fabric.done == [*ends, first, (*first, *second), *whole]
    schedule.make_whole()
    assert fabric.done[-1] == ()
    schedule.make_whole()
    assert len(fabric.done) == len(ends) + 2 + len(whole) + 1
    assert said[:2] == ["after step 1: link l1-s1 slow 50Mbit", "after step 2: link l2-s2 lose 0.05"]
    assert schedule.failed_links == set()


def test_a_link_that_flaps_fails_so_many_times_beside_what_else_happens():
    now = [0.0]
    fabric = Noted()
    events = [
        LinkEvent(after="1s", link=("l1", "s1"), do="flap", every="2s", times=2),
        LinkEvent(after="1500ms", link=("l2", "s1"), do="down"),
    ]
    schedule = EventSchedule(events, fabric, 1, lambda _: None, clock=lambda: now[0])
    schedule.begin()
    at = []
    for tick in range(100):
        now[0] = tick / 10
        schedule.tick()
        at += [tick / 10] * (len(fabric.done) - len(at))
    l1, l2 = ("l1", "s1"), ("l2", "s1")
    assert fabric.done == [(*l1, False), (*l2, False), (*l1, True), (*l1, False), (*l1, True)]
    assert at == [1.0, 1.5, 2.0, 3.0, 4.0]
    assert schedule.failed_links == {frozenset(l1), frozenset(l2)}
