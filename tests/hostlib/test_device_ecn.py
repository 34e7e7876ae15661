"""ECN through each mode of the soft device: DATA leaves as ECT(0), marks on what comes are counted."""

import socket
import struct
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from tests.hostlib.wire import Wire
from tests.support.roce import ACK, CSA_BYTES, DATA, ROCE_PORT, Control, CsaHeader, Datagram
from tests.support.soft import Address, Mode, SoftJob, SoftRank, soft_rank

pytestmark = pytest.mark.root

RANK, PEER = 0, 1
HERE, THERE = Wire.addresses
JOB = SoftJob({RANK: Address(HERE, 0x51), PEER: Address(THERE, 0x52)}, qkey=0x1CEB00DA, epoch=4)
HEADER = CsaHeader(epoch=JOB.epoch, coll_seq=1, src_rank=PEER, path_id=3)
ECT0, CE = 2, 3
ECN_ECHO = 0x40
TO_CSA = 20  # from BTH on
IP_RECVTOS = 13  # linux/in.h


class PeerSocket:
    """The other rank: a UDP socket that says and shows the TOS of its packets."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setsockopt(socket.IPPROTO_IP, IP_RECVTOS, 1)
        self._socket.setsockopt(socket.IPPROTO_IP, 10, 2)  # IP_MTU_DISCOVER, IP_PMTUDISC_DO: id 0
        self._socket.bind((JOB.ranks[PEER].ipv4, ROCE_PORT))
        self._socket.settimeout(60)

    def send(self, header: CsaHeader, body: bytes, tos: int) -> None:
        here, there = JOB.ranks[PEER], JOB.ranks[RANK]
        ends = (here.ipv4, there.ipv4, here.qpn, there.qpn, JOB.qkey)
        whole = Datagram(*ends, header.pack() + body, src_port=ROCE_PORT, ip_id=0).pack()
        control = [(socket.IPPROTO_IP, socket.IP_TOS, struct.pack("i", tos))]
        self._socket.sendmsg([whole[28:]], control, 0, (there.ipv4, ROCE_PORT))

    def receive(self, kind: int) -> tuple[CsaHeader, bytes, int]:
        """The next packet of a type: header, what follows it, TOS."""
        while True:
            data, control, _, _ = self._socket.recvmsg(9000, 64)
            header = CsaHeader.unpack(data[TO_CSA:])
            if header.kind == kind:
                return header, data[TO_CSA + CSA_BYTES :], control[0][2][0]

    def close(self) -> None:
        self._socket.close()


@pytest.fixture(scope="module")
def wire() -> Iterator[Wire]:
    with Wire(mtu=4200) as made:
        yield made


@pytest.fixture(params=["raw", "udp", pytest.param("xdp", marks=pytest.mark.xdp)])
def ends(request: pytest.FixtureRequest, wire: Wire) -> Iterator[tuple[SoftRank, PeerSocket]]:
    mode: Mode = request.param
    with wire.ends[PEER].entered():
        peer = PeerSocket()
    with soft_rank(wire.ends[RANK], JOB, RANK, mode) as rank:
        yield rank, peer
    peer.close()


def test_a_mark_is_counted_and_the_next_control_packet_tells_of_it(ends: tuple[SoftRank, PeerSocket]) -> None:
    rank, peer = ends
    buffer = np.zeros(4, np.uint8)
    rank.post_recv(PEER, buffer, 1)
    peer.send(HEADER, b"data", CE)
    header, rest, tos = peer.receive(ACK)
    part = Control.unpack(rest)
    assert (header.flags & ECN_ECHO, part.echoed_path, part.ecn_count) == (ECN_ECHO, HEADER.path_id, 1)
    assert tos & 3 == 0
    rank.post_recv(PEER, buffer, 2)
    peer.send(replace(HEADER, coll_seq=2, path_seq=1), b"data", ECT0)
    assert peer.receive(ACK)[0].flags & ECN_ECHO == 0
    assert rank.stats()["rx_ecn"] == rank.stats()["rx_path_ecn"][HEADER.path_id] == 1


def test_data_goes_as_ect0_and_what_receivers_tell_is_counted(ends: tuple[SoftRank, PeerSocket]) -> None:
    rank, peer = ends
    rank.post_send(PEER, np.zeros(4, np.uint8), 1)
    header, _, tos = peer.receive(DATA)
    assert tos & 3 == ECT0
    name = CsaHeader(kind=ACK, flags=ECN_ECHO, epoch=JOB.epoch, coll_seq=1, src_rank=RANK)
    echo = Control(ecn_count=1, echoed_path=header.path_id, from_rank=PEER)
    peer.send(name, echo.pack(), 0)
    rank.wait()
    assert rank.stats()["rx_ecn_echoes"] == rank.stats()["tx_path_ecn"][header.path_id] == 1
