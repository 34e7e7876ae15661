"""Which way packets take, and that nobody in between says how long they may be."""

import socket
from collections.abc import Iterator

import numpy as np
import pytest
from csaud import _core
from scapy.layers.inet import ICMP, IP, UDP

from tests.hostlib.wire import Wire
from tests.support.roce import ROCE_PORT
from tests.support.soft import Address, Mode, SoftJob, SoftRank, soft_rank

pytestmark = pytest.mark.root

HERE, THERE = Wire.addresses
FURTHER = "10.9.0.1"
STRANGER = "10.0.1.77"
TABLE = 22
BYTES = 50_000


@pytest.fixture
def wire() -> Iterator[Wire]:
    with Wire(mtu=4200) as made:
        yield made


def job_with(peer: str) -> SoftJob:
    return SoftJob({0: Address(HERE, 0x51), 1: Address(peer, 0x52)}, qkey=0x1CEB00DA, epoch=4)


def transfer(sender: SoftRank, receiver: SoftRank, coll_seq: int) -> None:
    """One message of many packets, whole."""
    data, got = np.full(BYTES, coll_seq, np.uint8), np.zeros(BYTES, np.uint8)
    receiver.post_recv(0, got, coll_seq)
    sender.post_send(1, data, coll_seq)
    for rank in (sender, receiver):
        assert [done.status for done in rank.wait()] == [_core.Status.ok], rank.stats()
    assert (got == data).all()


def forge_fragmentation_needed(wire: Wire, mtu: int) -> None:
    """A stranger's ICMP about a packet that the first host may have sent; the kernel believes it."""
    quoted = IP(src=HERE, dst=THERE, flags="DF", len=4100, proto=socket.IPPROTO_UDP)
    forged = (
        IP(src=STRANGER, dst=HERE)
        / ICMP(type="dest-unreach", code="fragmentation-needed", nexthopmtu=mtu)
        / quoted
        / UDP(sport=ROCE_PORT, dport=ROCE_PORT, len=4080)
    )
    wire.forge_until_believed(bytes(forged), socket.AF_INET, HERE, THERE, mtu)


@pytest.mark.parametrize("mode", ["raw", "udp"])
def test_who_forges_icmp_makes_no_packet_shorter(wire: Wire, mode: Mode) -> None:
    wire.ends[1].ip(f"address add {STRANGER}/24 dev eth0")
    job = job_with(THERE)
    with soft_rank(wire.ends[0], job, 0, mode) as sender, soft_rank(wire.ends[1], job, 1, mode) as receiver:
        transfer(sender, receiver, 1)
        forge_fragmentation_needed(wire, 576)
        transfer(sender, receiver, 2)
        assert sender.stats()["tx_errors"] == 0


@pytest.mark.parametrize("mode", ["raw", "udp", pytest.param("xdp", marks=pytest.mark.xdp)])
def test_routes_by_source_address_are_followed(wire: Wire, mode: Mode) -> None:
    """Which of several links a host takes is a rule about where packets come from."""
    wire.ends[1].ip(f"address add {FURTHER}/32 dev lo")
    wire.ends[0].ip(f"route add unreachable {FURTHER}/32")
    wire.ends[0].ip(f"rule add from {HERE} table {TABLE}")
    wire.ends[0].ip(f"route add {FURTHER}/32 via {THERE} table {TABLE}")
    job = job_with(FURTHER)
    far: Mode = "raw" if mode == "xdp" else mode
    with soft_rank(wire.ends[0], job, 0, mode) as sender, soft_rank(wire.ends[1], job, 1, far) as receiver:
        transfer(sender, receiver, 1)
        assert sender.stats()["tx_errors"] == 0
