"""Ranks on RDMA devices go on after others have died; packets of the epoch before harm nobody."""

from typing import Any

import pytest

from tests.support.held_back import repeated
from tests.support.ranks import InGuest, OnHost, Rank, run_job
from tests.support.rxe import GUEST, HOST, RxeGuest

pytestmark = [pytest.mark.qemu, pytest.mark.root]

TASK = {"seed": 61, "length": 5_000, "turns": 2, "reform_s": 40.0}
EPOCH = 200
PATIENT = {"epoch": EPOCH, "dead_after": 4.0}
VERBS = {"device": "verbs", **PATIENT}


def reformed(ranks: list[Rank], master: str, doomed: list[int], stale: int = 0) -> list[dict[str, Any]]:
    arguments = {**TASK, "doomed": doomed, "stale": stale}
    results = run_job(ranks, master, "reform", arguments, doomed=doomed)
    left = len(ranks) - len(doomed)
    assert [(result["rank"], result["size"]) for result in results] == [(rank, left) for rank in range(left)]
    assert {result["lost"] for result in results} <= set(doomed)
    for result in results:
        assert sum(count for name, count in result["stats"].items() if name.startswith("rx_bad_")) == 0
    return results


def test_addresses_have_other_names_after_a_death(guest: InGuest, host: OnHost) -> None:
    """Over IPv6 the first rank at an address names it: here those of the two machines are exchanged."""
    soft = Rank(host, HOST.ipv6, {**PATIENT, "mode": "raw"})
    verbs = Rank(guest, GUEST.ipv6, VERBS)
    reformed([soft, verbs, soft, verbs], HOST.ipv6, [0])


@pytest.mark.thorough
def test_two_of_five_queue_pairs_die_at_once(guest: InGuest) -> None:
    reformed([Rank(guest, GUEST.ipv4, VERBS) for _ in range(5)], GUEST.ipv4, [0, 3])


@pytest.mark.thorough
def test_late_packets_complete_in_the_next_epoch_and_change_nothing(
    rxe_guest: RxeGuest, guest: InGuest, host: OnHost
) -> None:
    """The queue pairs and the Q_Key stay what they were, so only the epoch tells such packets apart."""
    soft, verbs = Rank(host, HOST.ipv4, {**PATIENT, "mode": "raw"}), Rank(guest, GUEST.ipv4, VERBS)
    with repeated(rxe_guest.network, EPOCH, every=3, most=200) as held:
        results = reformed([soft, verbs, soft, verbs, verbs], HOST.ipv4, [2, 3], stale=10)
    stale = sum(result["stats"]["rx_stale_epoch"] for result in results if result["mode"] == "verbs")
    assert held.count >= stale >= 10, (held.count, stale)
