"""What the device counts, and what its packet filter lets pass; one rank, the test is everyone else."""

import multiprocessing
import secrets
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ipaddress import IPv4Address

import numpy as np
import pytest
from csaud import _core

from tests.support.roce import LOSS_PORT, ROCE_PORT

QPN, OTHER_QPN = 0x51, 0x52
SMALL = 4096  # bytes; the kernel makes it a little more
HINTS = _core.Hints()
FLOOD = 200  # packets, far more than that holds
MODES = [pytest.param("raw", marks=pytest.mark.root), "udp"]


def loopback() -> str:
    return f"127.{1 + secrets.randbelow(254)}.{secrets.randbelow(256)}.{1 + secrets.randbelow(254)}"


@contextmanager
def rank(mode: str, address: str, peer: str) -> Iterator[_core.Progress]:
    """Rank 0 of two, its thread not started: what comes waits in the receive queue."""
    ipv4 = int(IPv4Address(address))
    config = _core.EndpointConfig()
    config.world, config.local_ipv4, config.local_qpn = 2, ipv4, QPN
    kind = _core.RawDevice if mode == "raw" else _core.UdpDevice
    progress = _core.Progress(config, kind(ipv4, QPN, 4224, 32, SMALL), 32)
    progress.set_peer(1, int(IPv4Address(peer)), OTHER_QPN)
    try:
        yield progress
    finally:
        progress.stop()


def datagram(qpn: int, size: int = 1000) -> bytes:
    """UDP payload: a BTH for this queue pair, and nothing that CSA would know."""
    return bytes([0x64, 0, 0xFF, 0xFF]) + qpn.to_bytes(4, "big") + bytes(size - 8)


