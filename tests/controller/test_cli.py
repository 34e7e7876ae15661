"""The commands: tables for people, JSON for programs, one line and an exit status for mistakes."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest
from csaud_controller.cli import controller, counter, fabric, fault, path, policy
from csaud_controller.control import wait_programmed
from csaud_controller.rundir import RunDir
from typer.testing import CliRunner, Result

from tests.controller.soft import PATIENCE_S, controller_process, run_directory, switch_process

APPS = {
    "fabric": fabric.app,
    "path": path.app,
    "policy": policy.app,
    "fault": fault.app,
    "counter": counter.app,
    "controller": controller.app,
}


@pytest.fixture(scope="module")
def run() -> Iterator[RunDir]:
    with run_directory() as made, switch_process(made), controller_process(made):
        wait_programmed(made.control_socket, PATIENCE_S)
        yield made


def csaud(run: RunDir | str, *words: str) -> Result:
    directory = str(run.path) if isinstance(run, RunDir) else run
    return CliRunner(env={"COLUMNS": "160"}).invoke(APPS[words[0]], [*words[1:], "--run", directory])


def as_json(run: RunDir, *words: str) -> object:
    result = csaud(run, *words, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_fabric_show(run: RunDir) -> None:
    result = csaud(run, "fabric", "show")
    assert result.exit_code == 0, result.output
    assert "leaf-spine-2x2 on soft, pipeline" in result.output
    assert result.output.count("in sync") == 4
    shown = as_json(run, "fabric", "show")
    assert isinstance(shown, dict)
    assert list(shown["switches"]) == ["l1", "l2", "s1", "s2"]
    assert len(shown["pipeline"]["digest"]) == 64
    assert {link["up"] for link in shown["links"]} == {True}
    assert shown["miswired"] == {}


def test_path_show(run: RunDir) -> None:
    shown = as_json(run, "path", "show", "h1", "h4")
    assert isinstance(shown, dict)
    assert [[(hop["switch"], hop["port"], hop["to"]) for hop in hops] for hops in shown["paths"]] == [
        [("l1", 1, "s1"), ("s1", 2, "l2"), ("l2", 4, "h4")],
        [("l1", 2, "s2"), ("s2", 2, "l2"), ("l2", 4, "h4")],
    ]
    result = csaud(run, "path", "show", "h1", "h2")
    assert "h1 -> h2: 1 path, spray" in result.output


def test_policy_set_and_show(run: RunDir) -> None:
    result = csaud(run, "policy", "set", "--spray", "random", "--seed", "7")
    assert result.exit_code == 0, result.output
    assert "applied on all switches" in result.output
    csaud(run, "policy", "set", "--loss-signal", "drop", "--port", "l1:3")
    csaud(run, "policy", "set", "--trim-at", "10", "--drop-at", "20")
    shown = as_json(run, "policy", "show")
    assert isinstance(shown, dict)
    assert (shown["spray"], shown["seed"]) == ("random", 7)
    assert shown["loss_signal_at"] == {"l1:3": "drop"}
    assert shown["limits"] == {"trim_at": 10, "drop_at": 20}
    assert "random" in csaud(run, "policy", "show").output


def test_exceptions_to_the_spray_mode(run: RunDir) -> None:
    csaud(run, "policy", "set", "--override", "cls=0:ecmp", "--override", "cls=1,comm=7:host")
    shown = as_json(run, "policy", "set", "--override", "comm=9:random")
    assert isinstance(shown, dict)
    assert [(o["cls"], o["comm"], o["spray"]) for o in shown["policy"]["overrides"]] == [
        (None, 9, "random"), (0, None, "ecmp"), (1, 7, "host"),
    ]  # fmt: skip
    assert "spray of cls=1 comm=7" in csaud(run, "policy", "show").output
    assert csaud(run, "policy", "set", "--clear-overrides").exit_code == 0
    shown = as_json(run, "policy", "show")
    assert isinstance(shown, dict)
    assert shown["overrides"] == []


def test_fault_set_show_and_clear(run: RunDir) -> None:
    changed = as_json(
        run, "fault", "set", "0.01", "--where", "l1-s2", "--signalled", "--kinds", "data", "--seed", "3"
    )
    rule = {"where": "l1-s2", "probability": 0.01, "kinds": ["data"], "signalled": True, "seed": 3}
    assert changed == {"faults": [rule], "pending": {}}
    assert as_json(run, "fault", "show") == [rule]
    assert "l1-s2" in csaud(run, "fault", "show").output
    assert as_json(run, "fault", "clear", "--where", "l1-s2") == {"faults": [], "pending": {}}
    assert "no faults" in csaud(run, "fault", "show").output


def test_counter_show(run: RunDir) -> None:
    shown = as_json(run, "counter", "show", "l1", "s2")
    assert isinstance(shown, dict)
    assert list(shown) == ["l1", "s2"]
    assert shown["l1"]["ingress_kind"]["1"].keys() == {"other", "data", "control", "loss"}
    result = csaud(run, "counter", "show", "--paths")
    assert result.exit_code == 0
    assert "s2:2" in result.output


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_counter_watch_goes_on_until_it_is_interrupted(run: RunDir, options: tuple[str, ...]) -> None:
    command = [sys.executable, "-c", "from csaud_controller.cli.counter import app; app()"]
    command += ["show", "l1", "--watch", "--interval", "0.1", "--run", str(run.path), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as child:
        assert child.stdout is not None
        lines = []
        while len(lines) < 3 or (not options and "out" not in " ".join(lines)):
            lines.append(child.stdout.readline())
            assert lines[-1], "it ended by itself"
        child.send_signal(signal.SIGINT)
        rest = child.stdout.read()
        assert child.wait() == 0
    assert "Traceback" not in rest
    if options:
        assert [list(json.loads(line)["switches"]) for line in lines] == [["l1"]] * 3


def test_controller_status_and_wait(run: RunDir) -> None:
    shown = as_json(run, "controller", "status")
    assert isinstance(shown, dict)
    assert shown["switches"] == 4
    assert shown["pid"] > 0
    assert csaud(run, "controller", "wait", "--timeout", "5s").exit_code == 0


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (("path", "show", "h1", "h99"), 2, "unknown host 'h99'; expected one of h1, h2, h3, h4"),
        (("policy", "set", "--loss-signal", "drop", "--port", "l1:9"), 2, "switch l1 has no port 9"),
        (("policy", "set", "--trim-at", "10"), 2, "--trim-at and --drop-at belong together"),
        (("policy", "set", "--trim-at", "20", "--drop-at", "10"), 2, "expected at most drop_at (10), got 20"),
        (("policy", "set"), 2, "nothing to set"),
        (("policy", "set", "--override", "class=1:ecmp"), 2, "expected cls=N:MODE, comm=N:MODE"),
        (("policy", "set", "--override", "cls=9:ecmp"), 2, "overrides[0].cls: Input should be less than"),
        (("policy", "set", "--override", "cls=1:sideways"), 2, "overrides[0].spray: Input should be 'ecmp'"),
        (("policy", "set", "--spray", "sideways"), 2, "sideways"),
        (("fault", "set", "0.1", "--where", "s1-s2"), 2, "unknown link 's1-s2'; expected one of l1-s1"),
        (("fault", "set", "0.1", "--kinds", "date"), 2, "unknown kind date; expected some of other, data"),
        (("fault", "set", "1.5"), 2, "Invalid value for"),
        (("fault", "clear", "--where", "l1:1"), 2, "no fault is set for l1:1"),
        (("counter", "show", "s9"), 2, "unknown switch 's9'; expected one of l1, l2, s1, s2"),
        (("controller", "run", "--target", "hardware"), 2, "unknown target 'hardware'; expected one of soft"),
        (("controller", "run"), 1, "a controller already runs"),
    ],
)  # fmt: skip
def test_mistakes(run: RunDir, words: tuple[str, ...], status: int, message: str) -> None:
    result = csaud(run, *words)
    assert result.exit_code == status, result.output
    assert message in " ".join(result.output.split())
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    "words", [("fabric", "show"), ("path", "show", "h1", "h2"), ("policy", "show"), ("fault", "show")]
)
def test_without_a_controller(words: tuple[str, ...]) -> None:
    with run_directory() as empty:
        result = csaud(empty, *words)
        assert result.exit_code == 1
        assert "csaud: no controller runs" in result.output


@pytest.mark.parametrize("words", [("fabric", "show"), ("counter", "show"), ("controller", "status")])
def test_without_a_run(words: tuple[str, ...]) -> None:
    result = csaud("/nonexistent", *words)
    assert result.exit_code == 1
    assert "csaud: /nonexistent is not the directory of a run" in result.output


@pytest.mark.parametrize("name", APPS)
def test_every_command_has_help(name: str) -> None:
    result = CliRunner().invoke(APPS[name], ["--help"])
    assert result.exit_code == 0
    assert "Commands" in result.output
