"""Collectives over the kernel's Soft-RoCE: among RDMA devices, and between one and the soft device."""

import re
import socket
import struct
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from tests.support.held_back import ETHERNET, epoch_of, watched
from tests.support.marks import thorough
from tests.support.netns import NetworkNamespace
from tests.support.ranks import InGuest, OnHost, Rank, on_host, run_job
from tests.support.roce import CSA_BYTES, DATA, LOSS, LOSS_PORT, ROCE_PORT, CsaHeader, Datagram
from tests.support.rxe import GUEST, HOST, RxeGuest, shell
from tests.verbs.guest.runner import NO_RAW_SOCKETS

pytestmark = [pytest.mark.qemu, pytest.mark.root]

SEED = 20
TRIMMED = 0x20
LENGTH = 30_001  # floats; more than 64 KiB, so that the memory of the sender is registered
VERBS = {"device": "verbs"}
FAMILIES = pytest.mark.parametrize("family", ["ipv4", thorough("ipv6")])


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


@pytest.mark.thorough
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


@pytest.mark.parametrize(
    ("first", "mode", "family"),
    [
        case if case in (("soft", "raw", "ipv4"), ("verbs", "udp", "ipv6")) else thorough(*case)
        for case in product(("soft", "verbs"), ("raw", "udp"), ("ipv4", "ipv6"))
    ],
)
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


def cut(frame: bytes) -> bytes | None:
    """What a switch makes of a frame with a DATA packet in the first form; None: it is none."""
    ipv6 = frame[12:14] == b"\x86\xdd"
    udp = ETHERNET + (40 if ipv6 else 20)
    csa = udp + 28  # 8, BTH 12, DETH 8
    if len(frame) < csa + CSA_BYTES or frame[ETHERNET + (6 if ipv6 else 9)] != socket.IPPROTO_UDP:
        return None
    if frame[udp + 2 : udp + 4] != ROCE_PORT.to_bytes(2):
        return None
    header = CsaHeader.unpack(frame[csa : csa + CSA_BYTES])
    if header.kind != DATA:
        return None
    made = bytearray(frame[:csa] + replace(header, kind=LOSS, flags=header.flags | TRIMMED).pack())
    length = len(made) - udp
    made[udp + 2 : udp + 8] = struct.pack(">HHH", LOSS_PORT, length, 0)
    if ipv6:
        made[ETHERNET + 4 : ETHERNET + 6] = length.to_bytes(2)
    else:
        made[ETHERNET + 2 : ETHERNET + 4] = (20 + length).to_bytes(2)
        made[ETHERNET + 10 : ETHERNET + 12] = checksum(made[ETHERNET : ETHERNET + 20])
    return bytes(made)


def checksum(ipv4_header: bytes) -> bytes:
    words = struct.unpack(">10H", ipv4_header)
    total = sum(words) - words[5]
    total = (total & 0xFFFF) + (total >> 16)
    return (0xFFFF ^ ((total & 0xFFFF) + (total >> 16))).to_bytes(2)


@pytest.mark.parametrize(
    ("environ", "family"),
    [
        pytest.param({}, "ipv4", id="raw-socket-ipv4"),
        thorough({}, "ipv6", id="raw-socket-ipv6"),
        thorough({NO_RAW_SOCKETS: "1"}, "ipv4", id="udp-socket-ipv4"),
        pytest.param({NO_RAW_SOCKETS: "1"}, "ipv6", id="udp-socket-ipv6"),
    ],
)
def test_cut_packets_come_to_a_port_of_their_own(
    rxe_guest: RxeGuest,
    host: OnHost,
    guest: InGuest,
    expected: dict[int, list[dict[str, str]]],
    environ: dict[str, str],
    family: str,
) -> None:
    """Of packets that come as well, so that they are asked for in vain; in the fabric below they do not."""
    told: list[bytes] = []

    def see(frame: bytes, send: Callable[[bytes], object]) -> None:
        made = cut(frame)
        if made is not None and len(told) < 5:
            told.append(made)
            send(made)

    ranks = [
        Rank(host, HOST.address(family), {"mode": "raw"}),
        Rank(guest, GUEST.address(family), VERBS, environ),
    ]
    with watched(rxe_guest.network, see):
        results = run_job(ranks, ranks[0].address, "every_kind", {"seed": SEED, "length": LENGTH})
    assert len(told) == 5
    check(results, expected[2], ["raw", "verbs"])
    stats = results[1]["stats"]
    assert stats["rx_loss_trimmed"] == stats["rx_loss_notices"] == len(told)


@FAMILIES
def test_what_is_lost_on_the_way_goes_again(
    rxe_guest: RxeGuest, host: OnHost, guest: InGuest, expected: dict[int, list[dict[str, str]]], family: str
) -> None:
    """Of what the guest sends, some is lost behind its device."""
    ranks = [Rank(host, HOST.address(family), {"mode": "raw"}), Rank(guest, GUEST.address(family), VERBS)]
    shell(rxe_guest.guest, "tc qdisc add dev eth0 root netem loss 5% limit 10000")
    try:
        results = run_job(ranks, ranks[0].address, "every_kind", {"seed": SEED, "length": LENGTH})
        shown = shell(rxe_guest.guest, "tc -s qdisc show dev eth0")
    finally:
        shell(rxe_guest.guest, "tc qdisc del dev eth0 root")
    assert re.search(r"dropped [1-9]", shown), shown
    assert [result["digests"] for result in results] == expected[2]
    stats = results[1]["stats"]
    assert stats["tx_data"] > results[0]["stats"]["rx_data"]
    assert sum(count for name, count in stats.items() if name.startswith("rtx_")) > 0


def test_what_cannot_be_opened_is_explained(guest: InGuest) -> None:
    with pytest.raises(AssertionError, match=r"ConfigError: verbs_device='rxe7'.*there are .*rxe0"):
        run_job([Rank(guest, GUEST.ipv4, {**VERBS, "verbs_device": "rxe7"})], GUEST.ipv4, "every_kind", {})


def test_the_doctor_tries_the_device(guest: InGuest) -> None:
    [report] = run_job([Rank(guest, GUEST.ipv4)], GUEST.ipv4, "doctor", {})
    found = {(finding["kind"], finding["what"]): finding for finding in report["findings"]}
    assert report["works"] is True
    assert found["verbs", "trial"]["level"] == "ok", report
    assert f"GID 1, {GUEST.ipv4} on eth0, path MTU 4096" in found["verbs", "rxe0 port 1"]["text"]


@pytest.mark.thorough
def test_the_doctor_tries_a_device_that_has_ipv6_alone(rxe_guest: RxeGuest, guest: InGuest) -> None:
    shell(
        rxe_guest.guest,
        "ip link add six mtu 4200 type veth peer name seven mtu 4200; "
        "ip link set six addrgenmode none up; ip link set seven addrgenmode none up; "
        "ip address add fd00:6::1/64 dev six nodad; rdma link add rxe6 type rxe netdev six",
    )
    try:
        [report] = run_job([Rank(guest, GUEST.ipv4)], GUEST.ipv4, "doctor", {})
    finally:
        shell(rxe_guest.guest, "rdma link delete rxe6; ip link delete six")
    found = [finding for finding in report["findings"] if "rxe6" in finding["what"] + finding["text"]]
    assert [finding["level"] for finding in found] == ["ok"] * 3, report
    assert "fd00:6::1 on six, path MTU 4096" in found[1]["text"]
    assert "an all-reduce of two ranks" in found[2]["text"]
