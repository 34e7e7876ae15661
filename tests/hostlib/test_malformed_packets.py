"""Packets that no peer would send, to both ports of the soft device: counted, dropped, and all else stays."""

import contextlib
import random
import socket
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pytest

from tests.support.netns import NetworkNamespace
from tests.support.roce import ACK, LOSS, LOSS_PORT, ROCE_PORT, Control, CsaHeader, Datagram, icrc
from tests.support.soft import Address, Mode, SoftJob, SoftRank, soft_rank

pytestmark = pytest.mark.root

VICTIM, SENDER = 0, 1
JOB = SoftJob(
    {VICTIM: Address("10.0.1.1", 0x51), SENDER: Address("10.0.1.2", 0x52)}, qkey=0x1CEB00DA, epoch=4
)
PAYLOAD = 4064  # of one packet
SRC_PORT = 0xC000
# linux/in.h; Python's socket module has no names for them
IP_MTU_DISCOVER, IP_PMTUDISC_DO = 10, 2

# Offsets from the IPv4 header on.
IP_BYTES, DST_PORT, UDP_LENGTH, BTH, CSA = 20, 22, 24, 28, 48
TRIMMED_BYTES = 80  # a LOSS packet: 94 bytes less the Ethernet header

# What whole packets and the passing of time may change; all other counters must stay.
OF_WHOLE_PACKETS = {"rx_data", "rx_bytes", "messages_received", "stalls"}
PARTS = {"rx_loss_trimmed", "rx_loss_bounced", "rx_stale_data", "rx_stale_loss"}  # of other counters
OF_WHOLE_PACKETS |= {"tx_bytes", "tx_control", "tx_ack", "tx_state", "tx_credit", "tx_probe"}


def packet(
    header: CsaHeader,
    body: bytes = b"",
    *,
    qkey: int = JOB.qkey,
    dst_port: int = ROCE_PORT,
    qpn: int | None = None,
    src: Address = JOB.ranks[SENDER],
) -> bytes:
    """An IPv4 packet from the sender to the victim, right in all that the arguments do not say."""
    victim = JOB.ranks[VICTIM]
    return Datagram(
        src=src.ipv4,
        dst=victim.ipv4,
        src_qpn=src.qpn,
        dst_qpn=victim.qpn if qpn is None else qpn,
        qkey=qkey,
        payload=header.pack() + body,
        ip_id=0,
        src_port=SRC_PORT,
        dst_port=dst_port,
    ).pack()


def loss(header: CsaHeader, *, qkey: int = JOB.qkey) -> bytes:
    """A trimmed packet: no iCRC, to the LOSS port."""
    return with_udp_length(packet(header, qkey=qkey, dst_port=LOSS_PORT)[:TRIMMED_BYTES])


def with_udp_length(packet: bytes, length: int | None = None) -> bytes:
    """With the UDP length set to `length`, or to what the packet has."""
    length = len(packet) - IP_BYTES if length is None else length
    return packet[:UDP_LENGTH] + length.to_bytes(2, "big") + packet[UDP_LENGTH + 2 :]


def cut(packet: bytes, size: int) -> bytes:
    """The first `size` bytes, with lengths that agree and, where there is room for one, a right iCRC."""
    short = with_udp_length(packet[:size])
    return short[:-4] + icrc(short) if size >= CSA else short


def patched(packet: bytes, offset: int, value: int) -> bytes:
    """With one byte changed and the iCRC made right again."""
    changed = packet[:offset] + bytes([value]) + packet[offset + 1 :]
    return changed[:-4] + icrc(changed)


def patched_bare(packet: bytes, offset: int, value: int) -> bytes:
    """With one byte changed, of a packet without an iCRC."""
    return packet[:offset] + bytes([value]) + packet[offset + 1 :]


@dataclass(frozen=True)
class Case:
    """A packet, and the one counter that it adds to."""

    name: str
    counter: str
    packet: bytes
    raw_only: bool = False  # a UDP socket cannot send it, or the kernel would not hand it to one


DATA_HEADER = CsaHeader(epoch=JOB.epoch, coll_seq=1 << 31, src_rank=SENDER)
LOSS_HEADER = replace(DATA_HEADER, kind=LOSS, flags=0x20)
BOUNCED_HEADER = replace(LOSS_HEADER, src_rank=VICTIM)
ACK_HEADER = replace(DATA_HEADER, kind=ACK, src_rank=VICTIM)
WHOLE = packet(DATA_HEADER, b"data")
PART = Control(from_rank=SENDER)


