"""Controller and switches as processes: killed without warning, and started again."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from csaud_controller.cli import controller as controller_command
from csaud_controller.control.client import ControlError, RefusedError, ask, wait_programmed, wait_served
from csaud_controller.inventory import leaf_spine
from csaud_controller.policy.model import Policy
from csaud_controller.run.directory import RunDir

from tests.controller.commands import csaud
from tests.controller.soft import PATIENCE_S, controller_process, run_directory, switch_process


@pytest.fixture(scope="module")
def lonely() -> Iterator[RunDir]:
    """A controller whose switches do not run."""
    with run_directory() as run, controller_process(run):
        wait_served(run.control_socket, PATIENCE_S)
        yield run


def status(run: RunDir) -> dict:
    return ask(run.control_socket, "status")["status"]


def test_a_killed_controller_goes_on_where_it_stopped() -> None:
    with run_directory() as run, switch_process(run):
        with controller_process(run, "--loss", "0.25") as first:
            wait_programmed(run.control_socket, PATIENCE_S)
            ask(run.control_socket, "policy.set", policy={"spray": "round-robin"})
            before = ask(run.control_socket, "intent")["intent"]
            os.kill(first.pid, signal.SIGKILL)
            first.wait()
        with pytest.raises(ControlError, match="nobody listens"):
            status(run)
        with controller_process(run):  # the socket that the killed one left is no obstacle
            wait_programmed(run.control_socket, PATIENCE_S)
            after = ask(run.control_socket, "intent")["intent"]
            assert after == before
            assert after["policy"]["spray"] == "round-robin"
            assert after["faults"]["rules"][0]["probability"] == 0.25
            assert {s["updates"] for s in status(run)["switches"].values()} == {0}, "tables were left alone"


def test_killed_switches_are_programmed_again(capsys: pytest.CaptureFixture[str]) -> None:
    with run_directory(leaf_spine(4, 4)) as run, controller_process(run):
        with switch_process(run) as first:
            wait_programmed(run.control_socket, PATIENCE_S)
            os.kill(first.pid, signal.SIGKILL)
            first.wait()
        with switch_process(run):
            started = time.monotonic()
            wait_programmed(run.control_socket, PATIENCE_S)
            took = time.monotonic() - started
            now = status(run)
            assert all(s["in_sync"] and s["held"] for s in now["switches"].values())
    with capsys.disabled():
        print(f" [8 switches from a new process to programmed: {took:.2f} s]", end="")


def test_both_killed_at_once() -> None:
    with run_directory() as run:
        with switch_process(run), controller_process(run, "--spray", "host"):
            wait_programmed(run.control_socket, PATIENCE_S)
        with switch_process(run), controller_process(run):
            wait_programmed(run.control_socket, PATIENCE_S)
            assert ask(run.control_socket, "intent")["intent"]["policy"]["spray"] == "host"


def test_only_one_controller_of_a_run() -> None:
    with run_directory() as run, switch_process(run), controller_process(run):
        wait_programmed(run.control_socket, PATIENCE_S)
        kept = run.desired_file.read_bytes(), ask(run.control_socket, "policy.history")["revisions"]
        with controller_process(run, "--spray", "ecmp") as second:
            assert second.wait() == 1
            assert "csaud: a controller already runs" in second.log
        assert kept == (run.desired_file.read_bytes(), ask(run.control_socket, "policy.history")["revisions"])
        assert status(run)["switches"]["l1"]["primary"]


def test_sigterm_ends_it_cleanly_and_leaves_the_tables() -> None:
    with run_directory() as run, switch_process(run):
        with controller_process(run) as first:
            wait_programmed(run.control_socket, PATIENCE_S)
            os.kill(first.pid, signal.SIGTERM)
            assert first.wait() == 0
            assert "Traceback" not in first.log
        assert not run.control_socket.exists()
        with controller_process(run):
            wait_programmed(run.control_socket, PATIENCE_S)
            assert {s["updates"] for s in status(run)["switches"].values()} == {0}


def test_a_damaged_desired_json_is_told_with_file_and_line() -> None:
    with run_directory() as run:
        run.desired_file.write_text('{\n  "intent": {"policy": {"spray": "sideways"}}\n}\n')
        with controller_process(run) as broken:
            assert broken.wait() == 2
            assert "desired.json:2: intent.policy.spray: expected 'ecmp', 'entropy'" in broken.log


def test_a_desired_json_that_holds_no_more_is_told_with_file_and_key() -> None:
    with run_directory() as run:
        run.desired_file.write_text(
            json.dumps({"intent": {"policy": {"denied_paths": [], "trim_size": 16000}}})
        )
        with controller_process(run) as broken:
            assert broken.wait() == 2
            assert "desired.json: trim_size: kept by an earlier controller" in broken.log
            assert "Traceback" not in broken.log


def test_a_directory_without_a_fabric_gets_the_one_that_is_named() -> None:
    with run_directory() as run, switch_process(run):
        file = run.path / "with-addresses.json"
        file.write_text(run.fabric().to_json())
        empty = RunDir(run.path / "empty")
        empty.path.mkdir()
        with controller_process(empty, "--fabric", str(file)):
            wait_programmed(empty.control_socket, PATIENCE_S)
            assert empty.fabric() == run.fabric()
        with controller_process(empty, "--fabric", str(file)):  # as a unit of systemd has it: the same again
            wait_programmed(empty.control_socket, PATIENCE_S)


@pytest.mark.parametrize(
    "options",
    [
        ("--spray", "flowlet", "--policy", "none.yaml"),
        ("--policy", "too-much.yaml"),  # found where tables are computed
        ("--audit-interval", "soon"),
    ],
)
def test_a_start_that_fails_leaves_no_fabric_behind(options: tuple[str, ...]) -> None:
    with run_directory() as run:
        file = run.path / "mine.json"
        file.write_text(run.fabric().to_json())
        wanted = "".join(f"- {{spray: ecmp, comm: {n}}}\n" for n in range(300))
        (run.path / "too-much.yaml").write_text(f"overrides:\n{wanted}")
        words = [str(run.path / word) if word.endswith(".yaml") else word for word in options]
        empty = RunDir(run.path / "empty")
        empty.path.mkdir()
        with controller_process(empty, "--fabric", str(file), *words) as broken:
            assert broken.wait() == 2
            assert "Traceback" not in broken.log
        assert not empty.fabric_file.exists()


def test_a_controller_is_stopped_by_the_command() -> None:
    with run_directory() as run, controller_process(run) as process:
        wait_served(run.control_socket, PATIENCE_S)
        stopped = csaud(run, "controller", "stop")
        assert (stopped.exit_code, stopped.output) == (0, f"controller {process.pid} stopped\n")
        assert process.wait() == 0
        for words in (("stop",), ("status",), ("wait", "--timeout", "0s")):
            again = csaud(run, "controller", *words)
            assert again.exit_code == 1
            assert "Traceback" not in again.output and str(run.control_socket) in again.output


def test_what_a_controller_begins_with_is_checked_before_it_begins() -> None:
    with run_directory() as run:
        over, late = run.path / "over.yaml", run.path / "late.yaml"
        over.write_text("until: 2020-01-01T00:00:00Z\n")
        late.write_text("lasts: 9999999999999min\n")
        for words, status, said in (
            (("--policy", str(over)), 2, f"{over}: until: that time is over"),
            (("--policy", str(late)), 2, f"{late}: until: expected a time before the year 10000"),
            (
                ("--program", "/no"),
                1,
                "no csaud.p4info.txtpb and csaud.json in /no; `make p4` makes them",
            ),
        ):
            refused = csaud(run, "controller", "run", *words)
            assert (refused.exit_code, refused.output) == (status, f"csaud: {said}\n")
        assert not run.desired_file.exists()


def test_options_say_what_to_begin_with(tmp_path: Path) -> None:
    (file := tmp_path / "policy.yaml").write_text("spray: random\nseed: 3\nlasts: 1min\n")
    assert controller_command._intent(None, None, None, None) is None
    made = controller_command._intent(file, "ecmp", 0.25, None)
    assert made is not None and made.ending is not None
    assert (made.policy.spray, made.policy.seed, made.ending.lasts, made.ending.before) == (
        "ecmp", 3, True, Policy(),
    )  # fmt: skip
    assert [(rule.probability, rule.seed) for rule in made.faults.rules] == [(0.25, 3)]
    made = controller_command._intent(None, None, 0.0, 9)
    assert made is not None and (made.policy, made.faults.rules) == (Policy(seed=9), ())


def test_where_a_controller_cannot_listen_is_named() -> None:
    with run_directory() as run:
        for place, why in (
            ("192.0.2.1:9600", "Cannot assign requested address"),
            ("a..b:9600", "no machine can have this name"),
        ):
            refused = csaud(run, "controller", "run", "--reports", place)
            assert refused.exit_code == 1
            assert refused.output == f"csaud: reports cannot be taken at {place}: {why}\n"
        assert not run.control_socket.exists()
        deep = RunDir(run.path / ("x" * 100))
        refused = csaud(deep, "controller", "run", "--fabric", str(run.fabric_file))
        assert refused.exit_code == 1
        assert refused.output == f"csaud: {deep.control_socket}: AF_UNIX path too long\n"


def test_a_run_has_one_fabric_and_another_that_is_named_is_refused() -> None:
    with run_directory() as run:
        file = run.path / "other.json"
        file.write_text(leaf_spine(3, 2).to_json())
        before = run.fabric_file.read_bytes()
        with controller_process(run, "--fabric", str(file)) as refused:
            assert refused.wait() == 2
            assert "other.json: " in refused.log and "switches added: l3" in refused.log
            assert "csaud fabric apply" in refused.log
        clash = json.loads(before)
        clash["switches"]["l1"]["group"] = 2  # that of l2
        file.write_text(json.dumps(clash))
        twice = csaud(run, "controller", "run", "--fabric", str(file))
        assert twice.exit_code == 2
        assert f"--fabric {file}: {run.fabric_file} is another (" in twice.output
        assert run.fabric_file.read_bytes() == before


def test_a_mistake_in_a_fabric_file_is_told_with_file_and_line() -> None:
    with run_directory() as run:
        file = run.path / "mine.yaml"
        file.write_text("name: x\nswitches:\n  l1: {device_id: 0}\n")
        with controller_process(run, "--fabric", str(file)) as broken:
            assert broken.wait() == 2
            assert "mine.yaml:3: switches.l1.device_id: expected greater than or equal to 1" in broken.log


def test_a_mistake_in_a_policy_file_is_told_with_file_and_line() -> None:
    with run_directory() as run:
        file = run.path / "policy.yaml"
        file.write_text("spray: random\nlimits:\n  trim_at: 30\n  drop_at: 20\n")
        with controller_process(run, "--policy", str(file)) as broken:
            assert broken.wait() == 2
            assert "policy.yaml:3: limits.trim_at: expected at most drop_at (20), got 30" in broken.log


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        ({"op": "dance"}, "unknown op 'dance'; expected one of status"),
        ({"op": "policy.set", "policy": {"spray": "sideways"}}, "spray: expected 'ecmp'"),
        ({"op": "policy.set", "policy": {"sprey": "ecmp"}}, "sprey: unknown key"),
        ({"op": "policy.set"}, "the request lacks 'policy'"),
        (
            {"op": "fault.set", "rule": {"probability": 2}},
            "probability: expected less than or equal to 1",
        ),
        ({"op": "fault.set", "rule": {"probability": 0.1, "where": "l1-l2"}}, "unknown link 'l1-l2'"),
        ({"op": "fault.clear", "where": "l9"}, "unknown place 'l9'"),
    ],
)
def test_bad_requests_are_refused(lonely: RunDir, request_: dict, expected: str) -> None:
    operation = request_.pop("op")
    with pytest.raises(RefusedError) as caught:
        ask(lonely.control_socket, operation, **request_)
    assert expected in str(caught.value)


@pytest.mark.parametrize(
    "line", [b"[" * 60_000, b'{"op": "alarms", "since": Infinity}', b'{"op": ["alarms"]}', b"\xff", b"7"]
)
def test_a_line_that_is_no_request_is_refused_and_the_next_one_answered(lonely: RunDir, line: bytes) -> None:
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(PATIENCE_S)
        client.connect(str(lonely.control_socket))
        answers = client.makefile("rb")
        client.sendall(line + b"\n")
        assert json.loads(answers.readline())["ok"] is False
        client.sendall(b'{"op": "status"}\n')
        assert json.loads(answers.readline())["ok"] is True


def test_a_change_names_the_switches_that_do_not_hold_it_yet() -> None:
    with run_directory() as run, controller_process(run):
        wait_served(run.control_socket, PATIENCE_S)
        with pytest.raises(ControlError, match=r"not programmed after .*: l1 \("):
            wait_programmed(run.control_socket, 0.1)
        answer = ask(run.control_socket, "policy.set", policy={"spray": "ecmp"}, timeout_s=0.1)
        assert set(answer["pending"]) == {"l1", "l2", "s1", "s2"}
        assert json.loads(run.desired_file.read_text())["intent"]["policy"]["spray"] == "ecmp"
        with switch_process(run):
            wait_programmed(run.control_socket, PATIENCE_S)


def test_an_interrupt_while_modules_are_imported_is_no_traceback() -> None:
    program = """
import os, runpy, signal, sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "pydantic":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
runpy.run_module("csaud_controller", run_name="__main__")
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert (done.returncode, done.stderr, done.stdout) == (-signal.SIGINT, "", "")


def test_who_ignores_interrupts_starts_a_controller_that_does() -> None:
    """As a script's shell does that starts it in the background: Ctrl-C is for the script."""
    program = """
import runpy, signal, sys

signal.signal(signal.SIGINT, signal.SIG_IGN)
sys.argv[1:] = ["--help"]
try:
    runpy.run_module("csaud_controller", run_name="__main__")
finally:
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
"""
    subprocess.run([sys.executable, "-c", program], stdout=subprocess.DEVNULL, timeout=PATIENCE_S, check=True)
