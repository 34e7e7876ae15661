"""Workloads on the virtual network: what only the sender's probe heals, and a collective beside another."""

import csaud_testnet
import pytest

from bench.virtual_collectives import Outcome, Workload, run
from tests.hostlib.core_support import MS, config, link_model


def outcome(pattern: str, loss: float) -> Outcome:
    chance = csaud_testnet.Chance()
    chance.drop_data = chance.drop_control = loss
    chance.seed = 3
    found = run(
        Workload(pattern, 8, 8, iterations=3, pause=40 * MS, limit=60_000 * MS),
        config(),
        link_model(rate_bps=1_000_000_000, nic_queue=2),
        chance,
    )
    assert found.finished
    return found


@pytest.mark.parametrize("pattern", ["ring", "all_to_all", "urgent"])
def test_senders_learn_the_end_of_every_message(pattern: str) -> None:
    found = outcome(pattern, loss=0.1)
    assert found.sends > 100
    assert found.sends_open == 0


def test_a_ring_beside_an_all_to_all_is_measured_alone() -> None:
    found = outcome("urgent", loss=0.0)
    assert len(found.flows) == 3 * 8 * 14
    assert found.sends == 3 * (8 * 14 + 8 * 7)
    assert found.stats["messages_received"] == found.sends
