"""One embedded switch with the project's program, in virtual time, and frames for it."""

import ipaddress
from collections import Counter
from pathlib import Path

from csaud_softswitch._core import Fabric
from scapy.layers.l2 import ARP, Ether

from tests.support.roce import CsaHeader, Datagram

ARTIFACT = Path(__file__).resolve().parents[2] / "p4src" / "artifacts" / "csaud.json"
SOURCE, DESTINATION = "10.0.1.1", "10.0.2.1"
MACS = b"\x02\x00\x0a\x00\x02\x01" + b"\x02\x00\x0a\x00\x01\x01"
OTHER, DATA, CONTROL, LOSS = range(4)
GROUP = 7
UPLINKS = (1, 2, 3, 4)
HOST_PORT = 5


def number(value: int, octets: int) -> bytes:
    return value.to_bytes(octets, "big")


def csa_frame(payload: bytes = bytes(200), src_port: int = 0xC000, ttl: int = 64, **header: int) -> bytes:
    """An Ethernet frame with a CSA packet of one rank to another."""
    packet = Datagram(
        src=SOURCE, dst=DESTINATION, src_qpn=0x11, dst_qpn=0x22, qkey=0x1234, src_port=src_port, ttl=ttl,
        payload=CsaHeader(**header).pack() + payload,
    )  # fmt: skip
    return MACS + b"\x08\x00" + packet.pack()


def arp_request() -> bytes:
    return bytes(Ether(dst="ff:ff:ff:ff:ff:ff", src="02:00:0a:00:01:01") / ARP(psrc=SOURCE, pdst=DESTINATION))


class Leaf:
    """A leaf with four uplinks (ports 1-4) in one path group, and a host on port 5."""

    def __init__(self, rate_bps: int = 0, uplinks: tuple[int, ...] = UPLINKS) -> None:
        self.fabric = Fabric(seed=1)
        self.switch = self.fabric.add_switch("l1", 1)
        for port in (*UPLINKS, HOST_PORT):
            self.fabric.add_memory_port("l1", port, rate_bps=rate_bps)
        self.switch.load(ARTIFACT.read_text())
        self.now = 0
        for port in uplinks:
            self.switch.member_insert(
                self.name("spray.path_selector"), port, self.action("spray.forward", number(port, 2))
            )
        self.switch.group_insert(
            self.name("spray.path_selector"), GROUP, [(port, 1, port) for port in uplinks]
        )
        self.insert("spray.paths", [("exact", number(GROUP, 2))], ("group", GROUP))
        prefix = ipaddress.ip_address("10.0.2.0").packed
        self.insert("route.ipv4_lpm", [("lpm", prefix, 24)], self.action("route.set_group", number(GROUP, 2)))

    @staticmethod
    def name(short: str) -> str:
        return f"CsaudIngress.{short}"

    def action(self, name: str, *parameters: bytes) -> tuple[str, str, list[bytes]]:
        return ("action", self.name(name), list(parameters))

    def insert(self, table: str, match: list, action: tuple, priority: int = 0) -> None:
        self.switch.table_insert(self.name(table), match, priority, action)

    def spray(self, mode: str, *parameters: bytes, asked: int | None = None, priority: int = 10) -> None:
        """Choose the mode for DATA of this group, or for those packets only whose sender asks for `asked`."""
        match: list = [None, ("ternary", number(DATA, 1), b"\x03"), None, None, None]
        if asked is not None:
            match[2] = ("ternary", number(asked, 1), b"\x0f")
        self.insert("spray.policy", match, self.action(f"spray.{mode}", *parameters), priority)

    def lose(
        self, port: int, probability: float, seed: int = 5, signalled: bool = False, kind: int = DATA
    ) -> None:
        threshold = min(round(probability * 2**32), 2**32 - 1)
        self.insert(
            "fault.inject",
            [("exact", number(port, 2)), ("ternary", number(kind, 1), b"\x03")],
            self.action("fault.lose", number(threshold, 4), number(seed, 4), number(int(signalled), 1)),
            10,
        )

    def limit(self, port: int, trim_at: int, drop_at: int) -> None:
        action = self.action("congestion.set_limits", number(trim_at, 2), number(drop_at, 2))
        self.insert("congestion.limits", [("exact", number(port, 2))], action)

    def trim(self, port: int, dscp: int = 20, priority: int = 7) -> None:
        self.insert(
            "loss_signal.signal",
            [("exact", number(port, 2)), None],
            self.action("loss_signal.trim", number(dscp, 1), number(priority, 1)),
            10,
        )

    def send(self, frames: list[bytes], gap_ns: int = 0) -> list[tuple[int, bytes]]:
        """Inject at the host port, let the queues drain; what came out, in order of time: (port, frame)."""
        for frame in frames:
            self.fabric.inject("l1", HOST_PORT, frame, self.now)
            self.now += gap_ns
        while (event := self.fabric.next_event()) is not None:
            self.now = max(self.now, event)
            self.fabric.advance(self.now)
        return [(port, frame) for _, port, frame, _ in self.fabric.poll()]

    def ports(self, frames: list[bytes]) -> list[int]:
        return [port for port, _ in self.send(frames)]

    def count(self, counter: str, port: int, kind: int) -> int:
        control = "CsaudEgress" if counter.startswith("telemetry") else "CsaudIngress"
        return self.switch.counter_read(f"{control}.{counter}", port * 4 + kind)[0]


def spread(ports: list[int]) -> Counter[int]:
    return Counter(ports)
