"""B2, go-back-N with DCQCN over lossless switches: rates after marks, pauses; nothing is lost or repeated."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from csaud_controller.base.yamlfile import FieldError
from csaud_controller.inventory import leaf_spine
from csaud_sim._core import PlainPacket
from csaud_sim.cli import app
from csaud_sim.experiment.measure import Measured, measure
from csaud_sim.experiment.model import Experiment
from csaud_sim.transports.flow_control import check_flow_control
from csaud_sim.transports.model import Transport
from typer.testing import CliRunner

from tests.sim.baseline_wire import Wire

MTU = 4096
FRAME_NS = (MTU + 58 + 24) * 8 / 100  # at 100 Gbit/s
CUT_EVERY, RAISE_EVERY = 4_000, 300_000


def marks(*numbers: int) -> Wire:
    """100 Gbit/s, and marks on packets of these numbers of DATA."""

    def on_the_way(packet: PlainPacket, count: int) -> bool:
        if packet.is_data and count in numbers:
            packet.marked = True
        return False

    return Wire("dcqcn", loses=on_the_way)


def gaps(wire: Wire, begin: int, end: int) -> list[int]:
    times = [time for time, _ in wire.data() if begin <= time < end]
    return [later - earlier for earlier, later in pairwise(times)]


def test_a_mark_halves_the_rate_which_climbs_half_the_way_back() -> None:
    wire = marks(30)
    wire.ends[0].send(1, 2000 * MTU, now=0)
    wire.run(5_000_000)
    told = 31 * wire.slot + wire.delay + wire.slot + wire.delay
    assert set(gaps(wire, 0, told)) == {wire.slot}
    halved = gaps(wire, told + wire.slot, told + RAISE_EVERY)
    assert sum(halved) / len(halved) == pytest.approx(2 * FRAME_NS, rel=0.01)
    raised = gaps(wire, told + RAISE_EVERY + wire.slot, told + 2 * RAISE_EVERY)
    assert sum(raised) / len(raised) == pytest.approx(FRAME_NS / 0.75, rel=0.01)
    assert wire.ends[1].stats()["rx_ecn"] == 1 and all(end.quiet for end in wire.ends)


def test_marks_of_one_period_cut_once() -> None:
    """Of 8 marks within the 4 us of a cut, the first cuts and the others cut once more, together."""
    wire = marks(*range(30, 38))
    wire.ends[0].send(1, 2000 * MTU, now=0)
    wire.run(5_000_000)
    told = 31 * wire.slot + 2 * wire.delay + wire.slot
    after = gaps(wire, told + 2 * CUT_EVERY, told + RAISE_EVERY)
    assert sum(after) / len(after) == pytest.approx(4 * FRAME_NS, rel=0.02)


def run(transport: dict[str, Any] | str, **keys: Any) -> Measured:
    asked = {
        "name": "test",
        "fabric": "leaf-spine-2x1x8",
        "link_rate": "100Gbit",
        "link_delay": "1us",
        **keys,
    }
    return measure(Experiment.model_validate({"transport": transport, **asked}))


INCAST = {"pattern": "incast", "senders": 15, "flows": 15, "sizes": 1_000_000, "to": "h1"}


def test_an_incast_loses_nothing_by_pauses() -> None:
    """The receiver's uplink carries what its switch must hold back: 14 MB in a buffer of 3."""
    small = {"pfc": True, "buffer": 3_000_000, "timeout": "1s"}
    lossless, lossy = run({"name": "rc", **small}, traffic=INCAST), run("rc", traffic=INCAST)
    assert lossy.totals["congestion_dropped"] > 0 and lossy.totals["pauses"] == 0
    assert lossless.totals["pauses"] > 0 and lossless.totals["congestion_dropped"] == 0
    assert lossless.totals["tx_data"] == lossless.totals["rx_data"] == 15 * -(-1_000_000 // MTU)
    assert lossless.totals["unfinished"] == 0


def test_what_waits_under_pauses_takes_no_room_of_acknowledgements() -> None:
    """Ports to hosts hold more DATA than limits of other packets allow, and take what acknowledges."""
    traffic = {"pattern": "random", "flows": 100, "sizes": 1_000_000, "load": 0.9}
    found = run("dcqcn", buffer=32, traffic=traffic)
    assert found.totals["pauses"] > 0
    assert found.totals["timeouts"] == found.totals["rx_duplicates"] == found.totals["rtx_gap"] == 0


def test_no_timeout_runs_out_for_pauses_alone() -> None:
    """127 to one fill the buffers of every switch on the way: the timeout of a lossy fabric is too short."""
    incast = {**INCAST, "senders": 127, "flows": 127}
    found = {
        timeout: run({"name": "dcqcn", **timed}, fabric="leaf-spine-4x1x32", traffic=incast).totals
        for timeout, timed in {"default": {}, "1ms": {"timeout": "1ms"}}.items()
    }
    assert all(totals["pauses"] > 0 == totals["congestion_dropped"] for totals in found.values())
    assert found["1ms"]["timeouts"] > 0 == found["default"]["timeouts"]
    assert found["1ms"]["rx_duplicates"] > 0 == found["default"]["rx_duplicates"]


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ("{name: dcqcn, buffer: 20000}", "ports of l1 need 116,736 bytes of headroom"),
        ("{name: rc, pfc: soon}", "pfc"),
    ],
)
def test_switches_that_cannot_be_lossless_are_refused(tmp_path: Path, keys: str, told: str) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text(f"name: wrong\nfabric: leaf-spine-2x2\ntraffic: {{}}\ntransport: {keys}\n")
    done = CliRunner().invoke(app, ["run", str(path), "--out", str(tmp_path / "out")])
    assert done.exit_code == 2
    said = " ".join(done.output.split())
    assert "wrong.yaml:4: transport." in said and told in said
    assert not (tmp_path / "out").exists()


def test_unlimited_links_cannot_be_paused_in_time() -> None:
    fabric = leaf_spine(2, 2, 1)
    unlimited = fabric.model_copy(update={"link": fabric.link.model_copy(update={"rate": 0})})
    with pytest.raises(FieldError, match="PFC needs rates of links"):
        check_flow_control(Transport(name="dcqcn"), unlimited, 400)
    check_flow_control(Transport(name="rc"), unlimited, 400)
