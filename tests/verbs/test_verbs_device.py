"""Collectives over the kernel's Soft-RoCE: among RDMA devices, and between one and the soft device."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.support.held_back import ETHERNET, epoch_of, watched
from tests.support.netns import NetworkNamespace
from tests.support.ranks import InGuest, OnHost, Rank, on_host, run_job
from tests.support.roce import CSA_BYTES, Datagram
from tests.support.rxe import GUEST, HOST, RxeGuest

pytestmark = [pytest.mark.qemu, pytest.mark.root]

SEED = 20
LENGTH = 30_001  # floats; more than 64 KiB, so that the memory of the sender is registered
VERBS = {"device": "verbs"}
FAMILIES = pytest.mark.parametrize("family", ["ipv4", "ipv6"])


@pytest.fixture(scope="module")
def expected() -> dict[int, list[dict[str, str]]]:
    """Digests of every rank's results by the number of ranks, from soft devices on loopback."""
    found = {}
    with NetworkNamespace() as namespace, on_host(namespace) as place:
        for size in (2, 3):
            ranks = [Rank(place, "127.0.0.1") for _ in range(size)]
            results = run_job(ranks, "127.0.0.1", "every_kind", {"seed": SEED, "length": LENGTH})
            found[size] = [result["digests"] for result in results]
    return found


def check(results: list[dict[str, Any]], expected: list[dict[str, str]], modes: list[str]) -> None:
    assert [result["digests"] for result in results] == expected
    assert [result["mode"] for result in results] == modes
    for result in results:
        stats = result["stats"]
        assert sum(count for name, count in stats.items() if name.startswith("rx_bad_")) == 0
        assert stats["tx_errors"] == 0
    sent, received = (sum(result["stats"][name] for result in results) for name in ("tx_data", "rx_data"))
    resent = sum(
        count for result in results for name, count in result["stats"].items() if name.startswith("rtx_")
    )
    twice = sum(result["stats"]["rx_duplicates"] for result in results)
    assert sent - received == resent - twice


@FAMILIES
def test_every_collective_among_queue_pairs_of_one_device(
    guest: InGuest, expected: dict[int, list[dict[str, str]]], family: str
) -> None:
    """Three ranks, each with one queue pair whatever the number of its peers."""
    address = GUEST.address(family)
    ranks = [Rank(guest, address, VERBS) for _ in range(3)]
    results = run_job(ranks, address, "every_kind", {"seed": SEED, "length": LENGTH})
    check(results, expected[3], ["verbs"] * 3)
    for result in results:
        # Arrays are sent from where they lie; only what is small is copied, into the header's slot.
        assert result["stats"]["tx_copied"] * 5 < result["stats"]["tx_data"]


@FAMILIES
@pytest.mark.parametrize("mode", ["raw", "udp"])
@pytest.mark.parametrize("first", ["soft", "verbs"])
def test_every_collective_between_soft_and_verbs(
    host: OnHost,
    guest: InGuest,
    expected: dict[int, list[dict[str, str]]],
    first: str,
    mode: str,
    family: str,
) -> None:
    soft = Rank(host, HOST.address(family), {"mode": mode})
    verbs = Rank(guest, GUEST.address(family), VERBS)
    ranks = [soft, verbs] if first == "soft" else [verbs, soft]
    results = run_job(ranks, ranks[0].address, "every_kind", {"seed": SEED, "length": LENGTH})
    check(results, expected[2], [mode, "verbs"] if first == "soft" else ["verbs", mode])


def test_datagrams_too_short_for_a_header_are_counted_and_change_nothing(
    rxe_guest: RxeGuest, host: OnHost, guest: InGuest, expected: dict[int, list[dict[str, str]]]
) -> None:
    """Cut off within the header, with the right Q_Key and iCRC, so that the device delivers them."""
    forged: list[int] = []

    def see(frame: bytes, send: Callable[[bytes], object]) -> None:
        if forged or epoch_of(frame) is None:
            return
        sent = Datagram.unpack(frame[ETHERNET:])
        for length in range(CSA_BYTES):
            forged.append(length)
            send(frame[:ETHERNET] + replace(sent, payload=sent.payload[:length]).pack())

    ranks = [Rank(host, HOST.ipv4, {"mode": "raw"}), Rank(guest, GUEST.ipv4, VERBS)]
    with watched(rxe_guest.network, see):
        results = run_job(ranks, HOST.ipv4, "every_kind", {"seed": SEED, "length": LENGTH})
    assert [result["digests"] for result in results] == expected[2]
    stats = results[1]["stats"]
    bad = {name: count for name, count in stats.items() if name.startswith("rx_bad_") and count}
    assert bad == {"rx_bad_length": len(forged)} and forged == list(range(CSA_BYTES))


def test_what_cannot_be_opened_is_explained(guest: InGuest) -> None:
    with pytest.raises(AssertionError, match=r"ConfigError: verbs_device='rxe7'.*there are .*rxe0"):
        run_job([Rank(guest, GUEST.ipv4, {**VERBS, "verbs_device": "rxe7"})], GUEST.ipv4, "every_kind", {})


def test_the_doctor_tries_the_device(guest: InGuest) -> None:
    [report] = run_job([Rank(guest, GUEST.ipv4)], GUEST.ipv4, "doctor", {})
    found = {(finding["kind"], finding["what"]): finding for finding in report["findings"]}
    assert report["works"] is True
    assert found["verbs", "trial"]["level"] == "ok", report
    assert f"GID 1, {GUEST.ipv4} on eth0, path MTU 4096" in found["verbs", "rxe0 port 1"]["text"]
