"""The soft device and the kernel's Soft-RoCE, in both directions: what one sends completes at the other."""

import socket
from contextlib import AbstractContextManager
from ipaddress import IPv4Address

import numpy as np
import pytest
from csaud import _core

from tests.support.roce import ACK, CSA_BYTES, DATA, Control, CsaHeader, Datagram
from tests.support.rxe import GUEST, HOST, Completion, RxeGuest, RxeQueuePair
from tests.support.soft import Address, Bytes, Mode, SoftJob, SoftRank, soft_rank

pytestmark = [pytest.mark.qemu, pytest.mark.root]

QKEY = 0x2B5C0DE5
EPOCH = 9
SOFT_QPN = 0x5AF7
SOFT_RANK, KERNEL_RANK = 0, 1
PAYLOAD = 4064  # of one packet: the path MTU of 4096 without the CSA header

# One byte, an odd length that needs three pad bytes, a whole packet, and three packets with an odd end.
SIZES = [0, 1, 4061, PAYLOAD, 2 * PAYLOAD + 777]


def bytes_of(size: int) -> Bytes:
    return np.random.default_rng(size).integers(0, 256, size, dtype=np.uint8)


def soft(guest: RxeGuest, peer_qpn: int, mode: Mode = "raw") -> AbstractContextManager[SoftRank]:
    """A rank at this end of the wire, whose only peer is a queue pair of the kernel."""
    ranks = {SOFT_RANK: Address(HOST.ipv4, SOFT_QPN), KERNEL_RANK: Address(GUEST.ipv4, peer_qpn)}
    return soft_rank(
        guest.network.namespace,
        SoftJob(ranks, QKEY, EPOCH),
        SOFT_RANK,
        mode,
        verify_icrc=mode == "raw",
        dead_after_s=60.0,  # nobody in the guest answers probes
    )


def receive(pair: RxeQueuePair, kind: int, count: int) -> list[tuple[CsaHeader, Completion]]:
    """The next `count` completions of this CSA type; a probe may come between them."""
    found: list[tuple[CsaHeader, Completion]] = []
    while len(found) < count:
        arrived = pair.receive(1)
        assert arrived, f"{len(found)} of {count} packets of type {kind} completed"
        header = CsaHeader.unpack(arrived[0].payload)
        if header.kind == kind:
            found.append((header, arrived[0]))
    return found


def send_message(pair: RxeQueuePair, data: bytes, coll_seq: int) -> int:
    """Send a message from the kernel's queue pair, its CSA headers made by hand; returns how many packets."""
    pieces = [data[at : at + PAYLOAD] for at in range(0, len(data), PAYLOAD)] or [b""]
    for index, piece in enumerate(pieces):
        header = CsaHeader(
            kind=DATA,
            epoch=EPOCH,
            coll_seq=coll_seq,
            src_rank=KERNEL_RANK,
            pkt_idx=index,
            pkt_total=len(pieces),
            path_seq=index,
        )
        assert pair.send(HOST.ipv4, SOFT_QPN, QKEY, header.pack() + piece) == "success"
    return len(pieces)


