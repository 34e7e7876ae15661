"""IPv6: routed, sprayed, marked, cut and checked at the edge as IPv4 is."""

from __future__ import annotations

from ipaddress import IPv6Address

import pytest
from scapy.layers.inet import TCP, UDP
from scapy.layers.inet6 import (
    ICMPv6EchoRequest,
    ICMPv6ND_NA,
    ICMPv6ND_NS,
    ICMPv6ND_RS,
    IPv6,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
)
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Packet

from tests.p4.rig.frames import (
    DESTINATION_MAC,
    DESTINATION_QPN,
    MACS,
    NO_TRIM,
    SOURCE_MAC,
    SOURCE_QPN,
    TRIMMED,
    csa_frame,
)
from tests.p4.rig.leaf import CONTROL, DATA, GROUP, HOST_GROUP, HOST_PORT, LOSS, OTHER, UPLINKS, Leaf, spread
from tests.support.roce import LOSS as LOSS_TYPE
from tests.support.roce import LOSS_PORT, ROCE_PORT, CsaHeader
from tests.support.roce6 import datagram6, icrc6

SOURCE, DESTINATION, ANOTHER = "fd00:a00:1::1", "fd00:a00:2::1", "fd00:a00:1::9"
CSA_AT, HEADERS = 82, 114
"""Ethernet 14, IPv6 40, UDP 8, BTH 12, DETH 8; the CSA header's 32."""
BAD_CHECKSUM, TTL_EXPIRED, NO_ROUTE, CUT_SHORT, ANSWER = range(5)
FORMS = pytest.mark.parametrize(("icrc", "size"), [(0, HEADERS), (1, HEADERS + 4)], ids=["first", "second"])


def csa6(payload: bytes = bytes(200), *, src: str = SOURCE, dst: str = DESTINATION, tc: int = 0,
         hlim: int = 64, sport: int = 0xC000, **header: int) -> bytes:  # fmt: skip
    """An Ethernet frame with a CSA packet over IPv6."""
    body = CsaHeader(**header).pack() + payload
    ids = {"src_qpn": SOURCE_QPN, "dst_qpn": DESTINATION_QPN, "qkey": 0x1234}
    return MACS + b"\x86\xdd" + datagram6(src, dst, body, **ids, tc=tc, hlim=hlim, sport=sport, fl=0x12345)


def frame6(packet: Packet) -> bytes:
    return bytes(Ether(dst=DESTINATION_MAC, src=SOURCE_MAC) / packet)


def solicitation(target: str, *, src: str = SOURCE, hlim: int = 255) -> bytes:
    group = f"ff02::1:ff{IPv6Address(target).packed[13]:02x}:{int(IPv6Address(target)) & 0xFFFF:x}"
    return frame6(IPv6(src=src, dst=group, hlim=hlim) / ICMPv6ND_NS(tgt=target))


def advertisement(target: str, *, src: str = SOURCE, dst: str = DESTINATION) -> bytes:
    return frame6(IPv6(src=src, dst=dst, hlim=255) / ICMPv6ND_NA(tgt=target, S=1))


def route6(leaf: Leaf) -> None:
    leaf.insert("route.ipv6_lpm", {"dst": "fd00:a00:2::/64"}, "route.set_group6", group=GROUP)
    leaf.insert("route.ipv6_lpm", {"dst": f"{SOURCE}/128"}, "route.set_group6", group=HOST_GROUP)


@pytest.fixture
def one6(one: Leaf) -> Leaf:
    route6(one)
    return one


@pytest.fixture
def leaf6(leaf: Leaf) -> Leaf:
    route6(leaf)
    return leaf


def discarded(leaf: Leaf) -> list[int]:
    return [leaf.cell("route.discarded", reason) for reason in range(5)]


# --- routing


def test_a_packet_loses_a_hop_and_nothing_else(one6: Leaf) -> None:
    sent = csa6()
    [left] = one6.send([sent])
    assert left.port == 1
    assert left.frame == sent[:21] + b"\x3f" + sent[22:]
    assert one6.count("classify.ingress_kind", HOST_PORT, DATA) == 1
    assert one6.count("telemetry.egress_kind", 1, DATA) == 1
    assert one6.direct("route.ipv6_lpm", {"dst": "fd00:a00:2::/64"}) == 1