def changed(**fields: int) -> bytes:
    return packet(replace(DATA_HEADER, **fields), b"data")


CASES = [
    # Lengths
    *(
        Case(f"cut to {size}", "rx_bad_length", cut(WHOLE, size))
        for size in (28, 31, 39, 40, 48, 52, 79, 80, 83)
    ),
    Case("UDP length above the packet's", "rx_bad_length", with_udp_length(WHOLE, len(WHOLE)), raw_only=True),
    Case("UDP length below the packet's", "rx_bad_length", with_udp_length(WHOLE, 40), raw_only=True),
    Case("UDP length zero", "rx_bad_length", with_udp_length(WHOLE, 0), raw_only=True),
    Case("UDP length 65535", "rx_bad_length", with_udp_length(WHOLE, 0xFFFF), raw_only=True),
    Case("not a multiple of four", "rx_bad_length", cut(packet(DATA_HEADER, b"data" * 4), 90)),
    Case("more pad than payload", "rx_bad_length", patched(packet(DATA_HEADER), BTH + 1, 0x70)),
    # Integrity and addressing
    Case("wrong iCRC", "rx_bad_icrc", WHOLE[:-1] + bytes([WHOLE[-1] ^ 1])),
    Case("wrong payload", "rx_bad_icrc", WHOLE.replace(b"data", b"date")),
    Case("wrong Q_Key", "rx_bad_qkey", packet(DATA_HEADER, b"data", qkey=JOB.qkey ^ 1)),
    # Not CSA
    Case("wrong magic", "rx_bad_magic", patched(WHOLE, CSA, 0)),
    Case("another version", "rx_bad_magic", patched(WHOLE, CSA + 1, 0xA2)),
    Case("unknown type 11", "rx_bad_magic", patched(WHOLE, CSA + 2, 11)),
    Case("unknown type 255", "rx_bad_magic", patched(WHOLE, CSA + 2, 255)),
    Case("RC SEND ONLY", "rx_bad_magic", patched(WHOLE, BTH, 0x04)),
    Case("LOSS to the RoCE port, not TRIMMED", "rx_bad_magic", packet(replace(LOSS_HEADER, flags=0))),
    Case("LOSS to the RoCE port, wrong iCRC", "rx_bad_icrc", packet(LOSS_HEADER)[:-1] + b"\xaa"),
    Case("LOSS to the RoCE port, another Q_Key", "rx_bad_qkey", packet(LOSS_HEADER, qkey=JOB.qkey ^ 1)),
    Case(
        "LOSS to the RoCE port, another epoch",
        "rx_stale_loss",
        packet(replace(LOSS_HEADER, epoch=JOB.epoch - 1)),
    ),
    # Another job's
    Case("stale epoch", "rx_stale_data", changed(epoch=JOB.epoch - 1)),
    Case("future epoch", "rx_stale_data", changed(epoch=JOB.epoch + 1)),
    # Not from where the rank is
    Case(
        "another queue pair's", "rx_bad_source", packet(DATA_HEADER, b"data", src=Address("10.0.1.2", 0x53))
    ),
    Case(
        "another address's",
        "rx_bad_source",
        packet(DATA_HEADER, b"data", src=Address("10.0.1.9", 0x52)),
        raw_only=True,
    ),
    Case(
        "bounced LOSS, another queue pair's",
        "rx_bad_source",
        with_udp_length(
            packet(BOUNCED_HEADER, dst_port=LOSS_PORT, src=Address("10.0.1.2", 0x53))[:TRIMMED_BYTES]
        ),
    ),
    # Indices
    Case("no packets", "rx_bad_index", changed(pkt_total=0)),
    Case("513 packets", "rx_bad_index", changed(pkt_total=513)),
    Case("65535 packets", "rx_bad_index", changed(pkt_total=0xFFFF)),
    Case("index is the total", "rx_bad_index", changed(pkt_idx=1)),
    Case("index 65535", "rx_bad_index", changed(pkt_idx=0xFFFF)),
    Case("rank outside of the world", "rx_bad_index", changed(src_rank=2)),
    Case("rank 65535", "rx_bad_index", changed(src_rank=0xFFFF)),
    Case("longer than the path MTU", "rx_bad_index", packet(DATA_HEADER, bytes(PAYLOAD + 1))),
    Case("short in the middle", "rx_bad_index", changed(pkt_total=2)),
    # Control packets
    Case("no control part", "rx_bad_length", packet(ACK_HEADER)),
    Case("half a control part", "rx_bad_length", packet(ACK_HEADER, PART.pack()[:12])),
    Case(
        "bitmap of 513 bits",
        "rx_bad_length",
        packet(ACK_HEADER, replace(PART, bitmap_bits=513).pack() + bytes(65)),
    ),
    Case(
        "bitmap of 65535 bits", "rx_bad_length", packet(ACK_HEADER, replace(PART, bitmap_bits=0xFFFF).pack())
    ),
    Case(
        "bitmap cut off", "rx_bad_length", packet(ACK_HEADER, replace(PART, bitmap_bits=64).pack() + bytes(7))
    ),
    Case("bitmap unannounced", "rx_bad_length", packet(ACK_HEADER, PART.pack() + bytes(8))),
    Case(
        "control from rank 65535", "rx_bad_index", packet(ACK_HEADER, replace(PART, from_rank=0xFFFF).pack())
    ),
    # The LOSS port
    *(
        Case(f"LOSS cut to {size}", "rx_bad_length", with_udp_length(loss(LOSS_HEADER)[:size]))
        for size in (28, 52, 79)
    ),
    Case("LOSS with PadCnt", "rx_bad_length", patched_bare(loss(LOSS_HEADER), BTH + 1, 0x10)),
    Case("LOSS not TRIMMED", "rx_bad_magic", loss(replace(LOSS_HEADER, flags=0))),
    Case("DATA to the LOSS port", "rx_bad_magic", loss(DATA_HEADER)),
    Case("LOSS with another Q_Key", "rx_bad_qkey", loss(LOSS_HEADER, qkey=JOB.qkey ^ 1)),
    Case("LOSS of another epoch", "rx_stale_loss", loss(replace(LOSS_HEADER, epoch=JOB.epoch - 1))),
    Case("LOSS of no packets", "rx_bad_index", loss(replace(LOSS_HEADER, pkt_total=0))),
    Case("LOSS of index 65535", "rx_bad_index", loss(replace(LOSS_HEADER, pkt_idx=0xFFFF))),
    Case("LOSS from rank 65535", "rx_bad_index", loss(replace(LOSS_HEADER, src_rank=0xFFFF))),
    # Of the victim's own packets: it has sent none, so whatever is said of them is not so
    Case("bounced LOSS, another Q_Key", "rx_bad_qkey", loss(BOUNCED_HEADER, qkey=JOB.qkey ^ 1)),
    Case("bounced LOSS, another epoch", "rx_stale_loss", loss(replace(BOUNCED_HEADER, epoch=0))),
    Case("bounced LOSS of 513 packets", "rx_bad_index", loss(replace(BOUNCED_HEADER, pkt_total=513))),
]


