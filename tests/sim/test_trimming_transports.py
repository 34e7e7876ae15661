"""Transports over trimming fabrics, against what their own simulators record, and over faults."""

from typing import Any

import numpy as np
import pytest
from csaud_sim.experiment.measure import Measured, measure
from csaud_sim.experiment.model import EXPERIMENTS, Experiment, load_experiment

BACK = 6 * (1000 + 6) / 1000
"""us that an acknowledgement takes over six idle links: uet-htsim's times are the senders'."""


def run(**keys: Any) -> Measured:
    asked = {"name": "test", "fabric": "fat-tree-4", "link_rate": "100Gbit", "link_delay": "1us", **keys}
    return measure(Experiment.model_validate(asked))


def last_us(measured: Measured) -> float:
    assert measured.totals["unfinished"] == 0
    return float(measured.flows["fct_ns"].max()) / 1000


def uec(**keys: Any) -> dict[str, Any]:
    return {"name": "uec", "mtu": 4086, **keys}


def incast(senders: int, size: int, to: str = "h16") -> dict[str, Any]:
    return {"pattern": "incast", "senders": senders, "flows": senders, "sizes": size, "to": to}


def test_one_flow_takes_as_long_as_in_uet_htsim() -> None:
    """validate_uec_sender.out, Single Connection: 176.2 us, between pods."""
    flows = [last_us(run(transport=uec(), traffic=incast(1, 2_000_000), seed=seed)) for seed in range(1, 7)]
    assert max(flows) + BACK == pytest.approx(176.2, rel=0.001)


def test_an_incast_of_15_takes_as_long_as_in_uet_htsim() -> None:
    """Small 16 node incast: 2,478.53 us, 811 packets cut."""
    measured = run(transport=uec(), traffic=incast(15, 2_000_000))
    assert last_us(measured) + BACK == pytest.approx(2478.53, rel=0.05)
    assert measured.totals["trimmed"] == measured.totals["rtx_loss"] > 0
    assert measured.totals["rx_duplicates"] == 0


def test_an_ndp_incast_of_10_takes_as_long_as_in_htsim() -> None:
    """EXAMPLES/incast_scaling, first window 23: 0.84 % over 2,217.6 us."""
    asked = load_experiment(EXPERIMENTS / "ndp-incast.yaml", {"traffic.senders": "10", "traffic.flows": "10"})
    assert last_us(measure(asked)) == pytest.approx(2236.3, rel=0.01)


@pytest.mark.parametrize("transport", ["uec", "ndp", "dcp"])
@pytest.mark.parametrize(("signalled", "by"), [(True, "rtx_loss"), (False, "rtx_timeout")])
def test_every_flow_ends_over_cuts_and_silent_losses(transport: str, signalled: bool, by: str) -> None:
    measured = run(
        transport=transport,
        traffic={"pattern": "permutation", "sizes": 500_000, "load": 0.6, "flows": 60},
        faults=[{"where": "uplinks", "probability": 1e-2, "kinds": ["data"], "signalled": signalled}],
    )
    assert measured.totals["unfinished"] == 0
    assert np.isfinite(measured.flows["fct_ns"]).all()
    assert measured.totals[by] > 0


@pytest.mark.parametrize("transport", ["uec", "ndp", "dcp"])
def test_spraying_alone_brings_no_copy_that_was_not_lost(transport: str) -> None:
    measured = run(
        transport=transport, traffic={"pattern": "matching", "matching": 3, "sizes": 400_000, "flows": 16}
    )
    assert last_us(measured) < 200
    assert measured.totals["rx_duplicates"] == 0
    assert measured.totals["tx_data"] == measured.totals["rx_data"] + measured.totals["trimmed"]


@pytest.mark.parametrize("transport", ["uec", "ndp", "dcp"])
def test_collectives_run_over_it(transport: str) -> None:
    asked = {"operation": "all_reduce.ring", "bytes": 1_000_000, "repeats": 2}
    assert len(run(transport=transport, collectives=asked).collectives["completion_ns"]) == 2


def test_a_number_of_paths_that_is_no_power_of_two_is_refused() -> None:
    with pytest.raises(ValueError, match="expected a power of two, got 100"):
        run(transport=uec(paths=100), traffic=incast(1, 1000))