def flood(address: str, port: int, payload: bytes, count: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for _ in range(count):
            sender.sendto(payload, (address, port))


def bad(stats: dict) -> int:
    """Packets that were looked at and found wrong in any way."""
    return sum(count for name, count in stats.items() if name.startswith("rx_bad_"))


def until(progress: _core.Progress, holds: Callable[[dict], bool]) -> dict:
    """The counters once they satisfy `holds`; the thread counts shortly after a packet came."""
    for _ in range(500):
        stats = progress.stats()
        if holds(stats):
            return stats
        progress.wait(0.01)
    raise AssertionError(f"never: {progress.stats()}")


@pytest.mark.parametrize("port", [ROCE_PORT, LOSS_PORT])
@pytest.mark.parametrize("mode", MODES)
def test_every_packet_of_a_flood_is_counted_once(mode, port):
    """Those beyond the queue as rx_queue_drops, the others as what is wrong with them."""
    address = loopback()
    with rank(mode, address, loopback()) as progress:
        flood(address, port, datagram(QPN), FLOOD)
        dropped = progress.stats()["rx_queue_drops"]
        assert 0 < dropped < FLOOD
        progress.start()
        after = until(progress, lambda stats: bad(stats) == FLOOD - dropped)
        assert after["rx_queue_drops"] == dropped


@contextmanager
def others_talk(count: int, payload: bytes) -> Iterator[str]:
    """Processes that send to the discard port of an address, which is returned, as fast as they can."""
    address = loopback()
    spawn = multiprocessing.get_context("spawn")
    others = [spawn.Process(target=flood, args=(address, 9, payload, 1 << 40)) for _ in range(count)]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as discard:
        discard.bind((address, 9))
        for other in others:
            other.start()
        heard: set[object] = set()
        while len(heard) < count:
            heard.add(discard.recvfrom(1)[1])
    try:
        yield address
    finally:
        for other in others:
            other.kill()
            other.join()


@pytest.mark.root
def test_what_came_before_the_filter_stood_is_not_looked_at():
    """A raw socket takes all UDP of the machine from its first moment on."""
    address = loopback()
    with others_talk(1, b"short") as peer:
        for _ in range(200):
            with rank("raw", address, peer) as progress:
                progress.start()
                flood(address, ROCE_PORT, datagram(QPN), 1)
                stats = until(progress, lambda stats: bad(stats) > 0)
                assert (stats["rx_bad_length"], bad(stats)) == (0, 1)


@pytest.mark.root
def test_what_found_the_queue_full_before_the_filter_stood_is_not_ours():
    address = loopback()
    with others_talk(3, bytes(8000)) as peer:
        for _ in range(200):
            with rank("raw", address, peer) as progress:
                assert progress.stats()["rx_queue_drops"] == 0


def test_packets_to_other_queue_pairs_and_ports_take_no_room():
    address = loopback()
    with rank("raw", address, loopback()) as progress:
        flood(address, ROCE_PORT, datagram(OTHER_QPN), FLOOD)
        flood(address, ROCE_PORT + 1, datagram(QPN), FLOOD)
        flood(loopback(), ROCE_PORT, datagram(QPN), FLOOD)
        flood(address, ROCE_PORT, datagram(QPN), 2)
        progress.start()
        after = until(progress, lambda stats: bad(stats) == 2)
    assert after["rx_queue_drops"] == 0
    assert after["rx_bytes"] == 0  # none of it is the job's


@pytest.mark.parametrize("mode", MODES)
def test_a_packet_longer_than_any_is_cut_and_counted(mode):
    address = loopback()
    with rank(mode, address, loopback()) as progress:
        flood(address, ROCE_PORT, datagram(QPN, 9000), 1)
        progress.start()
        until(progress, lambda stats: stats["rx_bad_length"] == 1)


@pytest.mark.parametrize("mode", MODES)
def test_packets_that_the_kernel_refuses_are_counted_and_passed_over(mode):
    with rank(
        mode, loopback(), "255.255.255.255"
    ) as progress:  # broadcasting is not allowed to these sockets
        buffer = np.zeros(10, np.uint8)
        progress.start()
        progress.post(True, 1, 0, 1, 0, 0, buffer, 0, 10, HINTS)
        stats = until(progress, lambda stats: stats["tx_errors"] > 0)
    assert stats["tx_data"] == 1


@pytest.mark.parametrize("mode", MODES)
def test_nobody_is_told_that_the_port_is_unreachable(mode):
    """Raw sockets alone do not keep the kernel from answering with ICMP."""
    address = loopback()
    with rank(mode, address, loopback()), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.connect((address, ROCE_PORT))
        for _ in range(3):
            sender.send(datagram(QPN))  # ConnectionRefusedError after an ICMP error


def test_a_queue_pair_number_is_claimed_once_at_an_address():
    here, there = loopback(), loopback()
    first = _core.claim_qpn(here, QPN)
    assert first is not None
    assert _core.claim_qpn(here, QPN) is None
    assert _core.claim_qpn(there, QPN) is not None
    del first
    assert _core.claim_qpn(here, QPN) is not None


def test_buffers_are_checked_before_anything_is_posted():
    with rank("udp", loopback(), loopback()) as progress:
        frozen = np.zeros(10, np.uint8)
        frozen.flags.writeable = False
        with pytest.raises((BufferError, ValueError)):
            progress.post(False, 1, 0, 1, 0, 0, frozen, 0, 10, HINTS)
        with pytest.raises((BufferError, ValueError)):
            progress.post(True, 1, 0, 1, 0, 0, np.zeros((4, 4), np.uint8)[:, 1], 0, 4, HINTS)
        with pytest.raises(IndexError, match="bytes 8 to 11 of a buffer of 10 bytes"):
            progress.post(True, 1, 0, 1, 0, 0, frozen, 8, 3, HINTS)
        with pytest.raises(TypeError):
            progress.post(True, 1, 0, 1, 0, 0, [1, 2, 3], 0, 3, HINTS)


def test_buffers_live_until_their_transfer_ends_and_no_longer():
    with rank("udp", loopback(), loopback()) as progress:
        buffer = bytearray(10)
        progress.start()
        progress.post(False, 1, 0, 1, 0, 0, buffer, 0, 10, HINTS)
        with pytest.raises(BufferError):
            buffer.extend(b"more")  # native code has its address
        progress.abort()
        assert [done.status for done in progress.wait(5.0)] == [_core.Status.aborted]
        buffer.extend(b"more")
