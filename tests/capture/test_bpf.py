"""Filters: what they let pass is what tcpdump lets pass."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest
from csaud_runs.errors import RunError
from csaud_topologies.capture.bpf import compile_filter
from csaud_topologies.capture.pcapng import Interface, PcapngWriter
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.l2 import ARP, Dot1Q, Ether

pytestmark = pytest.mark.skipif(shutil.which("tcpdump") is None, reason="tcpdump is not on PATH")

FILTERS = [
    "udp port 4791",
    "ip and not tcp",
    "host 10.0.1.1 and udp[8] = 0x64",
    "greater 200 and less 900",
    "ip[8] - 1 > 30 and ip[1] & 3 != 0",
    "tcp[tcpflags] & (tcp-syn|tcp-ack) = tcp-syn",
    "ether[0] & 1 = 1 or vlan",
    "icmp or arp",
    "ip[2:2] * 2 / 3 > 20 and (ip[4:2] >> 2) % 3 = 1",
    "portrange 4000-5000 and src net 10.0.0.0/8",
]
SEED = 11


def frames() -> list[bytes]:
    chance = random.Random(SEED)
    made = []
    for _ in range(300):
        ip = IP(
            src=f"10.0.1.{chance.randint(1, 3)}",
            dst=f"10.{chance.randint(0, 1)}.2.1",
            ttl=chance.choice([1, 30, 64]),
            tos=chance.randrange(4),
            id=chance.getrandbits(16),
        )
        inner = chance.choice([
            ip / UDP(sport=49152, dport=chance.choice([4791, 49791])) / bytes([chance.choice([0x64, 4])]),
            ip / TCP(dport=chance.choice([80, 4500]), flags=chance.choice(["S", "SA", "A"])),
            ip / ICMP(),
            ARP(pdst="10.0.1.1"),
        ])  # fmt: skip
        first = Ether(dst=chance.choice(["ff:ff:ff:ff:ff:ff", "02:00:00:00:00:01"]), src="02:00:00:00:00:02")
        tag = first / Dot1Q(vlan=5) if chance.random() < 0.2 else first
        made.append(bytes(tag / inner) + chance.randbytes(chance.randrange(1000)))
    return made


@pytest.mark.parametrize("expression", FILTERS)
def test_the_same_frames_pass_as_with_tcpdump(expression: str, tmp_path: Path) -> None:
    print("seed", SEED)
    given = frames()
    file = tmp_path / "given.pcapng"
    with file.open("wb") as out:
        writer = PcapngWriter(out, [Interface("x")])
        for number, frame in enumerate(given):
            writer.write(0, number * 1_000_000_000, frame)
    done = subprocess.run(
        ["tcpdump", "-ttnr", str(file), expression], capture_output=True, text=True, check=True
    )
    theirs = {int(float(line.split()[0])) for line in done.stdout.splitlines() if line[:1].isdigit()}
    program = compile_filter(expression)
    assert {number for number, frame in enumerate(given) if program.matches(frame)} == theirs
    assert 0 < len(theirs) < len(given)


def test_what_is_no_filter_is_said_in_one_line() -> None:
    with pytest.raises(RunError, match=r"--filter 'udp prt 4791': .*syntax error"):
        compile_filter("udp prt 4791")
