"""Two devices that share memory: what is lost in a ring, who wakes whom, and what others may bring."""

import array
import fcntl
import os
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import IPv4Address
from pathlib import Path

import numpy as np
import pytest
from csaud import _core

from tests.hostlib.jobs import PATIENCE
from tests.hostlib.test_device_counters import bad, loopback, until

QPNS = (0x61, 0x62)
EPOCH = 5
HEADER = 256  # bytes of a ring before its first slot
MAGIC = 0x31474E4952445543


@contextmanager
def pair(packets: int = 128, *, looks: bool = True, there: bool = True) -> Iterator[list[_core.Progress]]:
    """Two ranks, their threads not started, on shared memory over UDP sockets; rank 1 need not look at what
    is handed to it, nor be there for that."""
    addresses = [loopback() for _ in QPNS]
    numbers = [int(IPv4Address(address)) for address in addresses]
    ranks, claims = [], []
    for rank in (0, 1):
        config = _core.EndpointConfig()
        config.rank, config.world, config.epoch = rank, 2, EPOCH
        config.local_ipv4, config.local_qpn = numbers[rank], QPNS[rank]
        config.udp_source_port, config.zero_ip_id = config.roce_port, True
        device: _core.Device = _core.UdpDevice(numbers[rank], QPNS[rank], 4224, 32, 1 << 20)
        if rank == 0 or there:
            claims.append(claim := _core.claim_qpn(addresses[rank], QPNS[rank]))
            assert claim is not None
        if rank == 0 or (looks and there):
            shared = _core.SharedDevice(device, claim, 4224, packets, 1 << 22, 32)
            other = 1 - rank
            place = (other, numbers[other], QPNS[other], addresses[other])
            shared.share((numbers[rank], QPNS[rank]), [place], False)
            device = shared
        progress = _core.Progress(config, device, 32)
        progress.set_peer(1 - rank, numbers[1 - rank], QPNS[1 - rank])
        ranks.append(progress)
    try:
        yield ranks
    finally:
        for progress in ranks:
            progress.stop()


def exchange(ranks: list[_core.Progress], number: int, size: int = 300_000) -> None:
    """A message from rank 0 to rank 1, byte by byte."""
    data = np.random.default_rng(number).integers(0, 256, size, np.uint8)
    into = np.zeros_like(data)
    ranks[1].post(False, 0, 0, number, 0, 0, into, 0, size, _core.Hints())
    ranks[0].post(True, 1, 0, number, 0, 0, data, 0, size, _core.Hints())
    for progress in ranks:
        (completion,) = progress.wait(PATIENCE)
        assert completion.status == _core.Status.ok
    assert (into == data).all()


def started(ranks: list[_core.Progress]) -> None:
    for progress in ranks:
        progress.start()


def test_what_finds_no_room_is_lost_counted_and_sent_again():
    with pair(packets=4) as ranks:
        started(ranks)
        for number in range(1, 4):
            exchange(ranks, number)
        assert ranks[1].stats()["rx_queue_drops"] > 0


@pytest.mark.parametrize(("looks", "there"), [(False, True), (False, False)])
def test_a_peer_that_takes_no_memory_is_reached_through_sockets(looks, there):
    with pair(looks=looks, there=there) as ranks:
        started(ranks)
        for number in (1, 2):
            exchange(ranks, number)


def test_nobody_sleeps_through_a_packet():
    """Each thread sleeps between two messages: a packet that woke nobody would be sent again."""
    with pair() as ranks:
        started(ranks)
        before = [progress.stats() for progress in ranks]
        for number in range(1, 200):
            exchange(ranks, number, size=100)
        for progress, was in zip(ranks, before, strict=True):
            stats = progress.stats()
            assert stats["rtx_interval"] + stats["rtx_probe"] == was["rtx_interval"] + was["rtx_probe"]


# --- what others bring


def memory(content: bytes, *, sealed: bool = True) -> int:
    """A file in memory with this content."""
    fd = os.memfd_create("test", os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)
    os.write(fd, content)
    if sealed:
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
    return fd


