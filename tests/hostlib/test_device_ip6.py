"""The soft device over IPv6: RoCEv2 as scapy writes and reads it, and jobs between two hosts."""

import random
import socket
import struct
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, replace
from ipaddress import IPv6Address

import numpy as np
import pytest
from csaud import _core
from csaud.config import reading
from csaud.devices import open_device
from csaud.errors import ConfigError, RendezvousError
from csaud.network import addresses
from csaud.rendezvous.table import Card, card_from_json, make_table
from csaud.start.endpoint import core_addresses
from scapy.layers.inet import UDP
from scapy.layers.inet6 import ICMPv6PacketTooBig, IPv6

from tests.hostlib.jobs import Job, run
from tests.hostlib.test_device_jobs import balanced
from tests.hostlib.wire import Wire
from tests.support.roce import (
    ACK,
    CSA_BYTES,
    DATA,
    LOSS,
    LOSS_PORT,
    ROCE_PORT,
    Control,
    CsaHeader,
)
from tests.support.roce6 import datagram6, icrc6
from tests.support.soft import BATCH, PACKET_BYTES, SoftRank

HERE, THERE = Wire.ipv6_addresses
STRANGER = "fd00:1::3"
QKEY, EPOCH = 0x1CEB00DA, 4
QPN, PEER_QPN = 0x51, 0x52
RANK, PEER = 0, 1
NAMES = [0xF0000000, 0xF0000001]
TO_CSA = 20  # from BTH on
ECT0, CE = 2, 3
ECN_ECHO = 0x40
TRIMMED = 0x20
NOBODYS_PORT = 9
PORT = 29500  # the namespaces are this test's own


def roce6(
    src: str, dst: str, body: bytes, *, src_qpn: int = PEER_QPN, dst_qpn: int = QPN, **fields: int
) -> bytes:
    return datagram6(src, dst, body, src_qpn=src_qpn, dst_qpn=dst_qpn, qkey=QKEY, **fields)


def test_the_icrc_is_scapys_whatever_routers_change_on_the_way() -> None:
    rng = random.Random(31)
    for size in (0, 1, 3, 32, 57, 1024, 4096):
        src, dst = (IPv6Address(rng.randbytes(16)) for _ in range(2))
        changed = {"tc": rng.randrange(256), "fl": rng.randrange(1 << 20), "hlim": rng.randrange(256)}
        packet = roce6(str(src), str(dst), rng.randbytes(size), **changed)
        made = _core.ip6_icrc(src.packed, dst.packed, packet[40:-4])
        assert made == packet[-4:], size
        assert made != _core.ip6_icrc(dst.packed, src.packed, packet[40:-4])


def test_what_an_address_is() -> None:
    assert addresses.resolve("[fd00:1::1]", "x") == addresses.resolve("fd00:1:0::1", "x") == "fd00:1::1"
    assert addresses.split_port(addresses.with_port("fd00::1", 9)) == ("fd00::1", "9")
    assert addresses.split_port("10.0.0.1:9") == ("10.0.0.1", "9")
    for half in ("[fd00:1::1", "fd00:1::1]"):
        with pytest.raises(ConfigError, match="no IP address is known for it"):
            addresses.resolve(half, "address")
        assert addresses.split_port(f"{half}:9") == (half, "9")
    with pytest.raises(ConfigError, match=r"address='fe80::1': an address of one link"):
        addresses.resolve("fe80::1", "address")
    with pytest.raises(ConfigError, match=r"no IP address is known for it"):
        addresses.resolve("nobody.invalid", "address")


def test_one_address_has_one_name_however_cards_write_it() -> None:
    """Packets from it are those of the rank that it is the name of."""
    texts = ["fd00:1::1", "FD00:0001::0001", "fd00:1:0:0::1", "fd00:1::2"]
    fields = [asdict(Card(rank, text, 5 + rank, 1024, "raw")) for rank, text in enumerate(texts)]
    table = make_table([card_from_json(each) for each in fields], 1)
    assert core_addresses(table) == [NAMES[0], NAMES[0], NAMES[0], 0xF0000003]
    fields[1]["qpn"] = 5
    with pytest.raises(RendezvousError, match="ranks 0 and 1 both are QP 0x000005 at fd00:1::1"):
        make_table([card_from_json(each) for each in fields], 1)


