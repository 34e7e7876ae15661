"""Trains of packets, which the kernel cuts: what they are given up for, and what not."""

from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import IPv4Address

import numpy as np
import pytest
from csaud import _core

from tests.hostlib.test_device_counters import until
from tests.hostlib.test_device_shared import datagrams_sent
from tests.hostlib.wire import Wire
from tests.support.soft import BATCH, PACKET_BYTES, SoftRank

pytestmark = pytest.mark.root

BYTES = 400_000
QPNS = (0x51, 0x52)
ADDRESSES = [int(IPv4Address(address)) for address in Wire.addresses]


@contextmanager
def rank_of(wire: Wire, rank: int) -> Iterator[SoftRank]:
    config = _core.EndpointConfig()
    config.rank, config.world = rank, 2
    config.local_ipv4, config.local_qpn = ADDRESSES[rank], QPNS[rank]
    config.udp_source_port, config.verify_icrc = config.roce_port, False
    with wire.ends[rank].entered():
        device = _core.UdpDevice(ADDRESSES[rank], QPNS[rank], PACKET_BYTES, BATCH, 1 << 22, segmentation=True)
    progress = _core.Progress(config, device, BATCH)
    progress.set_peer(1 - rank, ADDRESSES[1 - rank], QPNS[1 - rank])
    progress.start()
    try:
        yield SoftRank(progress)
    finally:
        progress.stop()


def post(sender: SoftRank, receiver: SoftRank, coll_seq: int) -> None:
    receiver.post_recv(0, np.zeros(BYTES, np.uint8), coll_seq)
    sender.post_send(1, np.zeros(BYTES, np.uint8), coll_seq)


def ended(*ranks: SoftRank) -> None:
    for rank in ranks:
        assert [done.status for done in rank.wait()] == [_core.Status.ok], rank.stats()


def packets_a_datagram(wire: Wire, sender: SoftRank, receiver: SoftRank, coll_seq: int) -> float:
    """Of a message of many packets."""
    with wire.ends[0].entered():
        datagrams, packets = datagrams_sent(), sender.stats()["tx_data"]
        post(sender, receiver, coll_seq)
        ended(sender, receiver)
        return (sender.stats()["tx_data"] - packets) / (datagrams_sent() - datagrams)


def test_packets_go_in_trains_again_once_the_interface_is_back() -> None:
    """That there is no way is no reason to send one by one from then on."""
    with Wire(mtu=4200) as wire, rank_of(wire, 0) as sender, rank_of(wire, 1) as receiver:
        assert packets_a_datagram(wire, sender, receiver, 1) > 2
        wire.ends[0].ip("link set eth0 down")
        post(sender, receiver, 2)
        stats = until(sender.progress, lambda stats: stats["tx_errors"] > 0)
        assert stats["tx_errors"] > 1, "each packet of a train counts"
        wire.ends[0].ip("link set eth0 up")
        ended(sender, receiver)
        assert packets_a_datagram(wire, sender, receiver, 3) > 2
