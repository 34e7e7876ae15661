"""tshark with this project's dissector, over packets of a test."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from csaud_topologies.capture.pcapng import Interface, PcapngWriter

ROOT = Path(__file__).resolve().parents[2]
DISSECTOR = ROOT / "wireshark" / "csaud.lua"
ETHERNET = bytes.fromhex("02000a00020102000a0001010800")
"""Header of the frames that packets are put into."""

needs_tshark = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not on PATH")


def run(arguments: Sequence[str], dissector: Path = DISSECTOR) -> str:
    """What tshark prints. A home of its own keeps the user's preferences and plugins out; anything that the
    dissector says on standard error fails.
    """
    with tempfile.TemporaryDirectory() as home:
        done = subprocess.run(
            ["tshark", *arguments, "-X", f"lua_script:{dissector}"],
            env={**os.environ, "HOME": home, "WIRESHARK_CONFIG_DIR": home, "XDG_CONFIG_HOME": home},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
    said = [line for line in done.stderr.splitlines() if not line.startswith("Running as user")]
    assert done.returncode == 0 and not said, f"tshark ended with {done.returncode}: {said}"
    return done.stdout


def capture(packets: Sequence[bytes], file: Path, header: bytes = ETHERNET) -> Path:
    """A capture of IPv4 packets in Ethernet frames, a microsecond apart."""
    with file.open("wb") as out:
        writer = PcapngWriter(out, [Interface("h1-eth0")], application="csaud tests")
        for number, packet in enumerate(packets):
            writer.write(0, number * 1000, header + packet)
    return file


def fields(
    packets: Sequence[bytes],
    names: Sequence[str],
    *options: str,
    dissector: Path = DISSECTOR,
    header: bytes = ETHERNET,
) -> list[dict[str, str]]:
    """For each packet the fields it has, as tshark's -T fields prints them; a field that occurs more than
    once has its values joined by a comma.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = capture(packets, Path(folder) / "packets.pcapng", header)
        wanted = [word for name in names for word in ("-e", name)]
        form = ["-r", str(file), "-T", "fields", "-E", "separator=\t", "-E", "occurrence=a"]
        lines = run([*form, *wanted, *options], dissector).split("\n")[:-1]
    assert len(lines) == len(packets), f"{len(lines)} lines for {len(packets)} packets"
    rows = [line.split("\t") for line in lines]
    return [{name: text for name, text in zip(names, row, strict=True) if text != ""} for row in rows]


def text(packets: Sequence[bytes], *options: str) -> str:
    """tshark's own output for the packets."""
    with tempfile.TemporaryDirectory() as folder:
        return run(["-r", str(capture(packets, Path(folder) / "packets.pcapng")), *options])
