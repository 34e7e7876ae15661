"""Traffic that is not the job's: `python -m csaud_topologies.workloads.traffic SIDE` on a host.

Plain UDP: a `source` sends bursts until its stdin ends, or one burst with --once, then prints {"sent":
packets}. A `sink` holds the port and never reads: the kernel throws away what comes, and no host answers with
ICMP. TCP: a `bulk-source` has one connection, into which it puts all that goes, until its stdin ends; a
`bulk-sink` reads of all connections, then prints {"received": bytes, "seconds": since the first came}.
"""

from __future__ import annotations

import argparse
import json
import select
import socket
import struct
import sys
import time
from contextlib import suppress

PORT = 5001
BULK_PORT = 5002
_TICK_S = 0.0005  # packets that fall due within a tick leave together
_REST_S = 0.05  # between bursts: how often stdin is looked at
_CONNECT_S = 10.0
_COPIED = bytes(256 << 10)
_FORGET = struct.pack("ii", 1, 0)
"""What is not sent by the end is not sent: the network is to be quiet."""

_HEADERS = 14 + 20 + 8  # Ethernet, IPv4, UDP


def pace(load: float, rate_bps: int, packet: int, burst: int, duty: float) -> tuple[float, float]:
    """Packets a second within a burst at this load of a link, and seconds from a burst's begin to the next's.

    Args:
        packet: bytes of UDP payload.
        duty: share of the time that bursts take.
    """
    pps = load * rate_bps / ((packet + _HEADERS) * 8)
    return pps, burst / pps / duty


def due_packets(elapsed_s: float, rate_pps: float, burst: int, every_s: float) -> int:
    """Packets that should have left `elapsed_s` after the start, when a burst of packets starts each
    `every_s`.
    """
    bursts, within_s = divmod(elapsed_s, every_s)
    return int(bursts) * burst + min(burst, int(rate_pps * within_s) + 1)


def _stdin_has_ended() -> bool:
    return bool(select.select([sys.stdin], [], [], 0)[0]) and not sys.stdin.read(1)


def source(arguments: argparse.Namespace) -> int:
    """Send until stdin ends, or one burst."""
    payload = bytes(arguments.size)
    sent = 0
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
        udp.connect((arguments.to, arguments.port))
        start = time.monotonic()
        while sent < arguments.burst if arguments.once else not _stdin_has_ended():
            elapsed = time.monotonic() - start
            every = elapsed + 1 if arguments.once else arguments.every
            due = due_packets(elapsed, arguments.pps, arguments.burst, every)
            for _ in range(due - sent):
                udp.send(payload)
            sent = due
            rests = due % arguments.burst == 0
            time.sleep(max(_TICK_S, min(_REST_S, every - elapsed % every)) if rests else _TICK_S)
    print(json.dumps({"sent": sent}), flush=True)
    return 0


def sink(arguments: argparse.Namespace) -> int:
    """Hold the port until stdin ends."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        udp.bind(("0.0.0.0", arguments.port))
        print(json.dumps({"ready": arguments.port}), flush=True)
        sys.stdin.read()
    return 0


def bulk_source(arguments: argparse.Namespace) -> int:
    """Send until stdin ends."""
    with socket.create_connection((arguments.to, arguments.port), timeout=_CONNECT_S) as tcp:
        tcp.setblocking(False)
        while not _stdin_has_ended():
            if select.select([], [tcp], [], _REST_S)[1]:
                with suppress(BlockingIOError):
                    tcp.send(_COPIED)
        tcp.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _FORGET)
    return 0


def bulk_sink(arguments: argparse.Namespace) -> int:
    """Read until stdin ends."""
    received, first = 0, 0.0
    with socket.create_server(("0.0.0.0", arguments.port)) as server:
        print(json.dumps({"ready": arguments.port}), flush=True)
        read: list[socket.socket] = []
        while not _stdin_has_ended():
            for ready in select.select([server, *read], [], [], _REST_S)[0]:
                if ready is server:
                    read.append(server.accept()[0])
                    first = first or time.monotonic()
                    continue
                with suppress(ConnectionError):
                    if some := ready.recv(len(_COPIED)):
                        received += len(some)
                        continue
                read.remove(ready)
                ready.close()
        seconds = time.monotonic() - first if first else 0.0
        for each in read:
            each.close()
    print(json.dumps({"received": received, "seconds": seconds}), flush=True)
    return 0


_SIDES = {"source": source, "sink": sink, "bulk-source": bulk_source, "bulk-sink": bulk_sink}


def main() -> int:
    """Parse the command line and run one side."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("side", choices=_SIDES)
    parser.add_argument("--port", type=int, default=PORT)
    parser.add_argument("--to", help="IPv4 address")
    parser.add_argument("--size", type=int, default=1400, help="bytes of UDP payload")
    parser.add_argument("--pps", type=float, default=1000.0, help="packets/s while a burst lasts")
    parser.add_argument("--burst", type=int, default=1000, help="packets of a burst")
    parser.add_argument("--every", type=float, default=1.0, help="seconds from a burst's start to the next's")
    parser.add_argument("--once", action="store_true", help="one burst")
    arguments = parser.parse_args()
    return _SIDES[arguments.side](arguments)


if __name__ == "__main__":
    sys.exit(main())
