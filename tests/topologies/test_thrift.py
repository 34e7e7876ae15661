"""The Thrift calls to BMv2, against bytes written by hand and against a server on a socket pair."""

from __future__ import annotations

import socket
import struct
import threading

import pytest
from csaud_topologies.errors import RunError
from csaud_topologies.targets.thrift import SimpleSwitchThrift, encode_call

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
        (b"", "closed the connection"),
    ],
)
def test_failure_names_the_switch(answer, words):
    with answered(answer) as client, pytest.raises(RunError, match=f"l1: .*{words}"):
        client.set_queue_depth(1, 0, 64)
