"""The rendezvous of a job with a secret, over real TCP: who gets the table, and what the others are told."""

import contextlib
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from csaud.errors import ConfigError, RendezvousError
from csaud.membership.links import Link, Links
from csaud.membership.messages import BadMessage
from csaud.network import job_secret
from csaud.network.connections import connect
from csaud.network.frames import Message, encode
from csaud.network.job_secret import Credentials
from csaud.network.strangers import Strangers
from csaud.rendezvous.guest import Guest
from csaud.rendezvous.host import Host
from csaud.rendezvous.table import Card

HERE = "127.0.0.1"
PATIENCE = 60.0
SECRET = "correct horse battery staple"
ANOTHER = "incorrect horse battery staple"


def of(secret: str) -> Credentials | None:
    return job_secret.of_secret(secret) if secret else None


def card(rank: int) -> Card:
    return Card(rank, HERE, 0x100 + rank, 4096, "raw")


@contextlib.contextmanager
def hosting(secret: str, world: int = 2) -> Iterator[Host]:
    with contextlib.closing(Host(HERE, 0, world, credentials=of(secret))) as host:
        yield host


def join(port: int, secret: str, world: int = 2) -> Guest:
    guest = Guest(connect(HERE, port, PATIENCE), of(secret))
    try:
        guest.join(card(1), world, PATIENCE)
    finally:
        guest.close()
    return guest


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as executor:
        yield executor


class Sniffer:
    """A wire to `port` that keeps what goes over it."""

    def __init__(self, port: int) -> None:
        self._to = port
        self._listener = socket.create_server((HERE, 0))
        self.port = int(self._listener.getsockname()[1])
        self.seen = b""
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def close(self) -> None:
        self._thread.join()
        self._listener.close()

    def _run(self) -> None:
        near, _ = self._listener.accept()
        with near, socket.create_connection((HERE, self._to)) as far:
            back = threading.Thread(target=self._copy, args=(far, near))
            back.start()
            self._copy(near, far)
            back.join()

    def _copy(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                self.seen += data
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)


@pytest.mark.parametrize("secret", ["", SECRET])
def test_one_who_listens_learns_the_q_key_only_where_there_is_no_secret(
    secret: str, pool: ThreadPoolExecutor
) -> None:
    with hosting(secret) as host:
        sniffer = Sniffer(host.port)
        guest = pool.submit(join, sniffer.port, secret)
        table = host.gather(card(0), 0, PATIENCE)
        assert guest.result().table == table
    sniffer.close()
    assert (str(table.qkey).encode() in sniffer.seen) == (not secret)


@pytest.mark.parametrize(
    ("ours", "theirs", "host_says", "guest_says"),
    [
        (SECRET, ANOTHER, "it has another job secret", "it has another job secret"),
        (SECRET, "", "it has no job secret", "it has a job secret, and this rank has none"),
        ("", SECRET, "it has a job secret, and this rank has none", "it has no job secret"),
    ],
    ids=["another", "guest without", "host without"],
)
def test_both_sides_name_the_secret(
    ours: str, theirs: str, host_says: str, guest_says: str, pool: ThreadPoolExecutor
) -> None:
    with hosting(ours) as host:
        guest = pool.submit(join, host.port, theirs)
        with pytest.raises(
            RendezvousError, match=f"rank 1 of 2 did not come .*refused: .*{host_says}"
        ) as error:
            host.gather(card(0), 0, 2.0)
        assert error.value.missing == (1,)
        with pytest.raises(ConfigError, match=f"rank 0 is not of this job: {guest_says}.*CSAUD_SECRET"):
            guest.result()


@pytest.mark.parametrize("theirs", ["", ANOTHER])
def test_a_stranger_that_claims_a_rank_first_does_not_get_it(theirs: str, pool: ThreadPoolExecutor) -> None:
    with hosting(SECRET) as host:
        stranger = pool.submit(join, host.port, theirs)
        table = pool.submit(host.gather, card(0), 0, PATIENCE)
        with pytest.raises(ConfigError):
            stranger.result()
        assert join(host.port, SECRET).table == table.result()


@pytest.mark.parametrize("secret", ["", SECRET])
def test_any_number_of_silent_strangers_leave_room_for_a_rank(secret: str, pool: ThreadPoolExecutor) -> None:
    with hosting(secret) as host, contextlib.ExitStack() as silent:
        table = pool.submit(host.gather, card(0), 0, PATIENCE)
        first, *_ = [
            silent.enter_context(socket.create_connection((HERE, host.port), timeout=PATIENCE))
            for _ in range(200)
        ]
        assert first.recv(1) == b""  # the oldest are let go
        assert join(host.port, secret).table == table.result()


