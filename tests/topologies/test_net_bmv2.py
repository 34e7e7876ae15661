"""The same on the real simple_switch_grpc: losses, a link that fails and comes back, and balanced books."""

from __future__ import annotations

import pytest
from csaud_topologies.record.model import Report

from tests.topologies.runs import net_run, small_scenario

pytestmark = [pytest.mark.root, pytest.mark.bmv2]

EVENTS = "[{at_step: 1, link: [l1, s1], do: down}, {at_step: 4, link: [l1, s1], do: up}]"


@pytest.mark.parametrize("ipv6", ["false", "true"])
def test_lossy_all_reduces_on_bmv2(tmp_path, ipv6):
    scenario = small_scenario(tmp_path, sizes=(100_003,), repeats=6, loss=0.03)
    paced = ["--target", "bmv2", "--pps", "4000", "--set", f"events={EVENTS}", "--set", f"ipv6={ipv6}"]
    with net_run(tmp_path / "out", "--scenario", str(scenario), *paced) as run:
        assert run.wait() == 0, run.output
    report = Report.model_validate(run.report())
    assert report.passed
    assert report.run.versions["bmv2"] != "unknown"
    assert report.run.calibrated_pps == 4000
    assert [event.what for event in report.events] == ["link l1-s1 down", "link l1-s1 up"]
    assert report.recovery.lost > 5
    failed = {(line.source, line.target) for line in report.books.links if line.was_down}
    assert failed == {("l1", "s1"), ("s1", "l1")}
