"""Plain UDP that is not the job's: `python -m csaud_topologies.traffic source|sink`, on a host of the fabric.

A source sends bursts at a rate until its stdin ends (or for --packets), then prints {"sent": packets}. A sink
holds the port and never reads: the kernel throws away what comes, and no host answers with ICMP.
"""

from __future__ import annotations

import argparse
import json
import select
import socket
import sys
import time

PORT = 5001
_TICK_S = 0.0005  # packets that fall due within a tick leave together


def due_packets(elapsed_s: float, rate_pps: float, burst_s: float, every_s: float) -> int:
    """Packets that should have left `elapsed_s` after the start, when bursts of `burst_s` start each
    `every_s`.
    """
    whole, within = divmod(elapsed_s, every_s)
    return int(whole * int(rate_pps * burst_s)) + int(rate_pps * min(within, burst_s))


def source(arguments: argparse.Namespace) -> int:
    """Send until stdin ends or `--packets` have left."""
    payload = bytes(arguments.size)
    sent = 0
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
        udp.connect((arguments.to, arguments.port))
        start = time.monotonic() + arguments.delay
        while not arguments.packets or sent < arguments.packets:
            elapsed = time.monotonic() - start
            due = due_packets(elapsed, arguments.pps, arguments.burst, arguments.every) if elapsed > 0 else 0
            if arguments.packets:
                due = min(due, arguments.packets)
            for _ in range(due - sent):
                udp.send(payload)
            sent = max(sent, due)
            if not arguments.packets and select.select([sys.stdin], [], [], 0)[0] and not sys.stdin.read(1):
                break
            quiet = (
                arguments.every - elapsed % arguments.every
                if elapsed % arguments.every > arguments.burst
                else 0
            )
            time.sleep(max(_TICK_S, min(quiet, 0.05)))
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


def main() -> int:
    """Parse the command line and run one side."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("side", choices=("source", "sink"))
    parser.add_argument("--port", type=int, default=PORT)
    parser.add_argument("--to", help="IPv4 address")
    parser.add_argument("--size", type=int, default=1400, help="bytes of UDP payload")
    parser.add_argument("--pps", type=float, default=1000.0, help="packets/s while a burst lasts")
    parser.add_argument("--burst", type=float, default=1.0, help="seconds")
    parser.add_argument(
        "--every", type=float, default=1.0, help="seconds from the start of a burst to the next"
    )
    parser.add_argument("--delay", type=float, default=0.0, help="seconds before the first burst")
    parser.add_argument("--packets", type=int, default=0, help="end after so many (0: when stdin ends)")
    arguments = parser.parse_args()
    return source(arguments) if arguments.side == "source" else sink(arguments)


if __name__ == "__main__":
    sys.exit(main())
