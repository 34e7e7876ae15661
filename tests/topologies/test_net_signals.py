"""Whole runs in which the job's own congestion is told of in every way; the books must balance."""

from __future__ import annotations

import pytest
from csaud_topologies.record.model import Report

from tests.support.marks import nightly, thorough
from tests.topologies.runs import net_run

pytestmark = pytest.mark.root

# All-reduces enough that most of them come after the link has failed, however late the runner hears of the
# first: two flows meet on one uplink then.
SCENARIO = """
name: congested
seed: 5
fabric: leaf-spine-2x2
workload: {name: allreduce, sizes: [200000], repeats: 10}
policy: {spray: flowlet, limits: {trim_at: 6, no_trim_at: 12, drop_at: 192}}
faults: [{probability: 0.01}]
events: [{at_step: 1, link: uplink, do: down}]
"""


@pytest.mark.parametrize(
    ("options", "told"),
    [
        thorough(("--signal", "bounce", "--spray", "least-queue"), {"senders"}),
        nightly(("--signal", "both", "--icrc", "true"), {"receivers", "senders"}),
        thorough(("--signal", "trim", "--icrc", "true", "--spray", "weighted"), {"receivers"}),
        thorough(("--signal", "drop", "--ecn", "false"), set()),
        nightly(("--signal", "trim", "--set", "ipv6=true"), {"receivers"}),
        thorough(("--signal", "both", "--icrc", "true", "--set", "ipv6=true"), {"receivers", "senders"}),
    ],
    ids=lambda value: "-".join(value[1::2]) if isinstance(value, tuple) else "",
)
def test_every_loss_is_accounted_for(tmp_path, options, told):
    path = tmp_path / "congested.yaml"
    path.write_text(SCENARIO)
    with net_run(tmp_path / "out", "--scenario", str(path), *options) as run:
        assert run.wait() == 0, run.output
        report = Report.model_validate(run.report())
    assert report.passed
    assert report.books.balanced
    assert {who for who, packets in report.recovery.told.items() if packets} == told
    made = report.switches
    assert (made.trimmed > 0, made.bounced > 0) == ("receivers" in told, "senders" in told)
    assert made.both == (made.trimmed if len(told) == 2 else 0)
    if told:  # of DATA; no switch tells of PARITY
        assert made.congestion_dropped <= report.recovery.parity["lost"]
    else:
        assert made.congestion_dropped > report.recovery.parity["lost"]
    assert (made.ecn_marked > 0) == report.run.ecn
    assert report.run.loss_icrc == ("--icrc" in options)
    assert report.run.ipv6 == ("ipv6=true" in options)