class Wire:
    """The sender's end: whole messages, with which the victim shows that it is well, and whatever bytes."""

    def __init__(self, socket: socket.socket, victim: SoftRank, mode: Mode) -> None:
        self.mode = mode
        self.victim = victim
        self._socket = socket
        self._messages = 0

    def send(self, packet: bytes) -> None:
        port = int.from_bytes(packet[DST_PORT : DST_PORT + 2], "big")
        to = (JOB.ranks[VICTIM].ipv4, port if self.mode == "udp" else 0)
        self._socket.sendto(packet[BTH:] if self.mode == "udp" else packet, to)

    def settle(self) -> dict[str, object]:
        """The victim's counters when everything sent so far has been taken.

        Two messages: the UDP ports are separate queues, and the first message may have overtaken, within one
        turn of the victim, what came to the LOSS port before it.
        """
        self._deliver_message()
        self._deliver_message()
        return self.victim.stats()

    def _deliver_message(self) -> None:
        self._messages += 1
        content = self._messages.to_bytes(4, "big")
        buffer = np.zeros(4, np.uint8)
        transfer = self.victim.post_recv(SENDER, buffer, self._messages)
        path_seq = (self._messages - 1) & 0xFFFF
        self.send(packet(replace(DATA_HEADER, coll_seq=self._messages, path_seq=path_seq), content))
        assert [completion.id for completion in self.victim.wait()] == [transfer]
        assert bytes(buffer) == content


@pytest.fixture(scope="module")
def namespace() -> Iterator[NetworkNamespace]:
    with NetworkNamespace() as space:
        for address in JOB.ranks.values():
            space.ip(f"address add {address.ipv4}/32 dev lo")
        yield space


