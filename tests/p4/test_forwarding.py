"""What every packet meets: routing, TTL, checksum, and traffic that is not CSA."""

import pytest
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.l2 import Ether

from tests.p4.switch import (
    CONTROL,
    DATA,
    DESTINATION,
    HOST_PORT,
    LOSS,
    OTHER,
    SOURCE,
    Leaf,
    arp_request,
    csa_frame,
)  # fmt: skip


def kind_counts(leaf: Leaf) -> dict[int, int]:
    return {kind: n for kind in range(4) if (n := leaf.count("classify.ingress_kind", HOST_PORT, kind))}


def test_ttl_goes_down_by_one_and_the_checksum_stays_right() -> None:
    [(_, out)] = Leaf().send([csa_frame(ttl=9)])
    packet = IP(out[14:])
    assert packet.ttl == 8
    stated = packet.chksum
    del packet.chksum
    assert IP(bytes(packet)).chksum == stated


def test_nothing_else_of_a_data_packet_changes() -> None:
    frame = csa_frame(payload=bytes(range(256)), path_id=5, pkt_idx=3, pkt_total=9, tx_ts=77)
    [(_, out)] = Leaf().send([frame])
    ttl_and_checksum = {22, 24, 25}
    assert [i for i in range(len(frame)) if frame[i] != out[i] and i not in ttl_and_checksum] == []


@pytest.mark.parametrize(("ttl", "left"), [(1, 0), (0, 0), (2, 1)])
def test_an_expired_packet_is_counted_and_dropped(ttl: int, left: int) -> None:
    leaf = Leaf()
    assert len(leaf.send([csa_frame(ttl=ttl)])) == left
    assert leaf.switch.counter_read("CsaudIngress.route.discarded", 1)[0] == 1 - left


def test_a_wrong_checksum_is_counted_and_dropped() -> None:
    frame = bytearray(csa_frame())
    frame[24] ^= 0xFF
    leaf = Leaf()
    assert leaf.send([bytes(frame)]) == []
    assert leaf.switch.counter_read("CsaudIngress.route.discarded", 0)[0] == 1


def test_an_unknown_destination_is_counted_and_dropped() -> None:
    leaf = Leaf()
    assert leaf.send([bytes(Ether() / IP(src=SOURCE, dst="192.0.2.1") / UDP())]) == []
    assert leaf.switch.counter_read("CsaudIngress.route.discarded", 2)[0] == 1


def test_the_kinds_of_packets() -> None:
    leaf = Leaf()
    leaf.send([csa_frame(), csa_frame(kind=2), csa_frame(kind=5), arp_request()])
    assert kind_counts(leaf) == {DATA: 1, CONTROL: 2, OTHER: 1}


@pytest.mark.parametrize(
    ("offset", "value"),
    [(42, 0x04), (42, 0x0A), (62, 0xC4), (63, 0x52)],
    ids=["RC SEND ONLY", "RC WRITE ONLY", "another magic", "version 2"],
)
def test_what_only_looks_like_csa_is_other_traffic(offset: int, value: int) -> None:
    frame = bytearray(csa_frame())
    frame[offset] = value
    leaf = Leaf()
    assert len(leaf.send([bytes(frame)])) == 1
    assert kind_counts(leaf) == {OTHER: 1}


def test_management_datagrams_to_queue_pair_1_are_other_traffic() -> None:
    frame = bytearray(csa_frame())
    frame[47:50] = b"\x00\x00\x01"
    leaf = Leaf()
    assert len(leaf.send([bytes(frame)])) == 1
    assert kind_counts(leaf) == {OTHER: 1}


@pytest.mark.parametrize("length", [14, 20, 33, 41, 45, 53, 60, 63, 70, 93])
def test_a_packet_cut_short_is_never_taken_for_csa(length: int) -> None:
    leaf = Leaf()
    leaf.send([csa_frame()[:length]])
    assert DATA not in kind_counts(leaf)


def test_a_udp_length_too_small_for_csa_is_other_traffic() -> None:
    frame = bytearray(csa_frame())
    frame[38:40] = (63).to_bytes(2, "big")
    leaf = Leaf()
    assert len(leaf.send([bytes(frame)])) == 1
    assert kind_counts(leaf) == {OTHER: 1}


def test_other_traffic_is_forwarded_unchanged_but_for_ttl() -> None:
    ip = IP(src=SOURCE, dst=DESTINATION, ttl=64)
    for upper in (TCP(sport=5, dport=80), UDP(sport=5, dport=53), ICMP()):
        frame = bytes(Ether() / ip / upper / b"payload")
        [(_, out)] = Leaf().send([frame])
        assert (out[:22], out[26:]) == (frame[:22], frame[26:])
    [(_, out)] = Leaf().send([arp_request()])
    assert out == arp_request()


def test_a_loss_that_another_switch_made_is_forwarded_with_the_highest_priority() -> None:
    maker, leaf = Leaf(), Leaf()
    for port in (1, 2, 3, 4):
        maker.limit(port, 0, 10)
        maker.trim(port)
    [(_, loss)] = maker.send([csa_frame()])
    assert [frame for _, frame in leaf.send([loss])] != []
    assert kind_counts(leaf) == {LOSS: 1}
