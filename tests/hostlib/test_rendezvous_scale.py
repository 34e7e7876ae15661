"""What the rendezvous of many ranks needs: a table that is encoded once, room for connections, and nobody who
holds up the others."""

import json
import resource
import socket
import subprocess
import sys
import threading
import zlib
from dataclasses import dataclass, field

import numpy as np
import pytest
from csaud.network import delivery
from csaud.network.channels import Channel, open_channel
from csaud.network.delivery import deliver
from csaud.network.frames import BadFrame, FrameReader, encode
from csaud.rendezvous.table import Card, make_table, table_to_json

LONG = np.random.default_rng(1).bytes(600_000).hex()  # half as long when packed, and more than a socket holds
TABLE = table_to_json(
    make_table([Card(rank, "10.0.0.1", 0x100 + rank, 4096, "raw") for rank in range(600)], 1)
)


@dataclass(eq=False)
class Other:
    """One end of a connection; `far` is the other one."""

    sock: socket.socket
    far: socket.socket
    channel: Channel = field(default_factory=lambda: open_channel(None, listening=True))


@pytest.fixture
def others():
    pairs = [socket.socketpair() for _ in range(100)]
    for pair in pairs:
        for end in pair:
            end.settimeout(120)
    yield [Other(*pair) for pair in pairs]
    for pair in pairs:
        for end in pair:
            end.close()


def test_long_frames_survive_any_cut_among_others():
    messages = [{"n": n, "text": str(n) * (n % 3 * 5000)} for n in range(9)]
    stream = b"".join(encode(message) for message in messages)
    for step in (1, 3, 7, len(stream)):
        reader = FrameReader()
        assert [m for i in range(0, len(stream), step) for m in reader.feed(stream[i : i + step])] == messages


def test_a_table_goes_as_a_quarter_of_its_length():
    assert len(encode(TABLE)) < len(json.dumps(TABLE)) / 4


def test_little_that_unpacks_to_more_than_a_frame_may_be_is_refused():
    bomb = encode({"text": "x" * 100_000})
    assert len(bomb) < 1000
    with pytest.raises(BadFrame, match="more than the 65536 bytes allowed"):
        FrameReader(65536).feed(bomb)


@pytest.mark.parametrize("body", [b"no zlib", zlib.compress(b'{"a":1}')[:-6], b""])
def test_what_does_not_unpack_is_refused(body):
    with pytest.raises(BadFrame, match="pack"):
        FrameReader().feed((len(body) | 1 << 31).to_bytes(4, "big") + body)


def test_who_reads_nothing_holds_up_nobody(others):
    """More receivers than are served at once, half of them silent: the rest have the frame long before
    the silent ones are given up."""
    frame = encode({"text": LONG})
    silent, reading = others[:50], others[50:]
    patience = 120.0
    done = threading.Event()

    def read_all():
        for other in reading:
            left = len(frame)
            while left:
                left -= len(other.far.recv(1 << 20))
        done.set()

    threading.Thread(target=read_all, daemon=True).start()
    given_up: list[Other] = []

    def send_all():
        given_up.extend(other for other, _ in deliver(frame, others, patience, patience))

    sender = threading.Thread(target=send_all, daemon=True)
    sender.start()
    assert done.wait(patience / 2), "those who read waited for those who do not"
    for other in silent:
        other.far.close()  # they go away: nobody needs to wait for the end of the patience
    sender.join(patience)
    assert set(given_up) == set(silent)


def test_who_reads_nothing_is_given_up(others):
    frame = encode({"text": LONG})
    (other, error), *more = deliver(frame, others[:1], 0.2, 1000.0)
    assert other is others[0] and not more and isinstance(error, TimeoutError)


class Dripping(Other):
    """It takes some bytes a second, of a clock that stands still otherwise."""

    def __init__(self, far: socket.socket, sock: socket.socket, clock: "Clock", taken: int) -> None:
        super().__init__(sock, far)
        self.clock, self.taken, self.fileno = clock, taken, sock.fileno
        self.sock, self.kept = self, sock

    def setblocking(self, on: bool) -> None:
        self.kept.setblocking(on)

    def send(self, data: memoryview) -> int:
        self.clock.now += 1.0
        return min(self.taken, len(data))


@dataclass
class Clock:
    now: float = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("taken", "limit", "why"),
    [(1, 1000.0, "hardly anything, for 10 s"), (9000, 15.0, "not read everything within 15 s")],
)
def test_who_takes_a_little_now_and_then_is_given_up(others, monkeypatch, taken, limit, why):
    """And with it those who would be served after it, where the time is over."""
    clock = Clock()
    monkeypatch.setattr(delivery, "time", clock)
    dripping = Dripping(others[0].sock, others[0].far, clock, taken)
    behind = others[1:3] if limit < 1000 else []
    monkeypatch.setattr(delivery, "_AT_ONCE", 1)
    given_up = list(deliver(encode({"text": LONG}), [dripping, *behind], 10.0, limit))
    assert [other for other, _ in given_up] == [dripping, *behind]
    assert all(why in str(error) for _, error in given_up)
    assert clock.now <= 16


def test_who_takes_enough_at_a_time_gets_it_all(others, monkeypatch):
    clock = Clock()
    monkeypatch.setattr(delivery, "time", clock)
    slow = Dripping(others[0].sock, others[0].far, clock, 9000)
    assert list(deliver(encode({"text": LONG}), [slow], 10.0, 1000.0)) == []
    assert clock.now > 60


LIMITS = """
import resource
from csaud.errors import ConfigError
from csaud.rendezvous.host import Host
resource.setrlimit(resource.RLIMIT_NOFILE, (64, {hard}))
try:
    host = Host("127.0.0.1", 0, {world})
except ConfigError as error:
    print(error)
else:
    print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    host.close()
"""


def limits(world: int, hard: int) -> str:
    return subprocess.run(
        [sys.executable, "-c", LIMITS.format(world=world, hard=hard)],
        check=True,
        capture_output=True,
        text=True,
    ).stdout


def test_rank_0_makes_room_for_a_connection_of_each_rank():
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 4096:
        pytest.skip("this machine allows a process fewer files than that")
    assert 3000 < int(limits(3000, 4096)) <= 4096


def test_a_hard_limit_that_is_too_low_is_named():
    assert "rank 0 of 3000" in (said := limits(3000, 1000)) and "1000 at most" in said


def test_a_hard_limit_that_leaves_no_room_for_strangers_is_enough():
    assert int(limits(980, 1024)) == 1024


def test_who_may_have_fewer_files_than_needed_gets_as_many_as_there_are():
    code = (
        "import resource; from csaud.network.descriptors import as_much_room; "
        "resource.setrlimit(resource.RLIMIT_NOFILE, (64, 1000)); as_much_room(3000); "
        "print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert int(done.stdout) == 1000