def test_a_job_is_all_ipv4_or_all_ipv6() -> None:
    cards = [Card(0, "10.0.0.1", 5, 1024, "raw"), Card(1, "fd00::1", 5, 1024, "raw")]
    with pytest.raises(
        RendezvousError, match=r"rank 0 is at 10\.0\.0\.1, rank 1 at fd00::1: a job is all IPv4"
    ):
        make_table(cards, 1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"mode": "xdp"}, "mode=xdp is for IPv4; at fd00:1::1 there are mode=raw and mode=udp"),
        ({"segmentation": "on"}, "segmentation=on needs IPv4 addresses"),
    ],
)
def test_what_is_not_there_over_ipv6_is_refused_by_name(settings: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        open_device(reading.load(settings, {}), HERE)
    assert message in str(refused.value)


# --- packets on the wire


class PeerSockets:
    """The other rank: UDP sockets at the two ports, and a packet socket that sees whole frames."""

    def __init__(self) -> None:
        self.roce, self.loss = self._bound(THERE, ROCE_PORT), self._bound(THERE, LOSS_PORT)
        self.stranger = self._bound(STRANGER, ROCE_PORT)
        self.frames = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x86DD))
        self.frames.bind(("eth0", 0x86DD))
        self.frames.settimeout(60)

    def _bound(self, address: str, port: int) -> socket.socket:
        made = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        for option in (101, 102):  # UDP_NO_CHECK6_TX, _RX
            made.setsockopt(socket.IPPROTO_UDP, option, 1)
        made.bind((address, port))
        return made

    def send(
        self, header: CsaHeader, payload: bytes, tc: int = 0, flip: int = 0, source: str = THERE
    ) -> None:
        packet = bytearray(roce6(source, HERE, header.pack() + payload))
        packet[-1] ^= flip
        control = [(socket.IPPROTO_IPV6, socket.IPV6_TCLASS, struct.pack("i", tc))]
        sender = self.roce if source == THERE else self.stranger
        sender.sendmsg([bytes(packet[48:])], control, 0, (HERE, ROCE_PORT))

    def send_cut(self, header: CsaHeader) -> None:
        """A LOSS of the first form: no iCRC."""
        packet = roce6(THERE, HERE, header.pack())
        self.loss.sendto(packet[48:-4], (HERE, LOSS_PORT))

    def packet(self, kind: int) -> tuple[bytes, CsaHeader]:
        """The next packet of a type that came, from its IPv6 header on."""
        while True:
            packet, place = self.frames.recvfrom(9000)
            if place[2] == socket.PACKET_OUTGOING or packet[6] != socket.IPPROTO_UDP:
                continue
            if packet[42:44] != ROCE_PORT.to_bytes(2):
                continue
            header = CsaHeader.unpack(packet[48 + TO_CSA :])
            if header.kind == kind:
                return packet, header

    def close(self) -> None:
        for one in (self.roce, self.loss, self.stranger, self.frames):
            one.close()


@contextmanager
def rank_at(wire: Wire, mode: str, path_mtu: int = 1024) -> Iterator[SoftRank]:
    config = _core.EndpointConfig()
    config.rank, config.world, config.epoch, config.qkey = RANK, 2, EPOCH, QKEY
    config.local_ipv4, config.local_qpn = NAMES[RANK], QPN
    config.path_mtu = path_mtu
    config.make_icrc = config.verify_icrc = False
    if mode == "udp":
        config.udp_source_port = ROCE_PORT
    with wire.ends[0].entered():
        device = _core.Ip6Device(mode == "raw", IPv6Address(HERE).packed, QPN, PACKET_BYTES, BATCH, 1 << 20)
    device.set_names([(NAMES[0], IPv6Address(HERE).packed), (NAMES[1], IPv6Address(THERE).packed)])
    progress = _core.Progress(config, device, BATCH)
    progress.set_peer(PEER, NAMES[PEER], PEER_QPN)
    progress.start()
    try:
        yield SoftRank(progress)
    finally:
        progress.stop()


