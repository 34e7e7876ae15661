"""The controller of a running fabric is killed: switches forward on, and one in its place goes on with it."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
from csaud_controller.run.directory import RunDir, find_run
from csaud_controller.switches.readings import Readings
from finsy.proto import p4r

from tests.topologies.fabrics import waiting_fabric
from tests.topologies.runs import net_run, processes_of, small_scenario, wait_for
from tests.topologies.test_net_drain import PROGRAM, csaud

pytestmark = [pytest.mark.root, pytest.mark.xdist_group("endless jobs")]  # see test_net_drain


def tables(run: RunDir) -> dict[str, list[bytes]]:
    """Everything that each switch holds, as it tells it to whoever asks."""
    fabric = run.fabric()
    wanted = [
        p4r.Entity(table_entry=p4r.TableEntry()),
        p4r.Entity(action_profile_member=p4r.ActionProfileMember()),
        p4r.Entity(action_profile_group=p4r.ActionProfileGroup()),
        p4r.Entity(packet_replication_engine_entry={"clone_session_entry": {}}),
    ]
    with Readings(fabric) as readings:

        def read() -> dict[str, list[bytes]]:
            return {
                name: sorted(
                    entity.SerializeToString()
                    for answer in stub.Read(
                        p4r.ReadRequest(device_id=fabric.switches[name].device_id, entities=wanted)
                    )
                    for entity in answer.entities
                )
                for name, stub in readings.stubs.items()
            }

        return readings.call(read)


def controllers(run: Path) -> list[int]:
    return [pid for pid, line in processes_of(run).items() if "-m csaud_controller run" in line]


def test_a_killed_controller_is_started_again_under_traffic_with_all_that_was_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with waiting_fabric(tmp_path, "leaf-spine-2x2", "--spray", "random") as fabric:
        run = find_run()

        def policy() -> dict:
            shown = csaud(tmp_path, "policy", "show", "--json")
            assert shown.returncode == 0, shown.stderr
            return json.loads(shown.stdout)

        job = fabric.start_job(PROGRAM)
        rounds = tmp_path / "rounds"

        def at_least(more: int) -> None:
            goal = int(wait_for(rounds.read_text, "a number that is written")) + more
            wait_for(lambda: int(rounds.read_text() or 0) >= goal, f"round {goal}")

        wait_for(lambda: rounds.exists() and rounds.read_text(), "the first round")
        done = csaud(tmp_path, "policy", "set", "--spray", "weighted")
        assert done.returncode == 0, done.stderr
        asked, held = policy(), tables(run)
        assert asked["spray"] == "weighted"

        (killed,) = controllers(run.path)
        os.kill(killed, signal.SIGKILL)
        at_least(3)
        log = fabric.out / "fabric.log"
        wait_for(lambda: "controller answers again" in log.read_text(), "the start of another one")
        assert (
            "csaud: controller was killed by SIGKILL; switches forward on, and it is started again\n"
            "csaud: controller answers again\n"
        ) in log.read_text()
        assert csaud(tmp_path, "controller", "wait").returncode == 0
        assert controllers(run.path) not in ([], [killed])
        assert policy() == asked
        assert tables(run) == held

        done = csaud(tmp_path, "policy", "set", "--spray", "ecmp")
        assert done.returncode == 0, done.stderr
        assert tables(run) != held
        at_least(3)
        (tmp_path / "done").touch()
        said, _ = job.communicate()
        assert job.returncode == 0, said
        report = fabric.report()
        assert report.books.balanced and report.switches.injected == 0
        assert [change.what for change in report.changes] == [
            ["policy.spray: random -> weighted"],
            ["policy.spray: weighted -> ecmp"],
        ]
        assert all(change.in_force_s is not None for change in report.changes)
        (restart,) = report.events
        asked_s = [change.at_s for change in report.changes]
        assert restart.what == "the controller was started again"
        assert asked_s[0] < restart.at_s < asked_s[1]
    assert not run.path.exists() and processes_of(run.path) == {}


@pytest.mark.thorough
@pytest.mark.parametrize("signum", [signal.SIGKILL, signal.SIGTERM])
def test_a_job_of_a_scenario_goes_on_without_its_controller(tmp_path: Path, signum: signal.Signals) -> None:
    scenario = small_scenario(tmp_path, sizes=(262_144,), repeats=30, loss=0.01)
    with net_run(tmp_path / "out", "--scenario", str(scenario)) as run:
        run.read_until("ranks have found each other")
        (killed,) = controllers(run.path)
        os.kill(killed, signum)
        assert run.wait() == 0, run.output
        assert "switches forward on, and it is started again" in run.output
        report = run.report()
        assert report["books"]["balanced"]
        assert [event["what"] for event in report["events"]] == ["the controller was started again"]


@pytest.mark.thorough
def test_one_that_cannot_be_started_again_ends_the_run_by_name(tmp_path: Path) -> None:
    scenario = small_scenario(tmp_path, sizes=(262_144,), repeats=100_000)
    with net_run(tmp_path / "out", "--scenario", str(scenario)) as run:
        run.read_until("ranks have found each other")
        path = run.path
        (killed,) = controllers(path)
        (path / "desired.json").write_text("{}}")
        os.kill(killed, signal.SIGKILL)
        assert run.wait() == 1
        assert "controller ended with status 2; 5 times in a row it was started again" in run.output
        assert "desired.json" in run.output
        wait_for(lambda: not processes_of(path), "the end of every process of the run")
        assert not path.exists()
