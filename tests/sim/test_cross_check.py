"""One scenario twice, emulated by Mininet and simulated: what the seed decides is the same to the packet,
what time decides within bounds.

The n-th DATA packet that comes to an uplink is lost if the n-th draw of that port's seed says so, whichever
packet it is. Under ECMP a packet's uplink does not depend on time, where hosts have one path: a copy that is
sent again goes by another one if there is one, and which that is, time decides. So each uplink lets the same
first copies through in both runs, loses what its draws say until they are through, and only copies sent again
for nothing, which time decides, make a difference: they go through, too, and may take draws.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from csaud_controller.base.seeds import derive
from csaud_sim.cli import app
from csaud_topologies.record.model import Report, Uplink
from csaud_topologies.report.compare import load_report
from typer.testing import CliRunner

from tests.topologies.runs import net_run

pytestmark = [pytest.mark.root, pytest.mark.thorough]

SEED, PROBABILITY = 7, 0.03
SCENARIO = """\
name: cross-check
seed: {seed}
fabric: leaf-spine-2x2
link_rate: 200Mbit
workload: {{name: allreduce, sizes: [1, 1021, 262144], repeats: 3}}
policy: {{spray: ecmp, loss_signal: trim}}
host: {{paths: 1}}
faults:
  - {{where: uplinks, probability: {probability}, kinds: [data], signalled: {signalled}}}
"""
MASK = 0xFFFF_FFFF


def lost_among(packets: int, seed: int) -> int:
    """Of the first so many draws of a seed, those that lose: p4src/v1model/random.p4, written once more."""
    lost = 0
    for n in range(packets):
        value = (n * 0x9E3779B1 + seed) & MASK
        value = (value ^ value >> 16) * 0x85EBCA6B & MASK
        value = (value ^ value >> 13) * 0xC2B2AE35 & MASK
        lost += (value ^ value >> 16) < round(PROBABILITY * 2**32)
    return lost


def leaf_uplinks(report: Report) -> dict[tuple[str, int], Uplink]:
    return {(port.switch, port.port): port for port in report.uplinks if port.switch.startswith("l")}


def gone(port: Uplink) -> int:
    return port.injected + port.trimmed


@pytest.fixture(params=[True, False], ids=["told", "silent"])
def both(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[bool, list[Report]]:
    signalled: bool = request.param
    path = tmp_path / "cross-check.yaml"
    text = SCENARIO.format(seed=SEED, probability=PROBABILITY, signalled=str(signalled).lower())
    path.write_text(text)
    print(f"seed {SEED}")
    with net_run(tmp_path / "emulated", "--scenario", str(path)) as run:
        assert run.wait() == 0, run.output
    done = CliRunner().invoke(app, ["run", str(path), "--out", str(tmp_path / "simulated")])
    assert done.exit_code == 0, done.output
    return signalled, [load_report(tmp_path / kind) for kind in ("emulated", "simulated")]


def test_emulated_and_simulated_agree(both: tuple[bool, list[Report]]) -> None:
    signalled, (emulated, simulated) = both
    for_nothing = emulated.recovery.duplicates + simulated.recovery.duplicates

    # exactly: results, first copies, and what each uplink loses of the packets that came to it
    assert emulated.equality is not None and simulated.equality is not None
    assert emulated.equality.reference == simulated.equality.ranks[0]
    first, *others = (r.recovery.sent - r.recovery.retransmitted for r in (emulated, simulated))
    assert others == [first]
    for report in (emulated, simulated):
        for (switch, port), uplink in leaf_uplinks(report).items():
            seed = derive(SEED, "fault", switch, port)
            assert gone(uplink) == lost_among(uplink.data + gone(uplink), seed), f"{switch}:{port}"
        recovery = report.recovery
        assert sum(map(gone, leaf_uplinks(report).values())) == recovery.lost + recovery.parity["lost"]
        assert recovery.lost > 100
        made_good = recovery.retransmitted + recovery.found_by["parity"]
        assert made_good == recovery.lost + recovery.duplicates
        assert (recovery.parity["sent"] == 0) == signalled
        assert recovery.told["receivers"] == (recovery.lost if signalled else 0)
        assert (recovery.found_by["loss"] > 0) == signalled

    # within what was sent again for nothing, and parity: packets through each uplink, and losses found by
    # each detector
    parity = emulated.recovery.parity["sent"] + simulated.recovery.parity["sent"]
    given = emulated.recovery.found_by["parity"] + simulated.recovery.found_by["parity"]
    for place, uplink in leaf_uplinks(emulated).items():
        other = leaf_uplinks(simulated)[place]
        assert abs(uplink.data - other.data) <= for_nothing + parity + given
    if signalled:
        difference = emulated.recovery.found_by["loss"] - simulated.recovery.found_by["loss"]
        assert abs(difference) <= for_nothing

    # time alone decides whether a gap or the interval is the first to find a loss of which nobody tells
    assert for_nothing - given < first / 20  # what rows gave back and was only late was not sent again