def test_the_longest_of_128_bits_decides(one6: Leaf) -> None:
    one6.insert("route.ipv6_lpm", {"dst": "fd00:a00:2::80/121"}, "route.set_group6", group=HOST_GROUP)
    one6.insert("route.ipv6_lpm", {"dst": "fd00:a00:2::81/128"}, "route.set_group6", group=GROUP)
    frames = [csa6(dst=f"fd00:a00:2::{host}") for host in ("7f", "80", "81", "82", "100")]
    assert one6.ports(frames, gap_ns=10_000) == [1, HOST_PORT, 1, HOST_PORT, 1]


@pytest.mark.parametrize("hlim", [0, 1])
def test_the_last_hop_is_counted_and_ends_the_way(one6: Leaf, hlim: int) -> None:
    assert one6.send([csa6(hlim=hlim)], expected=0) == []
    assert discarded(one6) == [0, 1, 0, 0, 0]
    assert one6.cell("route.discarded_kind", DATA) == 1


@pytest.mark.parametrize(
    "packet",
    [
        IPv6(src=SOURCE, dst="fd00:a00:3::1") / UDP(),
        IPv6(src="fe80::1", dst=DESTINATION) / UDP(),
        IPv6(src="febf::1", dst=DESTINATION) / UDP(),
        IPv6(src="::", dst=DESTINATION) / UDP(),
        IPv6(src=SOURCE, dst="fe80::2") / UDP(),
        IPv6(src=SOURCE, dst="ff02::2") / ICMPv6ND_RS(),
        IPv6(src="::", dst="ff02::1:ff00:1", hlim=255) / ICMPv6ND_NS(tgt=DESTINATION),
    ],
    ids=["no prefix", "link-local", "its last prefix", "no source", "to link-local", "multicast", "DAD"],
)
def test_what_no_router_forwards_has_no_route(one6: Leaf, packet: Packet) -> None:
    assert one6.send([frame6(packet)], expected=0) == []
    assert discarded(one6) == [0, 0, 1, 0, 0]


def test_a_source_beside_the_link_local_ones_is_routed(one6: Leaf) -> None:
    sources = ("fec0::1", "fe7f::1", "::1:0:0:1")
    frames = [frame6(IPv6(src=src, dst=DESTINATION) / UDP()) for src in sources]
    assert len(one6.send(frames)) == 3


def test_a_header_that_is_cut_off_is_counted(one6: Leaf) -> None:
    assert one6.send([csa6()[:53]], expected=0) == []
    assert discarded(one6) == [0, 0, 0, 1, 0]


def test_neighbours_find_each_other_through_the_fabric(one6: Leaf) -> None:
    """A solicitation goes where its target is, an advertisement to whoever asked; both keep their hop limit,
    without which a host takes them for forged."""
    asked = solicitation(DESTINATION)
    answer = advertisement(DESTINATION, src=DESTINATION, dst=SOURCE)
    assert [(left.port, left.frame) for left in one6.send([asked])] == [(1, asked)]
    assert [(left.port, left.frame) for left in one6.send([answer], port=1)] == [(HOST_PORT, answer)]


def test_what_was_forwarded_once_is_no_solicitation_any_more(one6: Leaf) -> None:
    """It cannot go round a loop for ever by saying that it is one."""
    forwarded = solicitation(DESTINATION, hlim=254)
    [left] = one6.send([forwarded])
    assert left.frame[21] == 253
    assert one6.send([solicitation(DESTINATION, hlim=1)], expected=0) == []
    ping = frame6(IPv6(src=SOURCE, dst=DESTINATION, hlim=255) / ICMPv6EchoRequest())
    assert one6.one(ping)[21] == 254


def test_other_packets_are_routed_whatever_is_behind_the_header(one6: Leaf) -> None:
    ip = IPv6(src=SOURCE, dst=DESTINATION)
    packets = [
        ip / TCP(sport=5, dport=80),
        ip / UDP(dport=53),
        ip / IPv6ExtHdrHopByHop() / UDP(dport=ROCE_PORT),
        ip / IPv6ExtHdrFragment(offset=3, nh=17) / b"the rest",
        ip / ICMPv6EchoRequest(),
    ]
    assert len(one6.send([frame6(packet) for packet in packets])) == len(packets)
    assert one6.count("classify.ingress_kind", HOST_PORT, OTHER) == len(packets)


def test_traffic_class_chooses_the_queue_of_other_traffic(one6: Leaf) -> None:
    one6.insert("classify.queues", {"dscp": 26}, "classify.set_queue", queue=3)
    tcp = IPv6(src=SOURCE, dst=DESTINATION, tc=26 << 2) / TCP()
    one6.send([frame6(tcp), csa6(tc=26 << 2)])
    assert one6.direct("classify.queues", {"dscp": 26}) == 1


