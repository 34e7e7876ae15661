"""All ranks of a job meet on loopback: rank 0 as it is, the others as connections of one process.

What the others do with the table when they have it, they do on machines of their own; here one of them reads
it, and the rest is compared byte by byte. `python -m bench.scale_rendezvous WORLD [secret]` is rank 0.
"""

from __future__ import annotations

import contextlib
import json
import selectors
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass

import numpy as np
from csaud.config.settings import Settings, agreed
from csaud.network.channels import Channel, open_channel
from csaud.network.connections import begin_connecting
from csaud.network.descriptors import make_room
from csaud.network.frames import FrameReader
from csaud.network.job_secret import Credentials, of_secret
from csaud.rendezvous.host import Host
from csaud.rendezvous.table import PROTOCOL, Card, table_from_json

HOST = "127.0.0.1"
SECRET = "a secret of this benchmark"
PATIENCE = 300.0  # s
SEED = 1


@dataclass(frozen=True)
class Meeting:
    """One of `world` ranks.

    Attributes:
        seconds: from the first connection until the last rank had the table.
        host_s: processor time of rank 0.
        table_bytes: that each got.
    """

    world: int
    seconds: float
    host_s: float
    table_bytes: int


@dataclass(slots=True, eq=False)
class _Guest:
    sock: socket.socket
    channel: Channel
    hello: bytes
    got: bytearray


def meet(world: int, secret: bool = False) -> Meeting:
    """Let them meet once."""
    make_room(world, 0, "the benchmark")
    argv = [sys.executable, "-m", "bench.scale_rendezvous", str(world), *(["secret"] if secret else [])]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as host:
        assert host.stdout is not None
        port = int(host.stdout.readline())
        began = time.monotonic()
        table = _guests(world, port, of_secret(SECRET) if secret else None)
        took = time.monotonic() - began
        spent = float(host.stdout.readline())
    return Meeting(world, took, spent, table)


def cards(world: int) -> Iterator[Card]:
    """As many machines tell of themselves, eight ranks on each."""
    random = np.random.default_rng(SEED)
    for rank in range(world):
        at = f"10.{rank >> 19 & 255}.{rank >> 11 & 255}.{rank >> 3 & 255}"
        qpn, port = int(random.integers(2, 1 << 24)), int(random.integers(32768, 60999))
        yield Card(rank, at, qpn, 4096, "raw", random.bytes(8).hex(), f"{at}:{port}")


def _host(world: int, secret: bool) -> None:
    with contextlib.closing(
        Host(HOST, 0, world, agreed(Settings()), of_secret(SECRET) if secret else None)
    ) as host:
        print(host.port, flush=True)
        began = time.process_time()
        host.gather(next(cards(1)), 0, PATIENCE)
        print(time.process_time() - began, flush=True)


def _guests(world: int, port: int, credentials: Credentials | None) -> int:
    """Bytes of the table, once all have it."""
    guests: list[_Guest] = []
    tables: set[bytes] = set()
    with selectors.DefaultSelector() as selector:
        for card in list(cards(world))[1:]:
            hello = {
                "type": "join", "protocol": PROTOCOL, "world": world, "card": asdict(card),
                "agreed": agreed(Settings()),
            }  # fmt: skip
            sock = begin_connecting(HOST, port)
            channel = open_channel(credentials, listening=False)
            channel.send(hello)
            guests.append(_Guest(sock, channel, channel.outgoing(), bytearray()))
            selector.register(sock, selectors.EVENT_WRITE, guests[-1])
        waiting = len(guests)
        while waiting:
            ready = selector.select(PATIENCE)
            if not ready:
                raise RuntimeError(f"{waiting} of {world} ranks wait for the table still")
            for key, events in ready:
                guest: _Guest = key.data
                if events & selectors.EVENT_WRITE:
                    guest.sock.sendall(guest.hello)
                    selector.modify(guest.sock, selectors.EVENT_READ, guest)
                elif (table := _read(guest, credentials is not None)) is not None:
                    tables.add(table)
                    selector.unregister(guest.sock)
                    guest.sock.close()
                    waiting -= 1
    (table,) = tables
    (message,) = FrameReader().feed(table) if credentials is None else [json.loads(table)]
    assert len(table_from_json(message).cards) == world
    return len(table)


def _read(guest: _Guest, secured: bool) -> bytes | None:
    """The whole table, when it is there."""
    data = guest.sock.recv(1 << 20)
    if not data:
        raise RuntimeError("rank 0 ended a connection")
    if secured:
        messages = guest.channel.feed(data)
        if out := guest.channel.outgoing():
            guest.sock.sendall(out)
        return json.dumps(messages[0]).encode() if messages else None
    guest.got += data
    whole = 4 + (int.from_bytes(guest.got[:4], "big") & 0x7FFFFFFF)
    return bytes(guest.got) if len(guest.got) >= whole else None


if __name__ == "__main__":
    _host(int(sys.argv[1]), "secret" in sys.argv)
