"""Whole runs on the embedded switch: a small fabric with losses, beside another one, and twice."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from csaud_controller.control.client import ask
from csaud_topologies.record.model import Report

from tests.topologies.runs import CSAUD_NET, PATIENCE_S, net_run, processes_of, small_scenario

pytestmark = pytest.mark.root


def interfaces() -> str:
    return subprocess.run(["ip", "-o", "link"], capture_output=True, text=True, check=True).stdout


def test_lossy_all_reduces_are_exact_and_the_books_balance(tmp_path):
    before = interfaces()
    scenario = str(small_scenario(tmp_path, repeats=1, loss=0.05))
    with net_run(tmp_path / "one", "--scenario", scenario) as first:
        path = first.path
        with (
            net_run(tmp_path / "two", "--scenario", scenario, "--spray", "ecmp", "--seed", "4") as second,
            net_run(tmp_path / "one", "--scenario", scenario) as third,
        ):
            assert third.wait() == 1
            said = " ".join(third.output.split())
            assert "in use by a run of pid" in said
            assert f"end it by `csaud net clean --run {path}`" in said
            assert second.wait() == 0, second.output
        assert first.wait() == 0, first.output
    for run in (first, second):
        report = Report.model_validate(run.report())
        assert report.passed
        assert report.equality.bit_equal
        assert report.books.balanced
        assert report.recovery.lost > 20
        assert (run.out / "report.html").stat().st_size > 10_000
        assert "passed: all" in run.output
    assert first.report()["run"]["seed"] == 3
    assert second.report()["run"]["spray"] == "ecmp"
    assert not path.exists()
    assert not processes_of(path)
    assert interfaces() == before


@pytest.mark.thorough
def test_silent_losses_are_given_back_by_parity_and_the_books_balance(tmp_path):
    scenario = small_scenario(tmp_path, repeats=3, loss=0.05)
    with net_run(tmp_path / "run", "--scenario", str(scenario)) as run:
        assert run.wait() == 0, run.output
    report = Report.model_validate(run.report())
    assert report.equality.bit_equal
    assert report.books.balanced
    assert report.recovery.found_by["parity"] > 0
    assert report.recovery.parity["sent"] > report.recovery.parity["lost"]


@pytest.mark.thorough
def test_a_full_disk_costs_the_report_and_not_the_summary(tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", str(out)], check=True)  # no figures
    try:
        with net_run(out, "--scenario", str(small_scenario(tmp_path, repeats=1))) as run:
            assert run.wait() == 1, run.output
            assert not (out / "report.json").exists()
    finally:
        subprocess.run(["umount", str(out)], check=True)
    assert "passed: all" in run.output
    assert f"csaud: {run.out}: the report cannot be written: No space left on device" in run.output
    assert "Traceback" not in run.output


@pytest.mark.thorough
def test_a_job_and_a_tcp_connection_share_a_link(tmp_path):
    scenario = tmp_path / "beside.yaml"
    scenario.write_text(
        "name: beside\nfabric: leaf-spine-2x2\nlink_rate: 20Mbit\n"
        "workers: {placement: [h1, h3]}\n"
        "workload: {name: allreduce, sizes: [1048576], repeats: 6}\n"
        "background: [{kind: bulk, to: h3, sources: [h2]}]\n"
    )
    with net_run(tmp_path / "run", "--scenario", str(scenario)) as run:
        assert run.wait() == 0, run.output
    report = Report.model_validate(run.report())
    assert report.books.balanced
    (beside,) = report.background
    assert (beside.kind, beside.to, beside.sources, beside.packets_sent) == ("bulk", "h3", ["h2"], None)
    assert beside.bulk.csa_share >= 0.4
    assert beside.bulk.received > 0.2 * (beside.bulk.csa + beside.bulk.other)
    assert "Background: TCP from h2 to h3" in (run.out / "report.html").read_text()


def test_prompt_has_mininets_habits_and_the_csaud_command(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "133")
    monkeypatch.setenv("LINES", "47")
    scenario = str(small_scenario(tmp_path, repeats=1))
    commands = [
        "h1 ping -c 1 -W 2 h3",
        "link l1 s1 down",
        "h1 ping -c 8 -i 0.25 -W 2 h3",
        "h1 csaud counter show --json",
        "l1 ip -o link show l1-eth1",
        "h2 stty size",
        "h1 csaud perf server &",
        "h3 csaud perf client 10.0.1.1 --sizes 64K --iterations 20",
        "scenario",
        "scenario",
        "exit",
    ]
    with net_run(tmp_path / "out", "--scenario", scenario, "--cli", stdin=subprocess.PIPE) as run:
        path = run.path
        run.process.stdin.write("nodes\n")
        run.process.stdin.flush()
        run.read_until("h1 h2 h3 h4")
        inside = [*CSAUD_NET, "exec", "--run", str(path), "--host", "h4", "--", "ip", "-o", "addr"]
        assert "10.0.2.2/16" in subprocess.run(inside, capture_output=True, text=True, check=True).stdout
        wrong = [*CSAUD_NET, "exec", "--run", str(path), "--host", "h9", "--", "true"]
        refused = subprocess.run(wrong, capture_output=True, text=True, check=False)
        assert refused.returncode == 2
        assert "no such node" in refused.stderr
        run.process.stdin.write("\n".join(commands) + "\n")
        run.process.stdin.close()
        assert run.wait() == 0
    output = run.output
    assert "1 received, 0% packet loss" in output
    assert "icmp_seq=8 ttl=61" in output  # around the link that is down
    assert '"egress_kind"' in output
    assert "47 133" in output  # nodes' terminals are as large as the user's
    assert "state DOWN" in output or "NO-CARRIER" in output
    assert "busbw" in output or "BW" in output
    # books of its own for each job, whatever went before: other CSA traffic, another job
    assert output.count("passed: all") == 2, output


def at_prompt(out: Path, scenario: str, *commands: str, options: tuple[str, ...] = ()) -> tuple[int, str]:
    """Exit status and output of a prompt that is given these commands, and then end of file."""
    with net_run(out, "--scenario", scenario, "--cli", *options, stdin=subprocess.PIPE) as run:
        run.process.stdin.write("\n".join(commands) + "\n")
        run.process.stdin.close()
        return run.wait(), run.output


@pytest.mark.thorough
def test_the_report_tells_what_ran_not_what_the_scenario_says(tmp_path):
    """Changes before a job and in it; the books balance in any case."""
    status, output = at_prompt(
        tmp_path / "out",
        str(small_scenario(tmp_path)),
        "h1 csaud policy set --spray ecmp",
        "h1 csaud fault set 0.06 --seed 3",
        "link l2 s2 down",
        "scenario",
        "exit",
    )
    assert status == 0, output
    made = Report.model_validate_json((tmp_path / "out" / "report.json").read_text())
    assert (made.run.spray, made.run.injected_probability) == ("ecmp", 0.06)
    assert made.in_force.policy["spray"] == "ecmp"
    assert [rule["probability"] for rule in made.in_force.faults] == [0.06]
    assert made.in_force.unlike_scenario == [
        "policy.spray: random -> ecmp",
        "fault uplinks: 0.03 of data+control, silent, seed 3 -> 0.06 of data+control, silent, seed 3",
    ]
    assert made.in_force.links_down == ["l2-s2"]
    assert made.changes == []


@pytest.mark.thorough
def test_the_report_has_what_was_changed_while_the_job_ran(tmp_path):
    scenario = str(small_scenario(tmp_path, repeats=12))
    with net_run(tmp_path / "out", "--scenario", scenario) as run:
        run.read_until("all 4 ranks have found each other")
        control = run.path / "controller.sock"
        ask(control, "policy.set", policy={"spray": "round-robin"})
        ask(control, "fault.clear")
        assert run.wait() == 0, run.output
    made = Report.model_validate(run.report())
    assert (made.run.spray, made.run.injected_probability) == ("random", 0.03)
    assert made.in_force.unlike_scenario == []
    assert [change.what for change in made.changes] == [
        ["policy.spray: random -> round-robin"],
        ["fault uplinks: 0.03 of data+control, silent, seed 3 -> none"],
    ]
    assert all(0 <= change.at_s <= change.in_force_s for change in made.changes)
    assert made.changes[-1].faults == []
    assert made.changes[-1].policy["spray"] == "round-robin"


@pytest.mark.thorough
def test_the_prompts_exit_status_tells_of_a_job_that_failed(tmp_path):
    """Weights that never change teach nothing; the next job is not asked for."""
    training = ("--set", "workload={name: train_digits, steps: 20, hidden: [4], learning_rate: 1.0e-9}")
    scenario = str(small_scenario(tmp_path))
    status, output = at_prompt(tmp_path / "out", scenario, "scenario", "exit", options=training)
    assert "test accuracy" in output and "FAILED" in output, output
    assert status == 1


@pytest.mark.thorough
def test_commands_and_names_are_known_in_the_fabric_and_nowhere_else(tmp_path):
    """`csaud` and this environment's python in `net exec`, hosts by their names."""
    plain = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}

    def machine() -> tuple[str, list[str]]:
        mounts = Path("/proc/self/mountinfo").read_text().splitlines()
        return Path("/etc/hosts").read_text(), [line for line in mounts if "hosts" in line]

    before = machine()

    def start(host: str, *command: str) -> subprocess.Popen[str]:
        line = [*CSAUD_NET, "exec", "--run", str(path), "--host", host, "--", *command]
        return subprocess.Popen(line, env=plain, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def output(host: str, *command: str) -> str:
        with start(host, *command) as process:
            said, _ = process.communicate(timeout=PATIENCE_S)
            assert process.returncode == 0, said
            return said

    scenario = str(small_scenario(tmp_path))
    with net_run(tmp_path / "out", "--scenario", scenario, "--cli", stdin=subprocess.PIPE) as run:
        path = run.path
        run.process.stdin.write("nodes\n")
        run.process.stdin.flush()
        run.read_until("h1 h2 h3 h4")
        folder = str(Path(sys.executable).parent)
        assert output("h2", "sh", "-c", "command -v csaud; command -v python").split() == [
            f"{folder}/csaud",
            f"{folder}/python",
        ]
        assert output("h4", "getent", "hosts", "h1").split() == ["10.0.1.1", "h1"]
        assert "127.0.0.1" in output("h4", "getent", "ahostsv4", "localhost")
        # as a user's own program would: by name, with nothing of this machine's paths
        sum_ = (
            "import csaud, numpy as np\nwith csaud.init() as c: print(c.all_reduce(np.ones(3, np.float32)))"
        )
        ranks = [
            start(host, "env", f"RANK={rank}", "WORLD_SIZE=2", "MASTER_ADDR=h3", "MASTER_PORT=29777",
                  "python", "-c", sum_)
            for rank, host in enumerate(("h3", "h1"))
        ]  # fmt: skip
        said = [rank.communicate(timeout=PATIENCE_S)[0] for rank in ranks]
        assert [text.strip() for text in said] == ["[2. 2. 2.]"] * 2
        assert machine() == before
        run.process.stdin.close()
        assert run.wait() == 0
    assert not path.exists()
    assert machine() == before
