"""What a scenario's events do to links, in an emulated fabric and in a simulated one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from csaud_sim.scenario_command import simulate
from csaud_topologies.record.model import Report
from csaud_topologies.scenario.options import RunOptions

from tests.support.marks import thorough
from tests.topologies.runs import net_run

pytestmark = pytest.mark.root

# An all-reduce sends about 300 packets each way through a link.
EVENTS = """
name: links
seed: 3
fabric: leaf-spine-2x2
workload: {name: allreduce, sizes: [200000], repeats: 8}
policy: {spray: round-robin}
events:
  - {at_step: 1, link: l2-s2, do: lose, loss: 0.1}
  - {at_step: 3, link: l2-s2, do: up}
  - {at_step: 5, link: l1-s1, do: slow, rate: 10Mbit}
  - {at_step: 6, link: l1-s1, do: up}
  - {after: 0s, link: l1-s2, do: flap, every: 500ms, times: 2}
"""


def emulated(tmp_path: Path, text: str, *options: str) -> Report:
    (path := tmp_path / "links.yaml").write_text(text)
    with net_run(tmp_path / "out", "--scenario", str(path), *options) as run:
        assert run.wait() == 0, run.output
        return Report.model_validate(run.report())


def simulated(tmp_path: Path, text: str) -> Report:
    (path := tmp_path / "links.yaml").write_text(text)
    out = tmp_path / "out"
    assert simulate(RunOptions(scenario=str(path), out=str(out)), as_json=False)
    return Report.model_validate(json.loads((out / "report.json").read_text()))


@pytest.mark.parametrize("where", [thorough(emulated), simulated])
def test_links_lose_packets_are_slow_and_flap_as_the_scenario_says(where, tmp_path):
    report = where(tmp_path, EVENTS)
    assert sorted(event.what for event in report.events) == [
        "link l1-s1 slow 10Mbit",
        "link l1-s1 up",
        *["link l1-s2 down"] * 2,
        *["link l1-s2 up"] * 2,
        "link l2-s2 lose 0.1",
        "link l2-s2 up",
    ]
    injected = {(uplink.switch, uplink.peer): uplink.injected for uplink in report.uplinks}
    assert {ends for ends, packets in injected.items() if packets} == {("l2", "s2"), ("s2", "l2")}
    assert 60 < sum(injected.values()) < 250  # of two all-reduces, not of seven
    assert report.all_reduce.max_s > 1.0  # 300 packets of 4 KB at 10 Mbit/s
