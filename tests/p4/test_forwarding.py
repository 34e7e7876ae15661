"""What every packet meets: routing, TTL, checksum, kinds, the controller's packets, other traffic."""

import pytest
from csaud_softswitch.p4runtime.proto import p4r
from scapy.layers.inet import ICMP, IP, TCP, UDP, fragment
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from scapy.utils import checksum

from tests.p4.rig.frames import (
    DESTINATION,
    MACS,
    SOURCE,
    arp_request,
    check_lengths_and_checksum,
    csa_frame,
)
from tests.p4.rig.leaf import CONTROL, DATA, GROUP, HOST_PORT, LOSS, OTHER, Leaf

BAD_CHECKSUM, TTL_EXPIRED, NO_ROUTE, CUT_SHORT, ANSWER, MALFORMED = range(6)
LLDP = 0x88CC
PROBE = MACS + LLDP.to_bytes(2, "big") + bytes(range(50))


def kind_counts(leaf: Leaf) -> dict[int, int]:
    return {kind: n for kind in range(4) if (n := leaf.count("classify.ingress_kind", HOST_PORT, kind))}


def test_ttl_goes_down_by_one_and_the_checksum_stays_right(leaf: Leaf) -> None:
    assert check_lengths_and_checksum(leaf.one(csa_frame(ttl=9))).ttl == 8


def test_nothing_else_of_a_data_packet_changes(leaf: Leaf) -> None:
    frame = csa_frame(payload=bytes(range(256)), path_id=5, pkt_idx=3, pkt_total=9, tx_ts=77)
    out = leaf.one(frame)
    ttl_and_checksum = {22, 24, 25}
    assert [i for i in range(len(frame)) if frame[i] != out[i] and i not in ttl_and_checksum] == []


@pytest.mark.parametrize("ttl", [2, 64, 255])
@pytest.mark.parametrize("identification", [0, 0x4EDA, 0xFFFF])
def test_the_checksum_stays_right_over_options_too(leaf: Leaf, ttl: int, identification: int) -> None:
    ip = IP(src=SOURCE, dst=DESTINATION, ttl=ttl, id=identification, options=b"\x94\x04\0\0")
    out = leaf.one(bytes(Ether() / ip / TCP(sport=5, dport=80) / b"payload"))
    assert check_lengths_and_checksum(out).ttl == ttl - 1


@pytest.mark.parametrize("checksum", [0xFDFF, 0xFE00, 0xFEFE, 0xFEFF, 0xFF00, 0xFFFE])
def test_the_checksum_over_options_carries_where_it_must(leaf: Leaf, checksum: int) -> None:
    """Its value is the header's own: the identification is chosen so."""
    ip = IP(src=SOURCE, dst=DESTINATION, options=b"\x94\x04\0\0", id=0)
    at_zero = IP(bytes(ip / TCP(sport=5, dport=80))).chksum
    frame = bytes(Ether() / ip.copy() / TCP(sport=5, dport=80))
    wanted = (at_zero - checksum) % 0xFFFF
    packet = Ether(frame)
    packet.id = wanted
    del packet[IP].chksum
    assert IP(bytes(packet)[14:]).chksum == checksum
    check_lengths_and_checksum(leaf.one(bytes(packet)))


def test_a_wrong_checksum_over_options_stays_wrong(leaf: Leaf) -> None:
    frame = bytearray(bytes(Ether() / IP(src=SOURCE, dst=DESTINATION, options=b"\1\1\1\0") / TCP()))
    frame[24] ^= 0x10
    with pytest.raises(AssertionError, match="checksum"):
        check_lengths_and_checksum(leaf.one(bytes(frame)))


@pytest.mark.parametrize(("ttl", "left"), [(1, 0), (0, 0), (2, 1)])
def test_an_expired_packet_is_counted_and_dropped(leaf: Leaf, ttl: int, left: int) -> None:
    assert len(leaf.send([csa_frame(ttl=ttl)], expected=left)) == left
    assert leaf.cell("route.discarded", TTL_EXPIRED) == 1 - left


def test_a_wrong_checksum_is_counted_and_dropped(leaf: Leaf) -> None:
    frame = bytearray(csa_frame())
    frame[24] ^= 0xFF
    assert leaf.send([bytes(frame)], expected=0) == []
    assert leaf.cell("route.discarded", BAD_CHECKSUM) == 1


def test_an_unknown_destination_is_counted_and_dropped(leaf: Leaf) -> None:
    assert leaf.send([bytes(Ether() / IP(src=SOURCE, dst="192.0.2.1") / UDP())], expected=0) == []
    assert leaf.cell("route.discarded", NO_ROUTE) == 1


