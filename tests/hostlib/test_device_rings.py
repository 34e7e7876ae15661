"""Two devices that share memory: what is lost in a ring, who wakes whom, and what others may bring."""

import array
import fcntl
import mmap
import os
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ipaddress import IPv4Address

import numpy as np
import pytest
from csaud import _core

from tests.hostlib.jobs import PATIENCE
from tests.hostlib.test_device_counters import bad, loopback, until
from tests.support.descriptors import open_files
from tests.support.roce import ROCE_PORT

QPNS = (0x61, 0x62, 0x63, 0x64)
EPOCH = 5
HERE = f"test/{os.getpid()}"  # in the place of the address of mailboxes that the test has
HEADER = 256  # bytes of a ring before its first slot
OPEN, ASLEEP = slice(136, 140), slice(192, 196)  # of them: that somebody reads; that it wants to be woken
YES, NO = b"\1\0\0\0", bytes(4)
MAGIC = 0x31474E4952445543


@contextmanager
def pair(packets: int = 128, *, looks: bool = True, there: bool = True) -> Iterator[list[_core.Progress]]:
    """Two ranks, their threads not started, on shared memory over UDP sockets; rank 1 need not look at what
    is handed to it, nor be there for that."""
    addresses = [loopback() for _ in (0, 1)]
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
            shared = _core.SharedDevice(device, claim, 1 << 22, 32)
            other = 1 - rank
            place = (other, numbers[other], QPNS[other], addresses[other])
            shared.share((numbers[rank], QPNS[rank]), [place], False, 4224, packets)
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


# --- sleep


def test_who_reads_says_that_it_sleeps():
    with listening() as (progress, bring):
        fd = memory(ring(4, 256))
        with mmap.mmap(fd, 0) as header:
            bring(1, [fd])
            for _ in range(500):
                if (header[OPEN], header[ASLEEP]) == (YES, YES):
                    return
                progress.watch_any([], 0.01)  # while its own thread drives
            raise AssertionError("it never sleeps, or does not say so")


def test_who_sleeps_is_woken_once_and_who_does_not_is_left_alone():
    """The test reads: it takes the memory that is handed to it, and looks what else comes to its mailbox."""
    with listening() as (progress, _), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as mailbox:
        mailbox.bind(f"\0csaud/qp/{HERE}/{QPNS[1]}")
        mailbox.settimeout(PATIENCE)
        data = np.zeros(100, np.uint8)

        def send(number: int) -> None:
            before = progress.stats()["tx_data"]
            progress.post(True, 1, 0, number, 0, 0, data, 0, data.size, _core.Hints())
            until(progress, lambda stats: stats["tx_data"] > before)

        send(1)
        _, (fd,), _, _ = socket.recv_fds(mailbox, 100, 1)
        with mmap.mmap(fd, 0) as header:
            os.close(fd)
            header[OPEN], header[ASLEEP] = YES, YES
            send(2)
            assert mailbox.recv(100) == b"" and header[ASLEEP] == NO
            send(3)
            mailbox.setblocking(False)
            with pytest.raises(BlockingIOError):
                mailbox.recv(100)


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


def hand_over(address: str, origin: tuple[int, int], fds: list[int]) -> None:
    """As a device does it, and for any that looks."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        sender.sendmsg([struct.pack("=II", *origin)], rights, 0, f"\0csaud/qp/{address}/{QPNS[0]}")
    for fd in fds:
        os.close(fd)


BAD = struct.pack("<I", 40) + b"x" * 40
"""A packet, as it lies in a ring, that is none of CSA's."""
ONE = (4, 256, 1, 0, (BAD,))  # a ring that has it
NOT_RINGS = {
    "nothing": lambda: [],
    "a file whose size may change": lambda: [memory(ring(*ONE), sealed=False)],
    "a short one": lambda: [memory(bytes(100))],
    "one without a mark": lambda: [memory(bytes(8) + ring(*ONE)[8:])],
    "no power of two": lambda: [memory(ring(3, *ONE[1:]))],
    "more slots than memory": lambda: [memory(ring(1 << 30, 4096, 1))],
    "slots of no size": lambda: [memory(ring(4, 0, 1))],
    "two at once": lambda: [memory(ring(*ONE)), memory(ring(*ONE))],
    "no memory at all": lambda: [os.open("/dev/null", os.O_RDWR)],
}