def test_answers_to_nobody_are_counted_apart(one6: Leaf) -> None:
    """The controller asks hosts by ARP from 0.0.0.0."""
    answer = ARP(op=2, psrc="10.0.1.1", pdst="0.0.0.0")
    probe = ARP(op=1, psrc="10.0.1.1", pdst="0.0.0.0")
    assert one6.send([frame6(answer), frame6(probe)], expected=0) == []
    assert discarded(one6) == [0, 0, 1, 0, 1]


# --- spraying


def test_every_mode_sprays_it(leaf6: Leaf) -> None:
    frames = [csa6(bytes(8), path_id=path, pkt_idx=path, pkt_total=400) for path in range(400)]
    for mode, params in (
        ("random", {"seed": 4}), ("round_robin", {}), ("entropy", {"seed": 4}), ("host_directed", {}),
        ("least_queue", {"seed": 4}),
    ):  # fmt: skip
        leaf6.spray(mode, **params)
        left = spread([departure.port for departure in leaf6.send(frames, gap_ns=20_000)])
        assert {*left} == {*UPLINKS}, mode
        assert all(70 <= packets <= 130 for packets in left.values()), (mode, left)
        leaf6.reset()
        route6(leaf6)


def test_a_path_keeps_its_packets_and_hosts_that_look_alike_have_their_own(leaf6: Leaf) -> None:
    """Words of the address that are alike in rack and host do not cancel out."""
    leaf6.spray("entropy", seed=9)
    same = [csa6(bytes(8), path_id=3, pkt_idx=n, pkt_total=50) for n in range(50)]
    assert len({departure.port for departure in leaf6.send(same, gap_ns=20_000)}) == 1
    alike = [csa6(bytes(8), dst=f"fd00:a00:2:0:{host:x}::{host:x}") for host in range(1, 401)]
    left = spread([departure.port for departure in leaf6.send(alike, gap_ns=20_000)])
    assert all(70 <= packets <= 130 for packets in left.values()), left


def test_flows_spread_by_their_ports(leaf6: Leaf) -> None:
    ip = IPv6(src=SOURCE, dst=DESTINATION)
    frames = [frame6(ip / TCP(sport=1000 + flow, dport=80)) for flow in range(400)]
    left = spread([departure.port for departure in leaf6.send(frames, gap_ns=20_000)])
    assert all(70 <= packets <= 130 for packets in left.values()), left


# --- marks and losses


def test_who_listens_is_marked(one6: Leaf) -> None:
    one6.mark(1, low=0, high=0)
    out = one6.send([csa6(tc=0x68 | ecn) for ecn in range(4)], gap_ns=10_000)
    classes = [(left.frame[14] & 15) << 4 | left.frame[15] >> 4 for left in out]
    assert classes == [0x68, 0x6B, 0x6B, 0x6B]
    assert one6.buckets("ecn.marked", 1) == {0: 2}


DATAGRAM = csa6(bytes(range(201)), attempt=2, pkt_idx=4, pkt_total=9, path_id=3, tc=1)


def check_loss6(frame: bytes, *, size: int = HEADERS, bounced: bool = False, hlim: int = 63) -> None:
    """The LOSS that a switch must make of DATAGRAM. What is longer than headers has the first bytes."""
    packet = IPv6(frame[14:])
    second_form = packet[UDP].dport == ROCE_PORT
    assert packet[UDP].dport in (ROCE_PORT, LOSS_PORT)
    assert (len(frame), packet.plen, packet[UDP].len) == (size, size - 54, size - 54)
    assert (packet.tc, packet.hlim, packet.fl, packet[UDP].chksum) == (20 << 2 | 1, hlim, 0x12345, 0)
    header, sent = CsaHeader.unpack(frame[CSA_AT:]), CsaHeader.unpack(DATAGRAM[CSA_AT:])
    assert (header.kind, header.flags) == (LOSS_TYPE, TRIMMED)
    assert (header.pkt_idx, header.path_id, header.attempt) == (sent.pkt_idx, sent.path_id, sent.attempt)
    ends = (DESTINATION, SOURCE) if bounced else (SOURCE, DESTINATION)
    assert (packet.src, packet.dst) == ends
    pairs = (frame[67:70], frame[79:82])
    qpns = (DESTINATION_QPN.to_bytes(3, "big"), SOURCE_QPN.to_bytes(3, "big"))
    assert pairs == (qpns[::-1] if bounced else qpns)
    assert frame[:12] == (MACS[6:] + MACS[:6] if bounced else MACS)
    if second_form:
        assert frame[HEADERS:] == icrc6(frame[14:])
    else:
        assert frame[HEADERS:] == DATAGRAM[HEADERS:size]


