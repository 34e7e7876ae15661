"""Maintenance under traffic: a link, then a spine is drained and used again while ranks reduce, and the books
of the job show that no packet was lost; a link that loses packets, or is slow, is found."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from csaud_controller.run.directory import find_run
from csaud_controller.switches.counters import read_counters
from csaud_softswitch.links import set_rate

from tests.topologies.fabrics import OUTSIDE, waiting_fabric
from tests.topologies.runs import PATIENCE_S, wait_for

# Their jobs go on until they are told to end: one at a time.
pytestmark = [pytest.mark.root, pytest.mark.xdist_group("endless jobs")]

PROGRAM = """
import csaud, time, numpy as np
from pathlib import Path
done, here = Path("done"), Path("rounds")
with csaud.init() as comm:
    ending, rounds = np.zeros(1, np.float32), 0
    while not ending[0]:
        total = comm.all_reduce(np.full(60_000, comm.rank + 1.0, np.float32))
        assert total[0] == total[-1] == comm.size * (comm.size + 1) / 2
        rounds += 1
        if comm.rank == 0:
            here.write_text(str(rounds))
        time.sleep(0.02)  # others compute, too: what is tested needs the processors
        ending = comm.all_reduce(np.full(1, float(comm.rank == 0 and done.exists()), np.float32))
"""


def csaud(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from csaud.cli import main; main()", *words],
        cwd=folder, env=OUTSIDE, timeout=PATIENCE_S, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.thorough
def test_a_link_and_a_spine_are_drained_under_traffic_and_no_packet_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with waiting_fabric(tmp_path, "leaf-spine-2x3", "--spray", "random") as fabric:
        job = fabric.start_job(PROGRAM)
        rounds = tmp_path / "rounds"
        inventory = find_run().fabric()

        def at_least(more: int) -> None:
            goal = int(wait_for(rounds.read_text, "a number that is written")) + more
            wait_for(lambda: int(rounds.read_text() or 0) >= goal, f"round {goal}")

        def come_in(*ports: tuple[str, int]) -> list[int]:
            counted = read_counters(inventory, counters=("ingress_kind",))
            return [sum(counted[name]["ingress_kind"][port].values()) for name, port in ports]

        wait_for(lambda: rounds.exists() and rounds.read_text(), "the first round")
        at_least(3)
        done = csaud(tmp_path, "drain", "l1-s1")
        assert done.returncode == 0, done.stdout + done.stderr
        assert "l1-s1 is drained: nothing comes over its links" in done.stdout
        before = come_in(("s1", 1), ("l1", 1)), come_in(("s2", 1), ("l1", 2))
        at_least(3)
        after = come_in(("s1", 1), ("l1", 1)), come_in(("s2", 1), ("l1", 2))
        assert after[0] == before[0], "traffic has left the link"
        assert all(a > b for a, b in zip(after[1], before[1], strict=True))

        done = csaud(tmp_path, "drain", "s2", "--json")
        assert done.returncode == 0, done.stdout + done.stderr
        assert json.loads(done.stdout)["still_used"] == []
        before_spine = come_in(("s2", 1), ("s2", 2))
        at_least(3)
        assert come_in(("s2", 1), ("s2", 2)) == before_spine
        refused = csaud(tmp_path, "drain", "s3")
        assert refused.returncode == 2
        assert refused.stderr.strip().startswith("csaud: draining s3 would cut off h1, h2")
        busy = csaud(tmp_path, "drain", "h1")
        assert busy.returncode == 2
        assert "h1 still sends and receives" in busy.stderr
        shown = csaud(tmp_path, "drain", "show", "--json")
        assert [each["what"] for each in json.loads(shown.stdout)["drains"]] == ["l1-s1", "s2"]

        assert csaud(tmp_path, "undrain", "--all").returncode == 0
        at_least(3)
        assert come_in(("s1", 1))[0] > after[0][0], "it is used again"
        (tmp_path / "done").touch()
        told, _ = job.communicate(timeout=PATIENCE_S)
        assert job.returncode == 0, told
        books = fabric.report().books
        assert books.balanced
        assert {line.name: line.left for line in books.job}["lost DATA copies"] == 0
        assert not any(link.missing for link in books.links)


@pytest.mark.thorough
def test_a_link_that_loses_packets_is_found_left_out_and_used_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """5 % at both ends of one link of six, found from what the ranks report."""
    monkeypatch.chdir(tmp_path)
    with waiting_fabric(tmp_path, "leaf-spine-2x3", "--spray", "random") as fabric:
        job = fabric.start_job(PROGRAM)
        rounds = tmp_path / "rounds"
        inventory = find_run().fabric()

        def link() -> dict[str, object]:
            shown = json.loads(csaud(tmp_path, "link", "show", "l1-s2", "--json").stdout)
            (found,) = shown["links"]
            return found

        def lost() -> int:
            counted = read_counters(inventory, counters=("injected",))
            ports = [by_port for name in counted for by_port in counted[name]["injected"].values()]
            return sum(kinds["data"] for kinds in ports)

        wait_for(lambda: rounds.exists() and rounds.read_text(), "the first round")
        assert csaud(tmp_path, "link", "grey", "--every", "1s").returncode == 0
        assert (
            csaud(
                tmp_path, "fault", "set", "0.05", "--where", "l1-s2", "--kinds", "data,control,other"
            ).returncode
            == 0
        )
        wait_for(lambda: link()["doubted"], "l1-s2 is grey")
        wait_for(lambda: csaud(tmp_path, "controller", "wait").returncode == 0, "it is left out")
        before, goal = lost(), int(wait_for(rounds.read_text, "a number that is written")) + 4
        wait_for(lambda: int(rounds.read_text() or 0) >= goal, "four rounds")
        assert lost() == before, "the job loses no more"
        assert csaud(tmp_path, "fault", "clear").returncode == 0
        wait_for(lambda: not link()["doubted"], "it is used again")
        (tmp_path / "done").touch()
        told, _ = job.communicate(timeout=PATIENCE_S)
        assert job.returncode == 0, told
        assert fabric.report().books.balanced


@pytest.mark.nightly
def test_a_link_that_is_slow_is_found_left_out_and_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At a quarter of its rate, both ways, it loses nothing by itself."""
    monkeypatch.chdir(tmp_path)
    with waiting_fabric(tmp_path, "leaf-spine-2x3", "--spray", "random", "--rate", "50Mbit") as fabric:
        job = fabric.start_job(PROGRAM.replace("60_000", "400_000"))
        rounds = tmp_path / "rounds"
        run = find_run()
        edge = run.fabric().edges_between("l1", "s2")[0]

        def link() -> dict[str, Any]:
            (found,) = json.loads(csaud(tmp_path, "link", "show", "l1-s2", "--json").stdout)["links"]
            return found

        wait_for(lambda: rounds.exists() and rounds.read_text(), "the first round")
        assert csaud(tmp_path, "link", "grey", "--every", "2s").returncode == 0
        for end in edge.ends:
            set_rate(run.path, end.node, end.port, run.fabric().rate_at[end] // 4)
        (why,) = wait_for(lambda: link()["out"], "l1-s2 is grey")
        # What waits before it may keep packets of the examination out, too, before ports are read twice.
        assert why.startswith(("grey: is slow: ", "grey: loses "))
        for end in edge.ends:
            set_rate(run.path, end.node, end.port, run.fabric().rate_at[end])
        wait_for(lambda: not link()["out"], "it is used again")
        (tmp_path / "done").touch()
        told, _ = job.communicate(timeout=PATIENCE_S)
        assert job.returncode == 0, told
        assert fabric.report().books.balanced