@pytest.mark.parametrize(
    ("frame", "why"),
    [
        (csa_frame()[:14], CUT_SHORT),
        (csa_frame()[:20], CUT_SHORT),
        (csa_frame()[:33], CUT_SHORT),
        (arp_request()[:41], CUT_SHORT),
        (MACS + b"\x86\xdd" + bytes(40), NO_ROUTE),
        (MACS + b"\x12\x34", NO_ROUTE),
    ],
    ids=["no IPv4", "IPv4", "IPv4's last byte", "ARP", "IPv6", "another type"],
)
def test_without_an_address_nothing_takes_the_default_route(leaf: Leaf, frame: bytes, why: int) -> None:
    leaf.insert("route.ipv4_lpm", {}, "route.set_group", group=GROUP)  # a default route
    assert leaf.send([frame], expected=0) == []
    assert [leaf.cell("route.discarded", reason) for reason in range(6)] == [why == i for i in range(6)]
    assert leaf.cell("route.discarded_kind", OTHER) == 1


def with_header(frame: bytes, at: int, value: bytes) -> bytes:
    """The frame with other bytes in its IPv4 header, whose 20 bytes have a right checksum."""
    header = bytearray(frame[14:34])
    header[at : at + len(value)] = value
    header[10:12] = bytes(2)
    header[10:12] = checksum(bytes(header)).to_bytes(2, "big")
    return frame[:14] + header + frame[34:]


@pytest.mark.parametrize(
    ("at", "value"),
    [
        (0, b"\x75"),
        (0, b"\x65"),
        (0, b"\x44"),
        (0, b"\x40"),
        (2, b"\0\0"),
        (2, b"\0\x13"),
        (0, b"\x46\0\0\x17"),
    ],
    ids=["version 7", "version 6", "IHL 4", "IHL 0", "no length", "length 19", "length 23 of 24"],
)
def test_a_header_that_no_router_forwards_is_counted_and_dropped(leaf: Leaf, at: int, value: bytes) -> None:
    """RFC 1812, 5.2.2."""
    assert leaf.send([with_header(csa_frame(), at, value)], expected=0) == []
    assert [leaf.cell("route.discarded", reason) for reason in range(6)] == [0, 0, 0, 0, 0, 1]


@pytest.mark.parametrize(("at", "value"), [(2, b"\0\x14"), (0, b"\x46\0\0\x18")], ids=["20", "24"])
def test_a_header_that_is_the_whole_packet_is_forwarded(leaf: Leaf, at: int, value: bytes) -> None:
    leaf.one(with_header(csa_frame(), at, value))
    assert leaf.cell("route.discarded", MALFORMED) == 0


@pytest.mark.parametrize("length", [34, 38, 50, 93])
def test_a_frame_cut_behind_its_ipv4_header_has_a_ttl_that_ends_it(leaf: Leaf, length: int) -> None:
    out = leaf.one(csa_frame(ttl=9)[:length])
    assert (len(out), out[22]) == (length, 8)


def test_the_longest_prefix_wins(leaf: Leaf) -> None:
    leaf.insert("route.ipv4_lpm", {"dst": "10.0.2.1/32"}, "route.set_group", group=1)
    [left] = leaf.send([csa_frame()])
    assert left.port == HOST_PORT
    assert leaf.direct("route.ipv4_lpm", {"dst": "10.0.2.1/32"}) == 1
    assert leaf.direct("route.ipv4_lpm", {"dst": "10.0.2.0/24"}) == 0


def test_a_group_without_a_path_is_counted(leaf: Leaf) -> None:
    leaf.modify("route.ipv4_lpm", {"dst": "10.0.2.0/24"}, "route.set_group", group=GROUP + 1)
    assert leaf.send([csa_frame(), csa_frame(kind=2)], expected=0) == []
    assert [leaf.cell("spray.no_path", kind) for kind in range(4)] == [0, 1, 1, 0]


# --- kinds


def test_the_fragments_of_a_datagram_take_one_path(leaf: Leaf) -> None:
    """Only the first has ports, and none is CSA: a LOSS of it would be told of as a fragment."""
    leaf.insert("spray.policy", {}, "spray.ecmp", 1, seed=7)
    datagrams = [
        IP(src=SOURCE, dst=DESTINATION, id=sport) / UDP(sport=sport, dport=53) / Raw(bytes(3000))
        for sport in range(5000, 5016)
    ]
    whole = IP(csa_frame(payload=bytes(3000))[14:])
    whole.flags, whole.chksum = 0, None
    for datagram in (*datagrams, whole):
        out = leaf.send([MACS + b"\x08\0" + bytes(part) for part in fragment(datagram, 1400)], gap_ns=10_000)
        assert len(out) == 3
        assert len({left.port for left in out}) == 1
    assert kind_counts(leaf) == {OTHER: 3 * (len(datagrams) + 1)}


def test_the_kinds_of_packets(leaf: Leaf) -> None:
    leaf.send([csa_frame(), csa_frame(kind=2), csa_frame(kind=5), arp_request()])
    assert kind_counts(leaf) == {DATA: 1, CONTROL: 2, OTHER: 1}


@pytest.mark.parametrize(
    ("offset", "value"),
    [(42, 0x04), (42, 0x0A), (62, 0xC4), (63, 0x52)],
    ids=["RC SEND ONLY", "RC WRITE ONLY", "another magic", "version 2"],
)
def test_what_only_looks_like_csa_is_other_traffic(leaf: Leaf, offset: int, value: int) -> None:
    frame = bytearray(csa_frame())
    frame[offset] = value
    leaf.one(bytes(frame))
    assert kind_counts(leaf) == {OTHER: 1}


