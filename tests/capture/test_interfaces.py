"""Ports that are interfaces, and whole runs: what passes l1's port to h1 is in the file, on either target."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from csaud_runs.errors import RunError
from csaud_topologies.capture.interface import InterfaceSource

from tests.capture.fabrics import capturing
from tests.hostlib.wire import Wire
from tests.support.netns import NetworkNamespace
from tests.topologies.runs import net_run, small_scenario
from tests.wireshark.tshark import needs_tshark, run

pytestmark = pytest.mark.root

PATIENCE_S = 120.0
ENTER = [sys.executable, "-m", "csaud_topologies.cli", "exec"]


def namespace_of(end: NetworkNamespace) -> Path:
    return Path(f"/proc/self/fd/{end._descriptor}")


def test_both_directions_of_an_interface(tmp_path: Path) -> None:
    with Wire(1500) as wire:
        source = InterfaceSource(namespace_of(wire.ends[0]), "eth0")
        with wire.host_of(0):
            subprocess.run(
                ["ping", "-c", "2", "-i", "0.2", wire.addresses[1]], check=True, capture_output=True
            )
        icmp = b"\x08\x00\x45"
        frames = [f for f in source.read() or [] if f.data[12:15] == icmp and f.data[23] == 1]
        source.finish()
        source.close()
        now = time.time_ns()
    assert Counter(frame.direction for frame in frames) == {"out": 2, "in": 2}
    assert all(frame.length == len(frame.data) == 98 for frame in frames)
    assert all(0 < now - frame.time_ns < 30_000_000_000 for frame in frames)
    assert source.seen >= 4
    assert source.dropped == 0


TAG = b"\x81\x00\x60\x64"
"""Of VLAN 100, priority 3."""


def send_raw(wire: Wire, frames: list[bytes]) -> None:
    """From the second host."""
    with wire.host_of(1), socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as sender:
        sender.bind(("eth0", 0))
        for frame in frames:
            sender.send(frame)


def test_a_vlan_tag_that_the_kernel_keeps_apart_is_in_the_frame(tmp_path: Path) -> None:
    plain = b"\2\0\0\0\0\2\2\0\0\0\0\1\x88\xb5" + bytes(60)
    tagged = plain[:12] + TAG + plain[12:]
    with Wire(1500) as wire:
        source = InterfaceSource(namespace_of(wire.ends[0]), "eth0", snaplen=20)
        send_raw(wire, [plain, tagged])
        frames = [f for f in source.finish() if f.data[:12] == plain[:12]]
        source.close()
    assert [(f.data, f.length) for f in frames] == [(plain[:20], 74), (tagged[:20], 78)]


def test_the_end_of_a_capture_is_all_that_waits(tmp_path: Path) -> None:
    frame = b"\2\0\0\0\0\2\2\0\0\0\0\1\x88\xb5" + bytes(60)
    with Wire(1500) as wire:
        source = InterfaceSource(namespace_of(wire.ends[0]), "eth0")
        send_raw(wire, [frame] * 2000)
        frames = [f for f in source.finish() if f.data == frame]
        send_raw(wire, [frame])
        later = source.read()
        source.close()
    assert len(frames) + source.dropped == 2000
    assert not later, "it has ended"


def test_no_such_interface_and_no_permission() -> None:
    with NetworkNamespace() as empty:
        with pytest.raises(RunError, match=r"^eth7: No such device"):
            InterfaceSource(namespace_of(empty), "eth7")
        code = (
            "import os\n"
            "from pathlib import Path\n"
            "from csaud_topologies.capture.interface import InterfaceSource\n"
            "os.setgid(65534); os.setuid(65534)\n"
            "InterfaceSource(Path('/proc/self/ns/net'), 'lo')"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert done.stderr.strip().endswith("lo: no permission to capture; it needs root (try sudo)"), (
            done.stderr
        )


@needs_tshark
@pytest.mark.parametrize(
    "target",
    [pytest.param("soft"), pytest.param("bmv2", marks=pytest.mark.bmv2)],
)
def test_a_port_of_a_run_from_outside(target: str, tmp_path: Path) -> None:
    file = tmp_path / "l1-eth3.pcapng"
    out = tmp_path / "out"
    options = ("--target", target, "--scenario", str(small_scenario(tmp_path)), "--cli")
    with net_run(out, *options, stdin=subprocess.PIPE) as fabric:
        fabric.read_until("takes the fabric down")
        assert fabric.process.stdin is not None
        with capturing("l1:3", "--run", fabric.path, "--out", file) as capture:
            inside = [*ENTER, "--run", str(fabric.path), "--host", "h1", "--"]
            ping = ["ping", "-c", "4", "-i", "0.2", "10.0.2.1"]
            said = subprocess.run(
                [*inside, *ping], check=False, capture_output=True, text=True, timeout=PATIENCE_S
            )
            assert "4 received" in said.stdout, said
            capture.terminate()
            assert capture.wait(PATIENCE_S) == 0
    names = ["icmp.type", "frame.packet_flags_direction", "frame.interface_name"]
    wanted = [word for name in names for word in ("-e", name)]
    lines = run(["-r", str(file), "-Y", "icmp", "-T", "fields", *wanted]).splitlines()
    rows = Counter((int(kind), int(way, 0), name) for kind, way, name in (line.split("\t") for line in lines))
    assert rows == {(8, 1, "l1-eth3"): 4, (0, 2, "l1-eth3"): 4}
