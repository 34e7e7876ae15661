"""What a rank believes of who is on its link, and of whom: the test is its peer, and a stranger."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import IPv4Address

import numpy as np
import pytest
from csaud import _core
from csaud_testnet import QuestionKind, decode_question, encode_question

from tests.hostlib.wire import Wire
from tests.support.netns import NetworkNamespace
from tests.support.soft import BATCH, PACKET_BYTES

pytestmark = pytest.mark.root

HERE, THERE = (int(IPv4Address(address)) for address in Wire.addresses)
PATH_MTU = 1024
LONGEST = PATH_MTU + 24  # BTH, DETH and iCRC around it
PATIENCE_S = 30.0


@pytest.fixture
def wire() -> Iterator[Wire]:
    with Wire(mtu=1500) as made:
        yield made


def udp_socket(host: NetworkNamespace, ttl: int = 1) -> socket.socket:
    with host.entered():
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.bind((Wire.addresses[1], 0))
    made.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, ttl)
    made.settimeout(PATIENCE_S)
    return made


@contextmanager
def rank_with_peer(wire: Wire, peer: socket.socket) -> Iterator[tuple[str, int]]:
    """A rank that always has something to send to a peer that takes trains at this socket; where its own
    come to."""
    config = _core.EndpointConfig()
    config.rank, config.world, config.path_mtu = 0, 2, PATH_MTU
    config.local_ipv4, config.local_qpn = HERE, 0x51
    with wire.ends[0].entered():
        raw = _core.RawDevice(HERE, 0x51, PACKET_BYTES, BATCH, 1 << 20)
        device = _core.OnLinkDevice(raw, HERE, PACKET_BYTES, BATCH, 1 << 20)
        device.link([(1, THERE, peer.getsockname()[1], False)], PATH_MTU)
    progress = _core.Progress(config, device, BATCH)
    progress.set_peer(1, THERE, 0x52)
    progress.start()
    data = np.zeros(400_000, np.uint8)
    try:
        progress.post(True, 1, 0, 1, 0, 0, data, 0, data.nbytes, _core.Hints())
        yield Wire.addresses[0], device.port
    finally:
        progress.stop()


def next_question(peer: socket.socket) -> tuple[int, int]:
    """Padding before it as it says, which is counted, and its nonce."""
    padding = 0
    while True:
        datagram = peer.recv(1 << 16)
        kind, said, nonce = decode_question(datagram)
        if kind == QuestionKind.padding:
            assert len(datagram) == LONGEST
            padding += 1
            continue
        assert kind == QuestionKind.question and said == padding
        return padding, nonce


def test_a_train_is_asked_after_a_single_packet_was_answered_and_sent_after_that(wire: Wire) -> None:
    with udp_socket(wire.ends[1]) as peer, rank_with_peer(wire, peer) as rank:
        padding, nonce = next_question(peer)
        assert padding == 0
        peer.sendto(encode_question(QuestionKind.answer, 0, nonce), rank)
        while padding == 0:  # asked again before the answer was there
            padding, again = next_question(peer)
            assert again == nonce
        assert padding == (65_507 - 16) // LONGEST, "as long as a train can be"
        peer.sendto(encode_question(QuestionKind.answer, padding, nonce), rank)
        packet = peer.recv(1 << 16)
        while decode_question(packet) is not None:  # asked again before that answer was there
            packet = peer.recv(1 << 16)
        assert packet[0] == 0x64 and len(packet) <= LONGEST, "from BTH on"


@pytest.mark.parametrize("who", ["a stranger", "somebody behind a router", "the peer, to something else"])
def test_only_the_peers_own_answer_from_the_link_counts(wire: Wire, who: str) -> None:
    with (
        udp_socket(wire.ends[1]) as peer,
        udp_socket(wire.ends[1]) as stranger,
        rank_with_peer(wire, peer) as rank,
    ):
        _, nonce = next_question(peer)
        if who == "somebody behind a router":
            peer.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, 64)
        answered = nonce ^ (who == "the peer, to something else")
        sender = stranger if who == "a stranger" else peer
        sender.sendto(encode_question(QuestionKind.answer, 0, answered), rank)
        assert next_question(peer)[0] == 0, "the single packet again"


def test_strangers_get_no_answer(wire: Wire) -> None:
    with (
        udp_socket(wire.ends[1]) as peer,
        udp_socket(wire.ends[1]) as stranger,
        rank_with_peer(wire, peer) as rank,
    ):
        next_question(peer)
        for sender in (stranger, peer):
            sender.sendto(encode_question(QuestionKind.question, 0, 0x77), rank)
        answer = decode_question(peer.recv(1 << 16))
        while answer[0] != QuestionKind.answer:  # its own questions
            answer = decode_question(peer.recv(1 << 16))
        assert answer == (QuestionKind.answer, 0, 0x77)
        stranger.setblocking(False)
        with pytest.raises(BlockingIOError):
            stranger.recv(1 << 16)


def test_a_question_is_answered_where_all_of_its_train_came(wire: Wire) -> None:
    with udp_socket(wire.ends[1]) as peer, rank_with_peer(wire, peer) as rank:
        padding = encode_question(QuestionKind.padding, 0, 0)
        for sent, nonce in ((2, 1), (3, 2)):
            for _ in range(sent):
                peer.sendto(padding, rank)
            peer.sendto(encode_question(QuestionKind.question, 3, nonce), rank)
        while (answer := decode_question(peer.recv(1 << 16)))[0] != QuestionKind.answer:
            pass
        assert answer == (QuestionKind.answer, 3, 2)