@FORMS
def test_trim_sends_the_headers_on_to_the_receiver(one6: Leaf, icrc: int, size: int) -> None:
    one6.congested("trim", icrc=icrc)
    [left] = one6.send([DATAGRAM])
    assert left.port == 1
    check_loss6(left.frame, size=size)
    assert one6.count("loss_signal.trimmed", 1, DATA) == 1
    assert one6.cell("loss_signal.trim_sent", 1) == 1
    assert one6.count("telemetry.egress_kind", 1, LOSS) == 1


@FORMS
def test_bounce_returns_them_to_the_sender(one6: Leaf, icrc: int, size: int) -> None:
    one6.congested("bounce", icrc=icrc)
    [left] = one6.send([DATAGRAM])
    assert left.port == HOST_PORT
    check_loss6(left.frame, size=size, bounced=True)


@FORMS
def test_both_tells_receiver_and_sender(one6: Leaf, icrc: int, size: int) -> None:
    one6.congested("both", icrc=icrc)
    out = {left.port: left.frame for left in one6.send([DATAGRAM], expected=2)}
    check_loss6(out[1], size=size)
    check_loss6(out[HOST_PORT], size=size, bounced=True)
    assert one6.cell("loss_signal.bounce_sent", HOST_PORT) == 1


@pytest.mark.parametrize(
    ("size", "kept"), [(0, 114), (94, 114), (114, 114), (115, 115), (200, 200), (65535, 318)]
)
def test_a_loss_keeps_what_it_is_told_to_and_never_less_than_headers(
    one6: Leaf, size: int, kept: int
) -> None:
    """201 bytes of payload are padded to 204; their iCRC is never kept."""
    one6.congested("trim", size=size)
    assert len(one6.one(DATAGRAM)) == kept


def test_a_loss_from_elsewhere_goes_on_as_one(one6: Leaf) -> None:
    one6.congested("trim")
    loss = one6.one(DATAGRAM)
    one6.reset()
    route6(one6)
    [left] = one6.send([loss], port=1 + 1)
    assert left.frame[21] == 62
    assert one6.count("classify.ingress_kind", 2, LOSS) == 1


def test_who_asks_not_to_be_cut_is_not(one6: Leaf) -> None:
    one6.limit(1, trim_at=0, no_trim_at=10, drop_at=100)
    one6.signal(1, "trim")
    sent = csa6(flags=NO_TRIM)
    assert len(one6.one(sent)) == len(sent)


# --- the edge


@pytest.fixture
def edge6(one6: Leaf) -> Leaf:
    one6.insert("edge.ports", {"port": HOST_PORT}, "edge.check")
    one6.insert("edge.sources6", {"port": HOST_PORT, "src": f"{SOURCE}/128"}, "edge.belongs6")
    return one6


def refused(leaf: Leaf) -> list[int]:
    return [leaf.cell("edge.refused", HOST_PORT * 4 + reason) for reason in range(3)]


def test_a_hosts_own_address_goes_through(edge6: Leaf) -> None:
    frames = [csa6(), csa6(kind=1), solicitation(DESTINATION), advertisement(SOURCE)]
    assert len(edge6.send(frames)) == 4
    assert refused(edge6) == [0, 0, 0]
    assert edge6.count("classify.ingress_kind", HOST_PORT, CONTROL) == 1


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (csa6(kind=LOSS_TYPE, flags=TRIMMED), 0),
        (csa6(src=ANOTHER), 1),
        (csa6(src="fd00:a00:1:0:8000::1"), 1),
        (solicitation(DESTINATION, src=ANOTHER), 1),
        (advertisement(ANOTHER), 1),
        (advertisement("fe80::9"), 1),
        (csa_frame(), 1),
    ],
    ids=[
        "LOSS",
        "source",
        "one bit of the source",
        "solicitation",
        "advertisement",
        "advertisement of the link's",
        "IPv4 that has none",
    ],
)
def test_another_address_and_a_loss_are_refused(edge6: Leaf, frame: bytes, reason: int) -> None:
    assert edge6.send([frame], expected=0) == []
    assert refused(edge6) == [int(n == reason) for n in range(3)]


def test_what_stays_on_the_link_is_not_refused_but_has_no_route(edge6: Leaf) -> None:
    """Every host speaks of itself from its link-local address."""
    router = frame6(IPv6(src="fe80::1", dst="ff02::2", hlim=255) / ICMPv6ND_RS())
    assert edge6.send([router], expected=0) == []
    assert (refused(edge6), discarded(edge6)) == ([0, 0, 0], [0, 0, 1, 0, 0])
