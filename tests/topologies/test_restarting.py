"""A service that ends is started again, a few times in a row."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from csaud_runs.errors import RunError
from csaud_topologies.fabric.restarting import Patience, RestartedService
from csaud_topologies.fabric.services import Service

from tests.topologies.runs import wait_for

_LIVES = ("sh", "-c", "exec cat /dev/zero >/dev/null")


def test_pauses_grow_and_end_unless_it_served_well_in_between() -> None:
    patience = Patience(pauses_s=(0.0, 1.0, 2.0), steady_s=10.0)
    assert [patience.ended(served) for served in (0.0, 0.0, 9.0, 0.0)] == [0.0, 1.0, 2.0, None]
    patience = Patience(pauses_s=(0.0, 1.0), steady_s=10.0)
    assert [patience.ended(served) for served in (0.0, 10.0, 0.0, 0.0)] == [0.0, 0.0, 1.0, None]


def test_one_that_is_killed_is_started_again_and_both_are_told(tmp_path: Path) -> None:
    said: list[str] = []
    first = Service.start("controller", _LIVES, tmp_path)

    def start() -> Service:
        return Service.start("controller", _LIVES, tmp_path, again=True)

    kept = RestartedService(first, start, lambda: True, said.append)
    try:
        os.kill(first.process.pid, signal.SIGKILL)
        wait_for(lambda: len(said) == 2, "what became of it")
        assert said == [
            "controller was killed by SIGKILL; switches forward on, and it is started again",
            "controller answers again",
        ]
        kept.check()
        assert kept.process.pid != first.process.pid and kept.process.poll() is None
    finally:
        kept.stop()
    assert kept.process.poll() is not None
    assert len(said) == 2, "an end that was asked for is no failure"


def test_one_that_cannot_be_started_is_given_up_by_name_and_with_its_last_words(tmp_path: Path) -> None:
    said: list[str] = []
    first = Service.start("controller", _LIVES, tmp_path)

    def start() -> Service:
        if len(said) == 2:
            raise OSError("no room")
        return Service.start("controller", ("sh", "-c", "echo broken; exit 3"), tmp_path, again=True)

    patience = Patience(pauses_s=(0.0, 0.0, 0.001))
    kept = RestartedService(first, start, lambda: False, said.append, patience)

    def given_up() -> bool:
        try:
            kept.check()
        except RunError:
            return True
        return False

    try:
        os.kill(first.process.pid, signal.SIGKILL)
        wait_for(given_up, "that it is given up")
        with pytest.raises(RunError) as told:
            kept.check()
        assert str(told.value) == (
            "controller ended with status 3; 3 times in a row it was started again"
            f"\n  | broken\n  | broken\n  (all of it: {tmp_path / 'controller.log'})"
        )
        assert said == [
            "controller was killed by SIGKILL; switches forward on, and it is started again",
            "controller ended with status 3; switches forward on, and it is started again",
            "controller cannot be started again: no room",
            "controller ended with status 3; switches forward on, and it is started again in 0.001 s",
        ]
    finally:
        kept.stop()