def ring(
    slots: int, slot_bytes: int, written: int = 0, read: int = 0, packets: tuple[bytes, ...] = ()
) -> bytes:
    """What a ring looks like: header, then slots of a length and a packet each."""
    head = struct.pack("<QII", MAGIC, slots, slot_bytes).ljust(64, b"\0")
    head += struct.pack("<QQ", written, 0).ljust(64, b"\0") + struct.pack("<Q", read).ljust(64, b"\0")
    body = b"".join(packet.ljust(slot_bytes, b"\0") for packet in packets)
    return head.ljust(HEADER, b"\0") + body.ljust(min(slots, 64) * min(slot_bytes, 1 << 16), b"\0")


def bring(address: str, qpn: int, origin: tuple[int, int], fds: list[int]) -> None:
    """As a device does it, and for any that looks."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        sender.sendmsg([struct.pack("=II", *origin)], rights, 0, f"\0csaud/qp/{address}/{qpn}")
    for fd in fds:
        os.close(fd)


def open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


NOT_RINGS = {
    "nothing": lambda: [],
    "a file whose size may change": lambda: [memory(ring(4, 256), sealed=False)],
    "a short one": lambda: [memory(bytes(100))],
    "one without a mark": lambda: [memory(bytes(HEADER + 4 * 256))],
    "no power of two": lambda: [memory(ring(3, 256))],
    "more slots than memory": lambda: [memory(ring(1 << 30, 4096))],
    "slots of no size": lambda: [memory(ring(4, 0))],
    "two at once": lambda: [memory(ring(4, 256)), memory(ring(4, 256))],
    "no memory at all": lambda: [os.open("/dev/null", os.O_RDWR)],
}


@contextmanager
def listening() -> Iterator[tuple[_core.Progress, str, tuple[int, int]]]:
    """Rank 0 of two with its thread, its address, and who rank 1 is to it, which the test plays."""
    address = loopback()
    ipv4 = int(IPv4Address(address))
    config = _core.EndpointConfig()
    config.world, config.epoch, config.local_ipv4, config.local_qpn = 2, EPOCH, ipv4, QPNS[0]
    claim = _core.claim_qpn(address, QPNS[0])
    assert claim is not None
    device = _core.SharedDevice(
        _core.UdpDevice(ipv4, QPNS[0], 4224, 32, 1 << 20), claim, 4224, 64, 1 << 22, 32
    )
    peer = (ipv4 + 1, QPNS[1])
    device.share((ipv4, QPNS[0]), [(1, *peer, str(IPv4Address(peer[0])))], True)
    progress = _core.Progress(config, device, 32)
    progress.set_peer(1, *peer)
    progress.start()
    try:
        yield progress, address, peer
    finally:
        progress.stop()


def until_bad(progress: _core.Progress, count: int) -> None:
    until(progress, lambda stats: bad(stats) == count)


@pytest.mark.parametrize("what", NOT_RINGS)
def test_what_is_no_ring_is_passed_over(what):
    """And is not kept open. A ring that comes behind it is read, so it was looked at by then."""
    with listening() as (progress, address, peer):
        before = open_files()
        bring(address, QPNS[0], peer, NOT_RINGS[what]())
        bring(address, QPNS[0], peer, [memory(ring(4, 256, 1, 0, (struct.pack("<I", 40) + b"x" * 40,)))])
        until_bad(progress, 1)
        assert open_files() == before


def test_a_stranger_s_ring_is_not_read():
    with listening() as (progress, address, peer):
        packet = struct.pack("<I", 40) + b"x" * 40
        bring(address, QPNS[0], (peer[0], peer[1] + 1), [memory(ring(4, 256, 2, 0, (packet, packet)))])
        bring(address, QPNS[0], peer, [memory(ring(4, 256, 1, 0, (packet,)))])
        until_bad(progress, 1)


@pytest.mark.parametrize(
    ("written", "lengths", "seen"),
    [
        (2, [0, 0], 2),  # empty packets
        (1, [0xFFFFFFFF], 1),  # longer than its slot
        (3, [252, 252, 253], 3),
        (
            1 << 63,
            [60] * 4,
            4,
        ),  # more than there are: the ring once, and then as many as it says, without end
    ],
)
def test_nonsense_in_a_ring_is_bad_packets(written, lengths, seen):
    """Never a read outside of it (under a sanitizer this would say so)."""
    with listening() as (progress, address, peer):
        packets = tuple(struct.pack("<I", length) + b"\x45" * 60 for length in lengths)
        bring(address, QPNS[0], peer, [memory(ring(4, 256, written, 0, packets))])
        until(progress, lambda stats: bad(stats) >= seen)
