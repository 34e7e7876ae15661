"""A scenario's events happen, and are shown, at the step that the scenario says."""

from __future__ import annotations

import pytest
from csaud_topologies.job.events import EventSchedule
from csaud_topologies.job.run_job import StepLog
from csaud_topologies.scenario.events import LinkEvent


def test_an_event_happens_and_is_shown_at_the_step_of_the_scenario():
    said: list[str] = []
    done: list[tuple[str, str, bool]] = []
    events = [
        LinkEvent(at_step=0, link=("l1", "s1"), do="down"),
        LinkEvent(at_step=4, link=("l1", "s1"), do="up"),
    ]
    schedule = EventSchedule(events, lambda a, b, up: done.append((a, b, up)), said.append)
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
    done: list[tuple[str, str, bool]] = []
    events = [
        LinkEvent(after="500ms", link=("l1", "s1"), do="down"),
        LinkEvent(after="2s", link=("l1", "s1"), do="up"),
    ]
    said: list[str] = []
    schedule = EventSchedule(
        events, lambda a, b, up: done.append((a, b, up)), said.append, clock=lambda: now[0]
    )
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
