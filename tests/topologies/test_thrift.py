"""The Thrift calls to BMv2, against bytes written by hand, a peer on a socket pair, and one that listens as
BMv2 does while it starts: the port is open before the service is registered.
"""

from __future__ import annotations

import socket
import struct
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from csaud_runs.children import end_process
from csaud_runs.errors import RunError
from csaud_softswitch.bmv2.command import command_line
from csaud_softswitch.bmv2.thrift import SimpleSwitchThrift, encode_call

I32, I64 = 8, 10


def test_call_is_thrifts_strict_binary_encoding():
    name = b"simple_switch:set_egress_priority_queue_rate"
    expected = b"\x80\x01\x00\x01" + struct.pack("!i", len(name)) + name + struct.pack("!i", 3)
    expected += b"\x08\x00\x01" + struct.pack("!i", 7)
    expected += b"\x08\x00\x02" + struct.pack("!i", 1)
    expected += b"\x0a\x00\x03" + struct.pack("!q", 5000)
    expected += b"\x00"
    assert encode_call("set_egress_priority_queue_rate", 3, [(I32, 7), (I32, 1), (I64, 5000)]) == expected


def reply(kind: int, body: bytes) -> bytes:
    name = b"set_egress_priority_queue_depth"
    return struct.pack("!Ii", 0x80010000 | kind, len(name)) + name + struct.pack("!i", 1) + body


def answered(answer: bytes):
    """A client whose server answers one call with these bytes."""
    ours, theirs = socket.socketpair()

    def serve():
        theirs.recv(4096)
        theirs.sendall(answer)
        theirs.close()

    threading.Thread(target=serve, daemon=True).start()
    return SimpleSwitchThrift(ours, "l1")


def test_success_is_quiet():
    with answered(reply(2, b"\x08\x00\x00" + struct.pack("!i", 0) + b"\x00")) as client:
        client.set_queue_depth(1, 0, 64)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (reply(2, b"\x08\x00\x00" + struct.pack("!i", 5) + b"\x00"), "answered 5"),
        (reply(3, b"\x00"), "refused set_egress_priority_queue_depth"),
        (reply(3, b"\x0b\x00\x01" + struct.pack("!i", 4) + b"why!\x00"), "refused .*: why!"),
        (reply(2, b"\x0c\x00\x01\x00\x00"), "refused"),  # an exception that the service declares
        (b"", "closed the connection"),
    ],
)
def test_failure_names_the_switch(answer, words):
    with answered(answer) as client, pytest.raises(RunError, match=f"l1: .*{words}"):
        client.set_queue_depth(1, 0, 64)


UNKNOWN = (
    b"TMultiplexedProcessor: Unknown service: simple_switch. Did you forget to call registerProcessor()?"
)


@contextmanager
def starting(refusals: int, *, silent: bool = False) -> Iterator[socket.socket]:
    """A listening socket that answers so many connections as BMv2 does before its service is registered (an
    exception, after which it closes; silent: it closes at once), and later ones with success.
    """
    listener = socket.create_server(("127.0.0.1", 0))

    def serve(connection: socket.socket, ready: bool) -> None:
        while call := connection.recv(4096):
            assert call.startswith(b"\x80\x01\x00\x01")
            if not ready:
                refusal = b"\x0b\x00\x01" + struct.pack("!i", len(UNKNOWN)) + UNKNOWN
                connection.sendall(b"" if silent else reply(3, refusal + b"\x08\x00\x02\0\0\0\x07\x00"))
                break
            wide = b"get_time_elapsed_us" in call
            value = b"\x0a\x00\x00" + bytes(7) + b"\x05" if wide else b"\x08\x00\x00" + bytes(4)
            connection.sendall(reply(2, value + b"\x00"))
        connection.close()

    def accept() -> None:
        for number in range(refusals + 1):
            try:
                connection = listener.accept()[0]
            except OSError:
                return  # closed by a test that ended early
            threading.Thread(target=serve, args=(connection, number == refusals), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    with listener:
        yield listener


def ready(listener: socket.socket, limit_s: float = 20.0) -> SimpleSwitchThrift:
    return SimpleSwitchThrift.when_ready(
        lambda: socket.create_connection(listener.getsockname()), "l1", limit_s=limit_s
    )


@pytest.mark.parametrize("silent", [False, True])
def test_a_service_that_is_not_registered_yet_is_waited_for(silent):
    with starting(3, silent=silent) as listener, ready(listener) as client:
        client.set_queue_depth(1, 0, 64)


def test_a_service_that_never_comes_is_told():
    with (
        starting(1000) as listener,
        pytest.raises(RunError, match=r"l1: .*within 2 s.*Unknown service: simple_switch"),
    ):
        ready(listener, limit_s=2.0)


def test_a_peer_that_says_nothing_is_not_waited_for_without_end():
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        pytest.raises(RunError, match=r"l1: .*within 0 s.*no answer"),
    ):
        ready(listener, limit_s=0.2)


@pytest.mark.bmv2
def test_simple_switch_grpc_is_set_up_as_soon_as_it_can_be(tmp_path):
    """Started and asked at once, several times: connecting and the first call race with its own start."""
    for attempt in range(5):
        with socket.create_server(("127.0.0.1", 0)) as free:
            address = free.getsockname()
        command = command_line(
            device_id=attempt,
            address=f"unix:{tmp_path}/{attempt}.sock",
            notifications=tmp_path / f"{attempt}.ipc",
            thrift_port=address[1],
        )
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            with SimpleSwitchThrift.when_ready(
                lambda at=address: socket.create_connection(at), "l1"
            ) as client:
                client.set_queue_depth(1, 0, 64)
        finally:
            end_process(process, 5)
