"""A process that wants to join, beside what stands at the doors that it was told of."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator

import pytest
from csaud.config import reading
from csaud.errors import ConfigError, RendezvousError
from csaud.membership import newcomer
from csaud.membership.messages import Body, Current, Envelope, Meet, Refused, Waiting, to_json
from csaud.membership.newcomer import Newcomer, read_doors
from csaud.network import job_secret
from csaud.network.channels import NotAuthenticated, open_channel
from csaud.network.frames import encode
from csaud.rendezvous.table import Card, Table, next_table

from tests.hostlib.one_member import FIRST

HOST = "127.0.0.1"
PATIENCE = 60.0
CARD = Card(0, HOST, 7, 4096, "udp", "new", f"{HOST}:1")
JOINED = next_table(FIRST, [0, 1, 2], [CARD])
Does = Callable[[socket.socket], object]


def says(*bodies: Body) -> Does:
    said = b"".join(encode(to_json(Envelope("a job", 0, "p0", body))) for body in bodies)
    return lambda connection: connection.sendall(said)


@contextlib.contextmanager
def door(*visits: Does) -> Iterator[tuple[str, int]]:
    """Where one connection after the other is accepted, hears this and, but for the last one, is closed."""
    with socket.create_server((HOST, 0)) as listener, contextlib.ExitStack() as held:

        def serve() -> None:
            for visit in visits:
                connection = held.enter_context(listener.accept()[0])
                connection.recv(1 << 16)
                visit(connection)
                if visit is not visits[-1]:
                    connection.close()

        thread = threading.Thread(target=serve)
        thread.start()
        yield HOST, listener.getsockname()[1]
        thread.join()


@contextlib.contextmanager
def shut() -> Iterator[tuple[str, int]]:
    """Where nobody listens, nor anybody else will."""
    with socket.socket() as bound:
        bound.bind((HOST, 0))
        yield HOST, bound.getsockname()[1]


def joins(*doors: tuple[str, int], timeout: float = PATIENCE, secret: str = "") -> Table:
    credentials = job_secret.credentials(reading.load({"secret": secret}, {})) if secret else None
    with contextlib.closing(Newcomer(doors, timeout, credentials)) as one:
        return one.wait(CARD, {}, lambda card: "")


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(newcomer, "_PAUSE", 0.0)


def nothing(connection: socket.socket) -> None:
    pass


@pytest.mark.parametrize(
    "first",
    [nothing, says(Meet()), says(Waiting()), lambda connection: connection.sendall(b"GET / HTTP/1.1\r\n")],
    ids=["closes", "nonsense", "closes later", "no member"],
)
def test_another_one_is_tried_when_a_member_is_lost(first: Does) -> None:
    with door(first, says(Waiting(), Current(FIRST), Current(JOINED))) as at:
        assert joins(at) == JOINED


def test_doors_are_tried_in_turn_within_the_time_that_there_is() -> None:
    """The first ones do not take all of it."""
    with shut() as one, shut() as other, door(says(Current(JOINED))) as last:
        assert joins(*[one, other] * 4, last, timeout=1.0) == JOINED


def test_doors_are_tried_however_little_time_there_is() -> None:
    missed = pytest.raises(RendezvousError, match=r"no epoch began within 0\.02 s")
    with shut() as one, shut() as other, door(nothing) as last, missed:
        joins(one, other, last, timeout=0.02)


def test_all_doors_are_named_where_nobody_is_at_any() -> None:
    with shut() as one, shut() as other, pytest.raises(RendezvousError) as missed:
        joins(one, other, timeout=0.1)
    assert str(missed.value) == f"no member of a job was at {HOST}:{one[1]}, {HOST}:{other[1]} within 0.1 s"


def test_an_epoch_that_does_not_begin_in_time_is_an_error() -> None:
    with door(says(Waiting(), Current(FIRST))) as at, pytest.raises(RendezvousError) as missed:
        joins(at, timeout=0.2)
    assert str(missed.value) == "no epoch began within 0.2 s that this process could join"


def test_who_is_refused_is_told_why_and_tries_no_other_member() -> None:
    with door(says(Refused("at rank 2: no route"))) as at, pytest.raises(ConfigError) as refused:
        joins(at)
    assert str(refused.value) == "at rank 2: no route"


def test_a_member_of_a_job_without_the_secret_is_told() -> None:
    def has_none(connection: socket.socket) -> None:
        channel = open_channel(None, listening=True)
        with pytest.raises(NotAuthenticated):
            channel.feed(b"\x16")  # as TLS begins
        connection.sendall(channel.outgoing())

    with (
        door(has_none) as at,
        pytest.raises(ConfigError, match="the member is not of this job: it has no job"),
    ):
        joins(at, secret="a secret of this test's job")


@pytest.mark.parametrize("text", ["h", "h:", ":1", "h:0", "h:65536", "h:x", "h:1,", "h:1,h:+2", "h:\u0661"])
def test_what_is_no_door_is_named(text: str) -> None:
    with pytest.raises(
        ConfigError, match=r"join: '.*': expected address:port of a member \(its comm\.door\)"
    ):
        read_doors(text, str)


def test_doors_are_read() -> None:
    assert read_doors("a:1, [fd00::1]:65535", str.upper) == [("A", 1), ("FD00::1", 65535)]