@contextmanager
def new_wire() -> Iterator[Wire]:
    with Wire(mtu=4200, ipv6=True) as made:
        made.ends[1].ip(f"address add {STRANGER}/64 dev eth0 nodad")
        yield made


@pytest.fixture(scope="module")
def wire() -> Iterator[Wire]:
    with new_wire() as made:
        yield made


@contextmanager
def peer_sockets(wire: Wire) -> Iterator[PeerSockets]:
    with wire.ends[1].entered():
        peer = PeerSockets()
    with closing(peer):
        yield peer


@pytest.fixture(params=["raw", "udp"])
def ends(request: pytest.FixtureRequest, wire: Wire) -> Iterator[tuple[SoftRank, PeerSockets]]:
    with peer_sockets(wire) as peer, rank_at(wire, request.param) as rank:
        yield rank, peer


HEADER = CsaHeader(epoch=EPOCH, coll_seq=1, src_rank=PEER, path_id=3)


@pytest.mark.root
def test_data_leaves_as_rocev2_over_ipv6_and_its_mark_comes_back(ends: tuple[SoftRank, PeerSockets]) -> None:
    rank, peer = ends
    payload = np.arange(301, dtype=np.uint8)
    rank.post_send(PEER, payload, 9)
    packet, header = peer.packet(DATA)
    ip = IPv6(packet)
    assert (ip.src, ip.dst, ip.nh, ip.tc & 3) == (HERE, THERE, socket.IPPROTO_UDP, ECT0)
    assert (ip[UDP].dport, ip[UDP].chksum) == (ROCE_PORT, 0), "no UDP checksum: the iCRC is there"
    assert packet[-4:] == icrc6(packet)
    body = packet[48 + TO_CSA + CSA_BYTES : -4]
    assert body[:301] == payload.tobytes() and body[301:] == bytes(3)
    assert (header.coll_seq, header.src_rank) == (9, RANK)

    buffer = np.zeros(4, np.uint8)
    rank.post_recv(PEER, buffer, 1)
    peer.send(HEADER, b"data", tc=CE)
    answer, header = peer.packet(ACK)
    part = Control.unpack(answer[48 + TO_CSA + CSA_BYTES :])
    assert (header.flags & ECN_ECHO, part.echoed_path, part.ecn_count) == (ECN_ECHO, 3, 1)
    assert answer[-4:] == icrc6(answer)
    assert buffer.tobytes() == b"data"


@pytest.mark.root
def test_what_is_damaged_or_from_a_stranger_is_counted_and_changes_nothing(
    ends: tuple[SoftRank, PeerSockets],
) -> None:
    rank, peer = ends
    buffer = np.zeros(4, np.uint8)
    rank.post_recv(PEER, buffer, 1)
    peer.send(HEADER, b"evil", flip=0x10)
    peer.send(HEADER, b"evil", source=STRANGER)
    peer.send(HEADER, b"good")
    peer.packet(ACK)
    stats = rank.stats()
    assert (stats["rx_bad_icrc"], stats["rx_bad_source"], stats["rx_data"]) == (1, 1, 1)
    assert buffer.tobytes() == b"good"


@pytest.mark.root
def test_a_cut_packet_is_asked_for_again_at_once(ends: tuple[SoftRank, PeerSockets]) -> None:
    rank, peer = ends
    buffer = np.zeros(4, np.uint8)
    rank.post_recv(PEER, buffer, 1)
    peer.send_cut(CsaHeader(epoch=EPOCH, coll_seq=1, src_rank=PEER, kind=LOSS, flags=TRIMMED))
    peer.packet(2)  # STATE
    peer.send(CsaHeader(epoch=EPOCH, coll_seq=1, src_rank=PEER, attempt=1, flags=1), b"data")
    peer.packet(ACK)
    assert rank.stats()["rx_loss_notices"] == 1
    assert buffer.tobytes() == b"data"


