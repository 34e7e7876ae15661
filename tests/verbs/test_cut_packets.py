"""Packets that the P4 program cuts, with an iCRC of its own making, complete on the kernel's queue pair.

The program runs on the embedded switch; what leaves it goes to the guest byte for byte.
"""

import socket
from collections.abc import Iterator
from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path

import pytest
from csaud_softswitch.program_file import read_config

from tests.p4.rig.leaf import GROUP, HOST_GROUP, HOST_PORT, Leaf
from tests.p4.rig.soft import SoftSwitch
from tests.support.marks import thorough
from tests.support.roce import CSA_BYTES, DATA, LOSS, ROCE_PORT, CsaHeader, Datagram
from tests.support.roce6 import datagram6
from tests.support.rxe import GRH_BYTES, GUEST, HOST, RxeGuest, RxeQueuePair

pytestmark = [pytest.mark.qemu, pytest.mark.root]

PROGRAM = Path(__file__).resolve().parents[2] / "p4src" / "artifacts" / "csaud.json"
QKEY = 0x2B5C0DE5
HOST_QPN = 0x5AF7
TRIMMED = 0x20
UPLINK = 1
MACS = bytes.fromhex((GUEST.mac + HOST.mac).replace(":", ""))
ETHER_TYPE = {"ipv4": b"\x08\x00", "ipv6": b"\x86\xdd"}
ETHERNET_BYTES = len(MACS) + 2
PORT_AT = {"ipv4": ETHERNET_BYTES + 20 + 2, "ipv6": ETHERNET_BYTES + 40 + 2}
CUT_BYTES = {"ipv4": 98, "ipv6": 118}
FAMILIES = pytest.mark.parametrize("family", ["ipv4", "ipv6"])
HEADER = CsaHeader(
    kind=DATA, flags=0x02, epoch=9, coll_seq=7, step=3, src_rank=1, pkt_idx=4, pkt_total=5, path_id=2,
    path_seq=77, tx_ts=0x12345678,
)  # fmt: skip


@pytest.fixture
def leaf() -> Leaf:
    """The host on port 5; whatever is for the guest leaves by port 1."""
    leaf = Leaf(SoftSwitch(read_config(PROGRAM, PROGRAM.with_suffix(".p4info.txtpb"))), uplinks=(UPLINK,))
    leaf.insert("route.ipv4_lpm", {"dst": f"{GUEST.ipv4}/32"}, "route.set_group", group=GROUP)
    leaf.insert("route.ipv6_lpm", {"dst": f"{GUEST.ipv6}/128"}, "route.set_group6", group=GROUP)
    leaf.insert("route.ipv6_lpm", {"dst": f"{HOST.ipv6}/128"}, "route.set_group6", group=HOST_GROUP)
    return leaf


@pytest.fixture
def pair(rxe_guest: RxeGuest) -> Iterator[RxeQueuePair]:
    with rxe_guest.queue_pair(QKEY) as pair:
        yield pair


def deliver(guest: RxeGuest, frame: bytes) -> None:
    """Put what left the switch on the wire to the guest."""
    with guest.frames_socket() as wire:
        wire.send(frame)


def data_for(pair: RxeQueuePair, payload: bytes, family: str) -> bytes:
    """A frame with a DATA packet from this end to the guest's queue pair."""
    body = HEADER.pack() + payload
    if family == "ipv4":
        packet = Datagram(HOST.ipv4, GUEST.ipv4, HOST_QPN, pair.number, QKEY, body, ip_id=3).pack()
    else:
        packet = datagram6(
            HOST.ipv6, GUEST.ipv6, body, src_qpn=HOST_QPN, dst_qpn=pair.number, qkey=QKEY, sport=0xC000
        )
    return MACS + ETHER_TYPE[family] + packet


def next_roce(wire: socket.socket, family: str) -> bytes:
    """The next frame with a RoCE packet that comes."""
    at = PORT_AT[family]
    while True:
        frame, source = wire.recvfrom(9000)
        coming = source[2] != socket.PACKET_OUTGOING
        if coming and frame[12:14] == ETHER_TYPE[family] and frame[at : at + 2] == ROCE_PORT.to_bytes(2):
            return frame


def check_receive(pair: RxeQueuePair, header: CsaHeader, src_qpn: int, family: str) -> None:
    """One receive of 32 bytes: the header of a LOSS, under the addresses that the LOSS came with."""
    (completion,) = pair.receive()
    assert (completion.status, completion.has_grh) == ("success", True)
    assert completion.byte_len == GRH_BYTES + CSA_BYTES
    assert completion.src_qp == src_qpn
    ends = b"".join(ip_address(end.address(family)).packed for end in (HOST, GUEST))
    assert completion.grh[-len(ends) :] == ends
    assert CsaHeader.unpack(completion.payload) == header
    assert pair.receive(timeout_s=0.2) == []


@FAMILIES
@pytest.mark.parametrize("size", [0, 1, 61, 4064])
@pytest.mark.parametrize("signal", ["trim", thorough("both")])
def test_trimmed_packet_completes_as_a_receive_of_32_bytes(
    rxe_guest: RxeGuest, pair: RxeQueuePair, leaf: Leaf, signal: str, size: int, family: str
) -> None:
    leaf.congested(signal, ports=(UPLINK,), size=CUT_BYTES[family], icrc=1)
    left = leaf.send([data_for(pair, bytes(range(256)) * (size // 256) + bytes(size % 256), family)])
    [cut] = [departure.frame for departure in left if departure.port == UPLINK]
    assert len(cut) == CUT_BYTES[family]
    deliver(rxe_guest, cut)
    check_receive(pair, replace(HEADER, kind=LOSS, flags=HEADER.flags | TRIMMED), HOST_QPN, family)


@FAMILIES
@pytest.mark.parametrize("signal", ["bounce", "both"])
def test_bounced_packet_completes_on_the_queue_pair_that_sent_it(
    rxe_guest: RxeGuest, pair: RxeQueuePair, leaf: Leaf, signal: str, family: str
) -> None:
    """The kernel sends it itself, with its own choice of IP id and source port."""
    leaf.congested(signal, ports=(HOST_PORT,), size=CUT_BYTES[family], icrc=1)
    with rxe_guest.frames_socket() as wire:
        wire.settimeout(60)
        to = HOST.address(family)
        assert pair.send(to, HOST_QPN, QKEY, HEADER.pack() + bytes(999)) == "success"
        sent = next_roce(wire, family)
    left = leaf.send([MACS + sent[len(MACS) :]], port=UPLINK)
    [back] = [departure.frame for departure in left if departure.port == UPLINK]
    assert len(back) == CUT_BYTES[family]
    deliver(rxe_guest, MACS + back[len(MACS) :])
    check_receive(pair, replace(HEADER, kind=LOSS, flags=HEADER.flags | TRIMMED), HOST_QPN, family)


@FAMILIES
def test_one_wrong_bit_of_the_made_icrc_is_one_receive_less(
    rxe_guest: RxeGuest, pair: RxeQueuePair, leaf: Leaf, family: str
) -> None:
    leaf.congested("trim", ports=(UPLINK,), size=CUT_BYTES[family], icrc=1)
    [departure] = leaf.send([data_for(pair, b"payload", family)])
    deliver(rxe_guest, departure.frame[:-1] + bytes([departure.frame[-1] ^ 1]))
    deliver(rxe_guest, departure.frame)
    check_receive(pair, replace(HEADER, kind=LOSS, flags=HEADER.flags | TRIMMED), HOST_QPN, family)
