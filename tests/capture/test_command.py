"""`csaud capture` on the embedded switch: links in memory, limits, Ctrl-C, and all that can go wrong."""

from __future__ import annotations

import resource
import signal
import subprocess
from pathlib import Path

import pytest
from csaud_topologies.capture.tap import TapSource
from scapy.utils import RawPcapNgReader

from tests.capture.fabrics import COMMAND, PATIENCE_S, capturing, fabric_json, fails, served
from tests.wireshark.tshark import needs_tshark, run


def frames(file: Path) -> list[bytes]:
    return [frame for frame, _ in RawPcapNgReader(str(file))]


def test_both_ends_of_a_link_in_memory_show_the_same_frames(tmp_path: Path) -> None:
    with served(tmp_path) as fabric:
        files = [tmp_path / "a.pcapng", tmp_path / "b.pcapng"]
        with (
            capturing("s1:2", "--run", tmp_path, "--out", files[0], "--count", 10) as one,
            capturing("s2:1", "--run", tmp_path, "--out", files[1], "--count", 10) as other,
        ):
            sent = fabric.send(12)
            for process in (one, other):
                assert process.wait(PATIENCE_S) == 0
                assert process.stderr is not None
                assert process.stderr.read().startswith("10 frames to ")
        assert frames(files[0]) == frames(files[1]) == sent[:10]


@needs_tshark
def test_direction_interface_and_statistics(tmp_path: Path) -> None:
    file = tmp_path / "edge.pcapng"
    with served(tmp_path) as fabric, capturing("s1:2", "--run", tmp_path, "--out", file) as process:
        fabric.send(3)
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_S) == 0
    names = ["frame.packet_flags_direction", "frame.interface_name", "frame.interface_description"]
    wanted = [word for name in names for word in ("-e", name)]
    rows = [line.split("\t") for line in run(["-r", str(file), "-T", "fields", *wanted]).splitlines()]
    assert [int(row[0], 0) for row in rows] == [2, 2, 2]
    assert {(row[1], row[2]) for row in rows} == {("s1-eth2", "s1:2 of two, to s2:1")}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_with_everything_in_the_file(tmp_path: Path, number: int) -> None:
    file = tmp_path / "x.pcapng"
    with served(tmp_path) as fabric, capturing("s2:1", "--run", tmp_path, "--out", file) as process:
        sent = fabric.send(500)
        process.send_signal(number)
        assert process.wait(PATIENCE_S) == 0
        assert process.stderr is not None
        assert process.stderr.read() == f"500 frames to {file}\n"
    assert frames(file) == sent


def test_limits_of_time_and_of_bytes(tmp_path: Path) -> None:
    file = tmp_path / "x.pcapng"
    arguments = ("--run", tmp_path, "--out", file, "--seconds", 3.0, "--snaplen", 20)
    with served(tmp_path) as fabric, capturing("s2:1", *arguments) as process:
        sent = fabric.send(4)
        assert process.wait(PATIENCE_S) == 0
    assert frames(file) == [frame[:20] for frame in sent]


def test_a_filter(tmp_path: Path) -> None:
    file = tmp_path / "x.pcapng"
    arguments = ("--run", tmp_path, "--out", file, "--filter", "greater 200", "--count", 3)
    with served(tmp_path) as fabric, capturing("s2:1", *arguments) as process:
        fabric.send(5, length=100)
        long = fabric.send(3, length=300)
        assert process.wait(PATIENCE_S) == 0
    assert frames(file) == long


def test_to_standard_output_until_the_reader_leaves(tmp_path: Path) -> None:
    arguments = ("s2:1", "--run", tmp_path, "--out", "-")
    with (
        served(tmp_path) as fabric,
        capturing(*arguments, stdout=subprocess.PIPE, text=False, encoding="latin-1") as process,
    ):
        sent = fabric.send(5)
        assert process.stdout is not None
        found = RawPcapNgReader(process.stdout.buffer)  # type: ignore[attr-defined]
        assert [found._read_packet()[0] for _ in range(5)] == sent
        process.stdout.close()
        fabric.send(1)
        assert process.wait(PATIENCE_S) == 0


