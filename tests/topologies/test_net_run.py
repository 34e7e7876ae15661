"""Whole runs on the embedded switch: a small fabric with losses, beside another one, and twice."""

from __future__ import annotations

import subprocess

import pytest
from csaud_topologies.report.model import Report

from tests.topologies.runs import CSAUD_NET, net_run, processes_of, small_scenario

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
            assert "in use by a run of pid" in third.output
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


def test_prompt_has_mininets_habits_and_the_csaud_command(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "133")
    monkeypatch.setenv("LINES", "47")
    scenario = str(small_scenario(tmp_path))
    commands = [
        "h1 ping -c 1 -W 2 h3",
        "link l1 s1 down",
        "h1 ping -c 8 -i 0.25 -W 2 h3",
        "h1 csaud counter show --json",
        "l1 ip -o link show l1-eth1",
        "h2 stty size",
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
        assert refused.returncode == 1
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
    assert "passed: all" in output