def test_management_datagrams_to_queue_pair_1_are_other_traffic(leaf: Leaf) -> None:
    frame = bytearray(csa_frame())
    frame[47:50] = b"\x00\x00\x01"
    leaf.one(bytes(frame))
    assert kind_counts(leaf) == {OTHER: 1}


@pytest.mark.parametrize("length", [14, 20, 33, 41, 45, 53, 60, 63, 70, 93])
def test_a_packet_cut_short_is_never_taken_for_csa(leaf: Leaf, length: int) -> None:
    leaf.send([csa_frame()[:length]], expected=0)
    assert DATA not in kind_counts(leaf)


def test_a_udp_length_too_small_for_csa_is_other_traffic(leaf: Leaf) -> None:
    frame = bytearray(csa_frame())
    frame[38:40] = (63).to_bytes(2, "big")
    leaf.one(bytes(frame))
    assert kind_counts(leaf) == {OTHER: 1}


@pytest.mark.parametrize(
    ("port", "kind", "flags", "udp_length", "is_a"),
    [
        (49791, 3, 0x20, 60, LOSS),
        (49791, 3, 0x20, 400, LOSS),
        (49791, 3, 0x20, 59, OTHER),
        (49791, 3, 0x00, 60, OTHER),
        (49791, 0, 0x20, 60, OTHER),
        (49791, 2, 0x00, 100, OTHER),
        (4791, 3, 0x20, 64, LOSS),
        (4791, 3, 0x20, 63, OTHER),
        (4791, 3, 0x00, 64, CONTROL),
    ],
)
def test_a_loss_is_known_by_type_flag_port_and_length(
    leaf: Leaf, port: int, kind: int, flags: int, udp_length: int, is_a: int
) -> None:
    frame = bytearray(csa_frame(kind=kind, flags=flags, payload=bytes(400)))
    frame[36:38] = port.to_bytes(2, "big")
    frame[38:40] = udp_length.to_bytes(2, "big")
    leaf.one(bytes(frame))
    assert kind_counts(leaf) == {is_a: 1}


def test_other_traffic_is_forwarded_unchanged_but_for_ttl(leaf: Leaf) -> None:
    ip = IP(src=SOURCE, dst=DESTINATION, ttl=64)
    for upper in (TCP(sport=5, dport=80), UDP(sport=5, dport=53), ICMP()):
        frame = bytes(Ether() / ip / upper / b"payload")
        out = leaf.one(frame)
        assert (out[:22], out[26:]) == (frame[:22], frame[26:])
    assert leaf.one(arp_request()) == arp_request()


# --- the controller's packets


def punt(leaf: Leaf, ether_type: int, port: int, gap_us: int = 0) -> None:
    match = {"hdr.ethernet.ether_type": ether_type, "port": port}
    leaf.insert("punt.ether_type", match, "punt.to_cpu", gap_us=gap_us)


def test_frames_of_a_punted_ether_type_go_to_the_controller(leaf: Leaf) -> None:
    punt(leaf, LLDP, port=2)
    assert leaf.send([PROBE], port=2, expected=0) == []
    [packet] = leaf.switch.packet_ins(1)
    assert packet.payload == PROBE
    assert int.from_bytes(packet.metadata[0].value, "big") == 2
    assert leaf.direct("punt.ether_type", {"hdr.ethernet.ether_type": LLDP, "port": 2}) == 1
    assert leaf.count("telemetry.egress_kind", 126, 0) == 0, "510 is no port of the fabric, nor 126"


def test_frames_of_other_ether_types_and_ports_do_not(leaf: Leaf) -> None:
    punt(leaf, LLDP + 1, port=2)
    punt(leaf, LLDP, port=3)
    leaf.send([PROBE], port=2, expected=0)
    leaf.send([PROBE], port=HOST_PORT, expected=0)
    assert leaf.switch.packet_ins(0) == []
    assert leaf.cell("route.discarded", NO_ROUTE) == 2


def test_a_port_cannot_keep_the_controller_busy(leaf: Leaf) -> None:
    """One frame in five seconds at most; what another port sends does not count."""
    for port in (2, 3):
        punt(leaf, LLDP, port, gap_us=5_000_000)
    leaf.send([PROBE] * 20, port=2, expected=0)
    leaf.send([PROBE], port=3, expected=0)
    ports = [int.from_bytes(packet.metadata[0].value, "big") for packet in leaf.switch.packet_ins(2)]
    assert ports == [2, 3]
    assert leaf.cell("punt.held_back", 2) == 19
    leaf.switch.wait(5_000_000_000)
    leaf.send([PROBE], port=2, expected=0)
    assert len(leaf.switch.packet_ins(1)) == 1


def test_the_controller_sends_by_the_port_it_names(leaf: Leaf) -> None:
    metadata = leaf.names.metadata(leaf.switch.index.packet_out, {"egress_port": 3})
    [left] = leaf.switch.packet_out(p4r.PacketOut(payload=PROBE, metadata=metadata), 1)
    assert (left.port, left.frame) == (3, PROBE)