@pytest.mark.parametrize("mode", ["raw", "udp"])
@pytest.mark.parametrize("size", SIZES)
def test_data_completes_on_the_kernels_queue_pair(rxe_guest: RxeGuest, size: int, mode: Mode) -> None:
    data = bytes_of(size)
    packets = max(1, -(-size // PAYLOAD))
    with rxe_guest.queue_pair(QKEY) as pair, soft(rxe_guest, pair.number, mode) as rank:
        transfer = rank.post_send(KERNEL_RANK, data, coll_seq=1)
        arrived = receive(pair, DATA, packets)
        name = CsaHeader(kind=ACK, epoch=EPOCH, coll_seq=1, src_rank=SOFT_RANK, pkt_total=packets)
        ack = Control(from_rank=KERNEL_RANK, cumulative=packets)
        assert pair.send(HOST.ipv4, SOFT_QPN, QKEY, name.pack() + ack.pack()) == "success"
        (completion,) = rank.wait()
        stats = rank.stats()

    assert (completion.id, completion.status) == (transfer, _core.Status.ok)
    assert (stats["tx_data"], stats["messages_sent"], stats["rx_bad_icrc"]) == (packets, 1, 0)
    for index, (header, received) in enumerate(sorted(arrived, key=lambda item: item[0].pkt_idx)):
        assert (received.status, received.src_qp, received.has_grh) == ("success", SOFT_QPN, True)
        assert received.grh[:20] == bytes(20)
        assert received.grh[20] == 0x45
        assert received.grh[32:40] == IPv4Address(HOST.ipv4).packed + IPv4Address(GUEST.ipv4).packed
        assert received.byte_len == 40 + CSA_BYTES + len(data[index * PAYLOAD : (index + 1) * PAYLOAD])
        assert (header.pkt_idx, header.pkt_total, header.epoch) == (index, packets, EPOCH)
        assert received.payload[CSA_BYTES:] == data[index * PAYLOAD : (index + 1) * PAYLOAD].tobytes()


@pytest.mark.parametrize("mode", ["raw", "udp"])
@pytest.mark.parametrize("size", SIZES)
def test_message_from_the_kernel_is_delivered(rxe_guest: RxeGuest, size: int, mode: Mode) -> None:
    data, buffer = bytes_of(size), np.zeros(size, np.uint8)
    with rxe_guest.queue_pair(QKEY) as pair, soft(rxe_guest, pair.number, mode) as rank:
        transfer = rank.post_recv(KERNEL_RANK, buffer, coll_seq=1)
        packets = send_message(pair, data.tobytes(), coll_seq=1)
        (completion,) = rank.wait()
        ((header, ack),) = receive(pair, ACK, 1)
        stats = rank.stats()

    assert (completion.id, completion.status, completion.bytes) == (transfer, _core.Status.ok, size)
    assert buffer.tobytes() == data.tobytes()
    assert (stats["rx_data"], stats["messages_received"], stats["rx_bad_icrc"]) == (packets, 1, 0)
    assert (header.coll_seq, header.src_rank, header.epoch) == (1, KERNEL_RANK, EPOCH)
    assert (ack.status, ack.src_qp) == ("success", SOFT_QPN)
    assert Control.unpack(ack.payload[CSA_BYTES:]).from_rank == SOFT_RANK


def test_icrc_is_checked_over_whatever_ip_id_the_kernel_chooses(rxe_guest: RxeGuest) -> None:
    messages = 40
    buffers = [np.zeros(3, np.uint8) for _ in range(messages)]
    with (
        rxe_guest.queue_pair(QKEY, depth=256) as pair,
        soft(rxe_guest, pair.number) as rank,
        rxe_guest.raw_socket(socket.IPPROTO_UDP) as wire,
    ):
        wire.settimeout(60)
        done, ids = 0, set()
        for number, buffer in enumerate(buffers):
            rank.post_recv(KERNEL_RANK, buffer, coll_seq=number)
            send_message(pair, bytes([number, 1, 2]), coll_seq=number)
            ids.add(Datagram.unpack(wire.recv(9000)).ip_id)
            done += len(rank.wait())
        stats = rank.stats()
    assert len(ids) > messages // 2
    assert (done, stats["rx_data"], stats["rx_bad_icrc"]) == (messages, messages, 0)
    assert [bytes(buffer) for buffer in buffers] == [bytes([number, 1, 2]) for number in range(messages)]


def test_wrong_icrc_is_counted_and_not_delivered(rxe_guest: RxeGuest) -> None:
    """A packet from the guest with one bit of its payload flipped, and then the whole one."""
    header = CsaHeader(epoch=EPOCH, coll_seq=1, src_rank=KERNEL_RANK)
    buffer = np.zeros(4, np.uint8)
    with rxe_guest.queue_pair(QKEY) as pair, soft(rxe_guest, pair.number) as rank:
        payload = header.pack() + b"good"
        whole = Datagram(GUEST.ipv4, HOST.ipv4, pair.number, SOFT_QPN, QKEY, payload, ip_id=5).pack()
        damaged = whole.replace(b"good", b"food")
        rank.post_recv(KERNEL_RANK, buffer, coll_seq=1)
        rxe_guest.send_packet(damaged)
        rxe_guest.send_packet(whole)
        (completion,) = rank.wait()
        stats = rank.stats()
    assert completion.status == _core.Status.ok
    assert bytes(buffer) == b"good"
    assert (stats["rx_bad_icrc"], stats["rx_data"], stats["rx_duplicates"]) == (1, 1, 0)
