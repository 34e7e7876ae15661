"""The kernel's Soft-RoCE in a guest, as tests use it: queue pairs that are opened, sent from and read here.

What runs in the guest is tests/verbs/guest/agent.py.
"""

import base64
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from csaud_lab.guests import debs, initramfs
from csaud_lab.guests.errors import GuestError
from csaud_lab.guests.guest import QEMU, Guest, Settings

from .guest_wires import Station, TapNetwork

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / "build" / "qemu"
AGENT = ROOT / "tests" / "verbs" / "guest" / "agent.py"

HOST = Station("rxe-host", "02:00:0a:00:01:01", "10.0.1.1", "fd00:a00:1::1")
GUEST = Station("eth0", "02:00:0a:00:01:02", "10.0.1.2", "fd00:a00:1::2")
PREFIX = 24
MTU = 4200  # of the link; gives the device a path MTU of 4096
GRH_BYTES = 40
ETH_P_ALL = 3  # linux/if_ether.h

# Programs on this machine that the guest's preparation, or the guest itself through its shared root, calls.
PROGRAMS = (QEMU, "apt-get", "apt-cache", "dpkg-deb", "tar", "ip", "rdma", "/usr/bin/python3.11")


@dataclass(frozen=True)
class Completion:
    """One completed receive."""

    status: str  # "success", or the device's word for what went wrong
    byte_len: int  # with the GRH
    src_qp: int
    has_grh: bool
    data: bytes  # the GRH's 40 bytes, then the datagram's

    @property
    def grh(self) -> bytes:
        return self.data[:GRH_BYTES]

    @property
    def payload(self) -> bytes:
        return self.data[GRH_BYTES:]


class RxeQueuePair:
    """A UD queue pair in the guest, always with receives posted."""

    def __init__(self, guest: Guest, qkey: int, depth: int, size: int) -> None:
        self._guest = guest
        self.qkey = qkey
        self.number = int(guest.call("open_qp", qkey=qkey, depth=depth, size=size))

    def receive(self, count: int = 1, timeout_s: float = 60.0) -> list[Completion]:
        """Up to `count` completions; fewer when no more come within `timeout_s`."""
        done: list[dict[str, Any]] = self._guest.call(
            "poll", wait_s=timeout_s + 30, qpn=self.number, count=count, timeout_s=timeout_s
        )
        return [
            Completion(
                one["status"], one["byte_len"], one["src_qp"], one["grh"], base64.b64decode(one["data"])
            )
            for one in done
        ]

    def send(self, address: str, remote_qpn: int, qkey: int, data: bytes) -> str:
        """Send one datagram; returns the status of its completion."""
        encoded = base64.b64encode(data).decode()
        return str(
            self._guest.call(
                "post_send", qpn=self.number, address=address, remote_qpn=remote_qpn, qkey=qkey, data=encoded
            )
        )

    def close(self) -> None:
        self._guest.call("close_qp", qpn=self.number)


class RxeGuest:
    """A guest with the RDMA device `rxe0` on the wire to this machine."""

    def __init__(self, guest: Guest, network: TapNetwork) -> None:
        self.guest = guest
        self.network = network
        self.device = connect(guest, GUEST, HOST)

    @contextmanager
    def queue_pair(self, qkey: int, depth: int = 64, size: int = 4096) -> Iterator[RxeQueuePair]:
        pair = RxeQueuePair(self.guest, qkey, depth, size)
        try:
            yield pair
        finally:
            pair.close()

    def send_packet(self, packet: bytes) -> None:
        """Send a ready IPv4 packet from the guest, past its RDMA device."""
        self.guest.call("send_packet", data=base64.b64encode(packet).decode())

    def counters(self) -> dict[str, int]:
        """The device's hardware counters."""
        counters: dict[str, int] = self.guest.call("counters")
        return counters

    def frames_socket(self) -> socket.socket:
        """A socket for whole Ethernet frames on this machine's end of the wire."""
        with self.network.entered():
            wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        wire.bind((self.network.host.interface, ETH_P_ALL))
        return wire

    def raw_socket(self, protocol: int) -> socket.socket:
        """A raw IPv4 socket on this machine's end of the wire."""
        with self.network.entered():
            return socket.socket(socket.AF_INET, socket.SOCK_RAW, protocol)


def connect(guest: Guest, own: Station, peer: Station) -> dict[str, Any]:
    """Give a guest the addresses of `own` and an RDMA device, which is described."""
    described: dict[str, Any] = guest.call(
        "network", networks=own.networks(PREFIX), mtu=MTU, peer=peer.addresses, peer_mac=peer.mac
    )
    return described


def shell(guest: Guest, command: str, timeout_s: float = 60.0) -> str:
    """What a command in the guest's shell writes to stdout; GuestError where it fails."""
    done = guest.call("run", wait_s=timeout_s + 30, command=["sh", "-ec", command], timeout_s=timeout_s)
    if done["status"] != 0:
        raise GuestError(f"{command}: {done['stdout']}{done['stderr']}")
    return str(done["stdout"])


def missing() -> str | None:
    """Why no guest can be started here, or None."""
    absent = [program for program in PROGRAMS if shutil.which(program) is None]
    return f"not on this machine: {', '.join(absent)}" if absent else None


@contextmanager
def booted(results: Path) -> Iterator[RxeGuest]:
    """A guest for the length of the block; its console's log and its files go to `results`."""
    packages = debs.fetch(CACHE)
    boot = initramfs.build(packages)
    network = TapNetwork(HOST, GUEST, prefix=PREFIX, mtu=MTU)
    try:
        with Guest(packages, boot, [network.nic], Settings(AGENT, results)) as guest:
            yield RxeGuest(guest, network)
    finally:
        network.close()


def main(commands: list[str]) -> int:
    """Boot a guest, run each command in its shell, show what it writes; returns the last failure's status."""
    status = 0
    with tempfile.TemporaryDirectory() as results, booted(Path(results)) as rxe:
        for command in commands:
            done = rxe.guest.call("run", wait_s=600, command=["sh", "-c", command], timeout_s=500)
            print(done["stdout"], end="")
            print(done["stderr"], end="", file=sys.stderr)
            status = done["status"] or status
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