@pytest.fixture(scope="module", params=["raw", "udp"])
def wire(request: pytest.FixtureRequest, namespace: NetworkNamespace) -> Iterator[Wire]:
    """A victim, and a sender that uses sockets of the victim's kind."""
    mode: Mode = request.param
    sender = JOB.ranks[SENDER].ipv4
    with contextlib.ExitStack() as stack:
        victim = stack.enter_context(soft_rank(namespace, JOB, VICTIM, mode))
        with namespace.entered():
            raw = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW))
            udp = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
            # Bound, so that the kernel does not tell the victim that nobody takes its answers.
            bound = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        bound.bind((sender, ROCE_PORT))
        udp.bind((sender, SRC_PORT))
        udp.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO)  # sends IP id 0, like the raw ones
        yield Wire(udp if mode == "udp" else raw, victim, mode)


def difference(before: dict[str, object], after: dict[str, object]) -> dict[str, int]:
    """The counters that changed, and by how much, without those that whole packets change."""
    return {
        name: after[name] - value  # type: ignore[operator]
        for name, value in before.items()
        if isinstance(value, int) and after[name] != value and name not in OF_WHOLE_PACKETS
    }


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_counted_and_dropped(wire: Wire, case: Case) -> None:
    before = wire.settle()
    if case.raw_only and wire.mode == "udp":
        return  # never reaches the victim
    wire.send(case.packet)
    all_stale = {"rx_stale_epoch": 1} if case.counter.startswith("rx_stale_") else {}
    assert difference(before, wire.settle()) == {case.counter: 1, **all_stale}


ACCEPTED = {
    "headers alone": loss(LOSS_HEADER),
    "longer": with_udp_length(loss(LOSS_HEADER) + bytes(range(117))),
    "to the RoCE port": packet(LOSS_HEADER),
    "to the RoCE port, longer": packet(LOSS_HEADER, bytes(61)),
}


@pytest.mark.parametrize("form", ACCEPTED)
def test_loss_of_any_form_is_a_notice_once(wire: Wire, form: str) -> None:
    """Of a message of which nothing else is known; names differ, so that each is the first of its copy."""
    index = list(ACCEPTED).index(form) + (len(ACCEPTED) if wire.mode == "udp" else 0)
    header = replace(LOSS_HEADER, coll_seq=LOSS_HEADER.coll_seq + 1 + index)
    notice = ACCEPTED[form].replace(LOSS_HEADER.pack(), header.pack())
    if notice[DST_PORT : DST_PORT + 2] == ROCE_PORT.to_bytes(2, "big"):
        notice = notice[:-4] + icrc(notice)
    before = wire.settle()
    wire.send(notice)
    after = wire.settle()
    assert difference(before, after) == {"rx_loss_notices": 1, "rx_loss_trimmed": 1}
    wire.send(notice)
    assert difference(after, wire.settle()) == {"rx_loss_repeats": 1}


def test_packet_of_another_queue_pair_is_not_this_ranks(wire: Wire) -> None:
    """Raw sockets filter by queue pair, as several ranks may share the address; a UDP socket has it alone."""
    before = wire.settle()
    wire.send(packet(DATA_HEADER, b"data", qpn=0x99))
    assert difference(before, wire.settle()) == ({} if wire.mode == "raw" else {"rx_bad_qpn": 1})


def test_damage_of_any_kind_is_counted_packet_by_packet(wire: Wire) -> None:
    """Packets cut short and with a bit flipped, but for what chooses the receiver and what no iCRC covers."""
    seed, rounds, burst = 20_260_101, 20, 100
    print(f"seed {seed}")
    choice = random.Random(seed)
    sources = [WHOLE, packet(ACK_HEADER, PART.pack()), loss(LOSS_HEADER)]
    spared = {26, 27, 32, 33, 34, 35}  # UDP checksum, resv8a, destination QP
    first = UDP_LENGTH if wire.mode == "raw" else BTH
    before = wire.settle()
    for _ in range(rounds):
        for _ in range(burst):
            source = choice.choice(sources)
            size = choice.choice([len(source), choice.randrange(BTH + 1, len(source) + 1)])
            damaged = bytearray(source[:size])
            offset = choice.choice([at for at in range(first, size) if at not in spared])
            damaged[offset] ^= 1 << choice.randrange(8)
            wire.send(bytes(damaged))
        after = wire.settle()
        changes = difference(before, after)
        fates = {name for name in changes if name.startswith("rx_")} - PARTS
        assert sum(changes[name] for name in fates) == burst, changes
        before = after
