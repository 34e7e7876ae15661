"""The pcapng writer, read back by scapy and by tshark."""

from __future__ import annotations

import io
import json
from pathlib import Path

from csaud_topologies.capture.pcapng import Interface, PcapngWriter
from scapy.utils import RawPcapNgReader

from tests.wireshark.tshark import needs_tshark, run

TIME_NS = 1_790_000_000_123_456_789
FRAMES = [bytes(range(14 + n)) for n in range(5)]


def written(**how: str) -> bytes:
    out = io.BytesIO()
    writer = PcapngWriter(
        out,
        [Interface("l1-eth1", "l1:1, to s1:1", 200_000_000), Interface("s1-eth1", snaplen=20)],
        application="csaud tests",
        comment="what this is",
    )
    for number, frame in enumerate(FRAMES):
        way = "in" if number % 2 else "out"
        writer.write(number % 2, TIME_NS + number, frame, direction=way, original_length=50, **how)
    writer.statistics(0, TIME_NS, TIME_NS + 10, received=7, dropped=2)
    return out.getvalue()


def test_scapy_reads_the_frames() -> None:
    found = list(RawPcapNgReader(io.BytesIO(written())))
    assert [frame for frame, _ in found] == FRAMES
    assert [(meta.tshigh << 32 | meta.tslow) for _, meta in found] == [TIME_NS + n for n in range(5)]
    assert {meta.wirelen for _, meta in found} == {50}
    assert {meta.tsresol for _, meta in found} == {10**9}


@needs_tshark
def test_tshark_reads_direction_interface_and_comments(tmp_path: Path) -> None:
    file = tmp_path / "some.pcapng"
    file.write_bytes(written(comment="of interest"))
    names = [
        "frame.time_epoch",
        "frame.packet_flags_direction",
        "frame.interface_name",
        "frame.comment",
        "frame.len",
    ]
    wanted = [word for name in names for word in ("-e", name)]
    packets = json.loads(run(["-r", str(file), "-T", "json", *wanted]))
    rows = [{name: values[0] for name, values in each["_source"]["layers"].items()} for each in packets]
    assert [row["frame.time_epoch"] for row in rows] == [f"1790000000.{123456789 + n}" for n in range(5)]
    assert [int(row["frame.packet_flags_direction"], 0) for row in rows] == [2, 1, 2, 1, 2]
    assert [row["frame.interface_name"] for row in rows] == ["l1-eth1", "s1-eth1"] * 2 + ["l1-eth1"]
    assert {row["frame.comment"] for row in rows} == {"of interest"}
    assert {row["frame.len"] for row in rows} == {"50"}


def test_every_prefix_of_whole_blocks_is_a_file() -> None:
    data, at, ends = written(), 0, []
    while at < len(data):
        at += int.from_bytes(data[at + 4 : at + 8], "little")
        ends.append(at)
    assert at == len(data)
    assert all(end % 4 == 0 for end in ends)
    for number, end in enumerate(ends[2:8]):
        assert len(list(RawPcapNgReader(io.BytesIO(data[:end])))) == min(number, len(FRAMES))