def test_a_full_disk_leaves_a_readable_file(tmp_path: Path) -> None:
    file = tmp_path / "x.pcapng"

    def small_disk() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))

    arguments = ("--run", tmp_path, "--out", file)
    with served(tmp_path) as fabric, capturing("s2:1", *arguments, preexec_fn=small_disk) as process:
        sent = fabric.send(100, length=1000)
        assert process.wait(PATIENCE_S) == 1
        assert process.stderr is not None
        assert (
            process.stderr.read() == f"csaud capture: {file}: File too large; the file is whole up to there\n"
        )
    kept = frames(file)
    assert 40 < len(kept) < 50
    assert kept == sent[: len(kept)]
    assert (
        fails_on_full_device(tmp_path)
        == "csaud capture: /dev/full: the disk is full; the file is whole up to there"
    )


def fails_on_full_device(folder: Path) -> str:
    with served(folder):
        return fails(folder, "s2:1", "--out", "/dev/full")


def test_the_switch_ends(tmp_path: Path) -> None:
    file = tmp_path / "x.pcapng"
    with served(tmp_path) as fabric, capturing("s2:1", "--run", tmp_path, "--out", file) as process:
        sent = fabric.send(4)
        fabric.end()
        assert process.wait(PATIENCE_S) == 1
        assert process.stderr is not None
        assert process.stderr.read() == f"csaud capture: s2:1: the switch has ended; 4 frames are in {file}\n"
    assert frames(file) == sent


def test_a_capture_that_is_too_slow_misses_frames_and_counts_them(tmp_path: Path) -> None:
    # Its tap keeps 64 MiB, and as much can be on its way to the socket (4 MiB).
    size, count = 9000, 16_000
    with served(tmp_path) as fabric:
        source = TapSource(tmp_path / "capture.sock", "s2", 1)
        fabric.send(count, length=size, keep=False)
        found = source.finish()
        source.close()
    assert source.seen == count
    assert len(found) + source.dropped == count
    assert source.dropped > 0
    assert all(len(frame.data) == size and frame.direction == "in" for frame in found)


def test_mistaken_use_is_said_in_one_line(tmp_path: Path) -> None:
    with served(tmp_path):
        missing = tmp_path / "missing" / "x"
        for words, said in (
            (("s1",), "s1: expected SWITCH:PORT, such as l1:3"),
            (("h1:0",), "h1: no such switch; there are s1, s2"),
            (("s1:9",), "s1:9: s1 has no port 9; its ports: 1 (to h1), 2 (to s2)"),
            (("s1:1", "-o", missing), f"{missing}: No such file or directory"),
            (("s1:1", "-o", tmp_path), f"{tmp_path}: Is a directory"),
        ):
            assert fails(tmp_path, *words, status=2) == f"csaud capture: {said}"
        assert "syntax error" in fails(tmp_path, "s1:1", "--filter", "no filter", status=2)
    assert list(tmp_path.glob("s1-*")) == []


def test_what_fails_is_said_in_one_line(tmp_path: Path) -> None:
    assert "not the directory of a run" in fails(tmp_path, "s1:1")
    (tmp_path / "pids.json").write_text("{}")
    assert "the fabric is not up yet" in fails(tmp_path, "s1:1")
    with served(tmp_path) as fabric:
        fabric.fabric.remove_port("s1", 2)
        earlier = tmp_path / "earlier.pcapng"
        earlier.write_bytes(b"kept")
        assert "switch 's1' has no port 2; its ports: 1" in fails(tmp_path, "s1:2", "-o", earlier)
        assert earlier.read_bytes() == b"kept"
    (tmp_path / "capture.sock").write_text("")
    assert "the switch process does not answer: Connection refused" in fails(tmp_path, "s1:1")
    assert list(tmp_path.glob("s1-*")) == []
    assert fabric_json()["name"] == "two"


def test_help_says_what_there_is() -> None:
    done = subprocess.run([*COMMAND, "--help"], capture_output=True, text=True, check=True)
    for word in ("SWITCH:PORT", "--out", "--count", "--seconds", "--filter", "--snaplen", "--run"):
        assert word in done.stdout