def test_a_member_lets_go_of_the_oldest_that_say_nothing() -> None:
    listener = socket.create_server((HERE, 0))
    links = Links(listener, lambda uid: "", lambda uid, gone: None)
    with contextlib.closing(links), contextlib.ExitStack() as silent:
        for _ in range(300):
            silent.enter_context(socket.create_connection(listener.getsockname(), timeout=PATIENCE))
            list(links.poll(PATIENCE))
        assert links.strangers == 256


@pytest.mark.parametrize(("address", "before"), [("::1", "[::1]:"), (HERE, f"{HERE}:")])
def test_who_came_is_named_by_address_and_port(address: str, before: str) -> None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.create_server((address, 0), family=family) as listener:
        strangers = Strangers[socket.socket](listener, 1, lambda one: None)
        with contextlib.closing(strangers), socket.create_connection(listener.getsockname()[:2]) as one:
            came = strangers.accept()
            assert came is not None
            came[0].close()
            assert came[1] == f"{before}{one.getsockname()[1]}"
        assert strangers.accept() is None  # nobody is there any more


# In a process of its own: in another one somebody may close a descriptor in between, and there is room again.
NO_DESCRIPTOR_LEFT = f"""
import os, resource, socket
from csaud.network.strangers import Strangers
dropped = []
listener = socket.create_server(({HERE!r}, 0))
strangers = Strangers(listener, 9, dropped.append)
first, second = socket.socket(), socket.socket()
lowest = os.dup(listener.fileno())
os.close(lowest)
resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
first.connect(listener.getsockname())
assert strangers.accept() is None and first.recv(1) == b""
strangers.keep("waits")
second.connect(listener.getsockname())
assert strangers.accept() is None and dropped == ["waits"], dropped
"""


def test_who_comes_when_there_is_no_descriptor_left_is_turned_away() -> None:
    """Where nobody can go in its place: else it would be there to be accepted for ever."""
    done = subprocess.run([sys.executable, "-c", NO_DESCRIPTOR_LEFT], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_one_connection_is_one_process() -> None:
    """Who speaks for many would be many newcomers, and take the messages for others."""
    listener = socket.create_server((HERE, 0))
    lost: list[str] = []
    links = Links(listener, lambda uid: "", lambda uid, gone: lost.append(uid))
    with contextlib.closing(links), socket.create_connection(listener.getsockname()) as one:
        one.sendall(encode({"type": "x"}))
        found = []
        while not found:
            found = list(links.poll(PATIENCE))
        [(link, _)] = found
        links.belongs_to(link, "a", True)
        links.belongs_to(link, "a", True)
        with pytest.raises(BadMessage, match="two processes"):
            links.belongs_to(link, "b", True)
        links.drop(link, "")
    assert lost == ["a"]


@pytest.mark.parametrize("member", [True, False])
def test_little_of_a_stranger_does_not_become_much(member: bool) -> None:
    """Who says which member it is may send as much as members do."""
    listener = socket.create_server((HERE, 0))
    lost: list[str] = []
    links = Links(listener, lambda uid: "", lambda uid, gone: lost.append(uid))
    links.members = 8
    long = encode({"text": "x" * (4 << 20)})
    assert len(long) < 30_000

    with contextlib.closing(links), socket.create_connection(listener.getsockname()) as one:
        one.sendall(encode({"type": "x"}))
        found: list[tuple[Link, Message]] = []
        while not found:
            found = list(links.poll(PATIENCE))
        links.belongs_to(found[0][0], "a", member)
        one.sendall(long)
        found = []
        while not found and not lost:
            found = list(links.poll(PATIENCE))
    assert lost == ([] if member else ["a"])


def test_strangers_that_say_nothing_keep_nobody_waiting(pool: ThreadPoolExecutor) -> None:
    with hosting(SECRET) as host, contextlib.ExitStack() as silent:
        for first in (b"", b"\x16", b"\x16\x03\x01\x00\xc8\x01"):
            stranger = silent.enter_context(socket.create_connection((HERE, host.port)))
            stranger.sendall(first)
        guest = pool.submit(join, host.port, SECRET)
        table = host.gather(card(0), 0, PATIENCE)
        assert guest.result().table == table
