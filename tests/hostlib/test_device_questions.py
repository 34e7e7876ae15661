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
NUDGE_S = 0.2


@pytest.fixture
def wire() -> Iterator[Wire]:
    with Wire(mtu=1500) as made:
        yield made


def udp_socket(host: NetworkNamespace, ttl: int = 1) -> socket.socket:
    with host.entered():
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.bind((Wire.addresses[1], 0))
    made.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, ttl)
    made.settimeout(NUDGE_S)
    return made


class Rank:
    """Of the test's peer, to which it has a long message to send, whose packets nobody acknowledges."""

    def __init__(self, progress: _core.Progress, peer: socket.socket, port: int) -> None:
        self.address = Wire.addresses[0], port
        self._progress, self._peer = progress, peer
        self._messages: list[np.ndarray] = []
        self._post(400_000)

    def _post(self, length: int) -> None:
        data = np.zeros(length, np.uint8)
        self._messages.append(data)
        self._progress.post(True, 1, 0, len(self._messages), 0, 0, data, 0, length, _core.Hints())

    def datagram(self) -> bytes:
        """What comes next. Where a busy machine keeps the test waiting, the long message has become silent
        meanwhile: another one gives the rank something to send."""
        for _ in range(round(PATIENCE_S / NUDGE_S)):
            try:
                return self._peer.recv(1 << 16)
            except TimeoutError:
                self._post(1)
        raise TimeoutError


@contextmanager
def rank_with_peer(wire: Wire, peer: socket.socket) -> Iterator[Rank]:
    """A rank that has something to send to a peer that takes trains at this socket."""
    config = _core.EndpointConfig()
    config.rank, config.world, config.path_mtu = 0, 2, PATH_MTU
    config.local_ipv4, config.local_qpn = HERE, 0x51
    config.dead_after = 600_000_000_000  # ns: a peer that a busy machine keeps waiting is no dead one
    with wire.ends[0].entered():
        raw = _core.RawDevice(HERE, 0x51, PACKET_BYTES, BATCH, 1 << 20)
        device = _core.OnLinkDevice(raw, HERE, PACKET_BYTES, BATCH, 1 << 20)
        device.link([(1, THERE, peer.getsockname()[1], False)], PATH_MTU)
    progress = _core.Progress(config, device, BATCH)
    progress.set_peer(1, THERE, 0x52)
    progress.start()
    try:
        yield Rank(progress, peer, device.port)
    finally:
        progress.stop()


def next_question(rank: Rank) -> tuple[int, int]:
    """Padding before it as it says, which is counted, and its nonce."""
    padding = 0
    while True:
        datagram = rank.datagram()
        kind, said, nonce = decode_question(datagram)
        if kind == QuestionKind.padding:
            assert len(datagram) == LONGEST
            padding += 1
            continue
        assert kind == QuestionKind.question and said == padding
        return padding, nonce


def test_a_train_is_asked_after_a_single_packet_was_answered_and_sent_after_that(wire: Wire) -> None:
    with udp_socket(wire.ends[1]) as peer, rank_with_peer(wire, peer) as rank:
        padding, nonce = next_question(rank)
        assert padding == 0
        peer.sendto(encode_question(QuestionKind.answer, 0, nonce), rank.address)
        while padding == 0:  # asked again before the answer was there
            padding, again = next_question(rank)
            assert again == nonce
        assert padding == (65_507 - 16) // LONGEST, "as long as a train can be"
        peer.sendto(encode_question(QuestionKind.answer, padding, nonce), rank.address)
        packet = rank.datagram()
        while decode_question(packet) is not None:  # asked again before that answer was there
            packet = rank.datagram()
        assert packet[0] == 0x64 and len(packet) <= LONGEST, "from BTH on"


@pytest.mark.parametrize("who", ["a stranger", "somebody behind a router", "the peer, to something else"])
def test_only_the_peers_own_answer_from_the_link_counts(wire: Wire, who: str) -> None:
    with (
        udp_socket(wire.ends[1]) as peer,
        udp_socket(wire.ends[1]) as stranger,
        rank_with_peer(wire, peer) as rank,
    ):
        _, nonce = next_question(rank)
        if who == "somebody behind a router":
            peer.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, 64)
        answered = nonce ^ (who == "the peer, to something else")
        sender = stranger if who == "a stranger" else peer
        sender.sendto(encode_question(QuestionKind.answer, 0, answered), rank.address)
        assert next_question(rank)[0] == 0, "the single packet again"


def test_strangers_get_no_answer(wire: Wire) -> None:
    with (
        udp_socket(wire.ends[1]) as peer,
        udp_socket(wire.ends[1]) as stranger,
        rank_with_peer(wire, peer) as rank,
    ):
        next_question(rank)
        for sender in (stranger, peer):
            sender.sendto(encode_question(QuestionKind.question, 0, 0x77), rank.address)
        answer = decode_question(rank.datagram())
        while answer[0] != QuestionKind.answer:  # its own questions
            answer = decode_question(rank.datagram())
        assert answer == (QuestionKind.answer, 0, 0x77)
        stranger.setblocking(False)
        with pytest.raises(BlockingIOError):
            stranger.recv(1 << 16)


def test_a_question_is_answered_where_all_of_its_train_came(wire: Wire) -> None:
    with udp_socket(wire.ends[1]) as peer, rank_with_peer(wire, peer) as rank:
        padding = encode_question(QuestionKind.padding, 0, 0)
        for sent, nonce in ((2, 1), (3, 2)):
            for _ in range(sent):
                peer.sendto(padding, rank.address)
            peer.sendto(encode_question(QuestionKind.question, 3, nonce), rank.address)
        while (answer := decode_question(rank.datagram()))[0] != QuestionKind.answer:
            pass
        assert answer == (QuestionKind.answer, 3, 2)
