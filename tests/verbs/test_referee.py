"""The guest itself: its kernel's RDMA device and scapy agree on RoCEv2, so both can judge frames."""

import socket
from ipaddress import IPv6Address

import pytest

from tests.support.roce import CsaHeader, Datagram
from tests.support.rxe import GUEST, HOST, RxeGuest

pytestmark = [pytest.mark.qemu, pytest.mark.root]

QKEY = 0x11223344


def test_device_carries_packets_of_4096_bytes(rxe_guest: RxeGuest) -> None:
    assert rxe_guest.device["active_mtu"] == 4096
    ipv4, ipv6 = rxe_guest.device["gids"]
    assert ipv4.endswith("ffff:0a00:0102") and IPv6Address(ipv6) == IPv6Address(GUEST.ipv6)


@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 4064])
def test_frame_written_by_scapy_completes(rxe_guest: RxeGuest, size: int) -> None:
    payload = CsaHeader(epoch=3, pkt_total=1).pack() + bytes(i * 7 & 0xFF for i in range(size))
    with rxe_guest.queue_pair(QKEY) as pair, rxe_guest.raw_socket(socket.IPPROTO_RAW) as wire:
        frame = Datagram(HOST.ipv4, GUEST.ipv4, 0x123, pair.number, QKEY, payload, ip_id=1 + size)
        wire.sendto(frame.pack(), (GUEST.ipv4, 0))
        (completion,) = pair.receive()
    assert (completion.status, completion.src_qp, completion.has_grh) == ("success", 0x123, True)
    assert completion.payload == payload


@pytest.mark.parametrize("damage", ["icrc", "payload", "qkey"])
def test_damaged_frame_does_not_complete(rxe_guest: RxeGuest, damage: str) -> None:
    """The whole frame sent after it does, so the damaged one was not merely late."""
    with rxe_guest.queue_pair(QKEY) as pair, rxe_guest.raw_socket(socket.IPPROTO_RAW) as wire:
        qkey = QKEY ^ 1 if damage == "qkey" else QKEY
        damaged = bytearray(
            Datagram(HOST.ipv4, GUEST.ipv4, 1, pair.number, qkey, b"damaged!", ip_id=1).pack()
        )
        if damage != "qkey":
            damaged[-1 if damage == "icrc" else -5] ^= 1
        whole = Datagram(HOST.ipv4, GUEST.ipv4, 2, pair.number, QKEY, b"whole", ip_id=2).pack()
        wire.sendto(damaged, (GUEST.ipv4, 0))
        wire.sendto(whole, (GUEST.ipv4, 0))
        (completion,) = pair.receive()
    assert (completion.src_qp, completion.payload) == (2, b"whole")


def test_frame_written_by_the_kernel_has_scapys_icrc(rxe_guest: RxeGuest) -> None:
    payload = CsaHeader(epoch=3).pack() + b"odd"
    with rxe_guest.queue_pair(QKEY) as pair, rxe_guest.raw_socket(socket.IPPROTO_UDP) as wire:
        wire.settimeout(60)
        assert pair.send(HOST.ipv4, 0x77, QKEY, payload) == "success"
        datagram = Datagram.unpack(wire.recv(9000))
        assert (datagram.src_qpn, datagram.dst_qpn, datagram.qkey) == (pair.number, 0x77, QKEY)
    assert datagram.payload == payload
