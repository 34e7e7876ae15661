"""Parity is for what is lost without a word: what waits in queues, or is cut there, has no part in it."""

import pytest
from csaud_sim.experiment.measure import measure
from csaud_sim.experiment.model import Experiment


@pytest.mark.parametrize("spray", ["host", "random"])
def test_congestion_brings_hardly_any(spray: str) -> None:
    """One of four spines has a quarter of the others' rate: packets by it come 90 us late, or are cut.

    Rows overtake them, and give back what is only late. Taken for losses, that brought rows for the next
    collective, which did the same: 3.7 % as many as there was DATA.
    """
    keys = {
        "name": "test",
        "fabric": "leaf-spine-4x4x4",
        "link_rate": "100Gbit",
        "link_delay": "775ns",
        "pipeline": "400ns",
        "policy": {"spray": spray},
        "traffic": None,
        "links": [{"where": "s1", "rate": "25Gbit"}],
        "collectives": {"operation": "all_to_all.pairwise", "bytes": 4_161_536, "repeats": 8},
        "seed": 2,
    }
    found = measure(Experiment.model_validate(keys)).totals
    assert found["trimmed"] > 100 and found["rtx_interval"] > 100
    assert found["tx_parity"] < 0.005 * found["tx_data"]