@pytest.mark.root
def test_errors_about_packets_of_others_at_the_address_end_nothing(
    wire: Wire, ends: tuple[SoftRank, PeerSockets]
) -> None:
    """ICMPv6 tells every raw socket at the address. A port that nobody has, as a stopped process leaves
    behind, and the rank's next packets come and go as ever."""
    rank, peer = ends
    for round_ in (1, 2):  # the kernel answers six at once, and then one a second
        with wire.ends[0].entered(), socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as other:
            other.bind((HERE, 0))
            other.connect((THERE, NOBODYS_PORT))
            other.settimeout(60)
            other.send(b"?")
            with pytest.raises(ConnectionRefusedError):
                other.recv(1)
        buffer = np.zeros(4, np.uint8)
        rank.post_recv(PEER, buffer, round_)
        peer.send(replace(HEADER, coll_seq=round_), b"data")
        peer.packet(ACK)
        assert buffer.tobytes() == b"data"
    assert rank.stats()["tx_errors"] == 0


@pytest.mark.root
@pytest.mark.parametrize("mode", ["raw", "udp"])
def test_who_forges_icmp_makes_no_packet_shorter(mode: str) -> None:
    with new_wire() as wire, peer_sockets(wire) as peer, rank_at(wire, mode, 4096) as rank:
        forge_packet_too_big(wire, 1280)
        rank.post_send(PEER, np.zeros(4000, np.uint8), 1)
        packet, _ = peer.packet(DATA)
        assert len(packet) > 4000
        assert rank.stats()["tx_errors"] == 0


def forge_packet_too_big(wire: Wire, mtu: int) -> None:
    """A stranger's word on a packet that the first host may have sent; the kernel believes it."""
    quoted = IPv6(src=HERE, dst=THERE, nh=socket.IPPROTO_UDP, plen=4000) / UDP(
        sport=ROCE_PORT, dport=ROCE_PORT
    )
    forged = IPv6(src=STRANGER, dst=HERE) / ICMPv6PacketTooBig(mtu=mtu) / quoted
    wire.forge_until_believed(bytes(forged), socket.AF_INET6, HERE, THERE, mtu)


# --- jobs


SUMS = [[1, "float32", 2], [999, "float64", 1], [100_000, "float32", 2]]


@pytest.mark.root
@pytest.mark.parametrize("mode", ["raw", "udp"])
def test_two_hosts(mode: str) -> None:
    with Wire(mtu=4200, ipv6=True) as wire:
        task = {"sums": SUMS, "settings": {"mode": mode}}
        ends = run(2, "sums", task, master=HERE, port=PORT, spawn=wire.host_of)
    balanced(ends)
    if mode == "raw":
        used = [packets > 0 for packets in ends[0]["stats"]["tx_path"]]
        assert all(used) and len(used) == 16


@pytest.mark.root
def test_several_ranks_at_each_address_with_a_secret_and_authenticated_packets() -> None:
    settings = {"secret": "correct horse battery staple", "auth": "headers"}
    with Wire(mtu=4200, ipv6=True) as wire:
        task = {"sums": SUMS, "settings": settings}
        ends = run(4, "sums", task, master=HERE, port=PORT, spawn=wire.host_of)
    balanced(ends)


@pytest.mark.root
def test_a_path_mtu_that_does_not_fit_counts_the_longer_header() -> None:
    with Wire(mtu=1500, ipv6=True) as wire:
        task = {"sums": [], "settings": {"mtu": 1440}}
        with Job(2, "sums", task, master=HERE, port=PORT, spawn=wire.host_of) as job:
            for end in job.ends():
                assert end["error"] == "ConfigError"
                assert "has an MTU of 1500 bytes, mtu=1440 needs 1512" in end["message"]