@contextmanager
def listening() -> Iterator[tuple[_core.Progress, Callable[..., None]]]:
    """Rank 0 of three with its thread; the test plays the others: `bring` as rank 1, rank 2, or whoever."""
    address = loopback()
    ipv4 = int(IPv4Address(address))
    config = _core.EndpointConfig()
    config.world, config.epoch, config.local_ipv4, config.local_qpn = 3, EPOCH, ipv4, QPNS[0]
    claim = _core.claim_qpn(address, QPNS[0])
    assert claim is not None
    device = _core.SharedDevice(_core.UdpDevice(ipv4, QPNS[0], 4224, 32, 1 << 20), claim, 1 << 22, 32)
    ranks = [(rank, ipv4 + rank, QPNS[rank], HERE) for rank in (1, 2)]
    device.share((ipv4, QPNS[0]), ranks, True, 4224, 64)
    progress = _core.Progress(config, device, 32)
    for rank in (1, 2):
        progress.set_peer(rank, ipv4 + rank, QPNS[rank])
    progress.start()
    try:
        yield progress, lambda rank, fds: hand_over(address, (ipv4 + rank, QPNS[rank]), fds)
    finally:
        progress.stop()


def only_what_follows_is_read(progress: _core.Progress, bring: Callable[..., None]) -> None:
    """A ring of two packets that comes behind something is read, so that was looked at by then."""
    bring(1, [memory(ring(4, 256, 2, 0, (BAD, BAD)))])
    until(progress, lambda stats: bad(stats) == 2)  # packets of one look are counted together


@pytest.mark.parametrize("what", NOT_RINGS)
def test_what_is_no_ring_is_passed_over_and_not_kept_open(what):
    with listening() as (progress, bring):
        before = open_files()
        bring(2, NOT_RINGS[what]())
        only_what_follows_is_read(progress, bring)
        assert not open_files() - before


def test_a_stranger_s_ring_is_not_read():
    with listening() as (progress, bring):
        bring(3, [memory(ring(*ONE))])
        only_what_follows_is_read(progress, bring)


@pytest.mark.root
def test_another_user_s_ring_is_not_read():
    with listening() as (progress, bring):
        child = os.fork()
        if child == 0:
            os.setuid(65534)
            bring(2, [memory(ring(*ONE))])
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        only_what_follows_is_read(progress, bring)


@pytest.mark.parametrize(
    ("slots", "written", "lengths", "seen"),
    [
        (4, 2, [0, 0], 2),  # empty packets
        (4, 3, [252, 252, 253], 3),  # the last one is longer than its slot
        (4, 1 << 63, [60] * 4, 4),  # more than there are: one whole ring after the other
    ],
)
def test_nonsense_in_a_ring_is_bad_packets(slots, written, lengths, seen):
    with listening() as (progress, bring):
        packets = tuple(struct.pack("<I", length) + b"\x45" * 60 for length in lengths)
        bring(1, [memory(ring(slots, 256, written, 0, packets))])
        until(progress, lambda stats: bad(stats) >= seen)


def test_a_packet_longer_than_its_slot_ends_with_it():
    """Though its own headers agree: nothing behind the ring is read."""
    length = 0xFF00
    ip = struct.pack(">BBHIBBH8x", 0x45, 0, length, 0, 64, 17, 0)
    udp = struct.pack(">HHHH", ROCE_PORT, ROCE_PORT, length - 20, 0)
    with listening() as (progress, bring):
        bring(1, [memory(ring(1, 256, 1, 0, (struct.pack("<I", length) + ip + udp,)))])
        assert until(progress, lambda stats: bad(stats) == 1)["rx_bad_length"] == 1
