"""Traces of p4c's kind on the embedded switch: what is as expected passes, and nothing else does."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from csaud_softswitch.stf.names import key_name, match_field, resolve
from csaud_softswitch.stf.runner import Runner
from csaud_softswitch.stf.trace import TraceError, parse

from tests.softswitch import programs

TRACE = Path(__file__).parent / "traces" / "tables.stf"
PROGRAM = programs.FOLDER / "tables.json"


def run(text: str, program: str = "tables") -> list[str]:
    return Runner(programs.json_of(program), parse(text)).run()


def test_a_trace_that_is_right_passes() -> None:
    assert run(TRACE.read_text()) == []


@pytest.mark.parametrize(
    ("old", "new", "wrong"),
    [
        (" 11 00000000 0000000000000000 $", " 12 00000000 0000000000000000 $", "line 12: port 1: got"),
        ("0000000000000005 $", "000000000000 $", "line 14: port 1: got"),
        ("packet 2 05", "packet 1 05", "port 1: 8 frames, expected 7"),
        ("packets == 2", "packets == 3", r"I.seen\[2\] is 2, expected == 3"),
        ("bytes > 70", "bytes > 1000", r"I.seen\[0\] is 72, expected > 1000"),
    ],
)
def test_a_trace_that_is_wrong_does_not(old: str, new: str, wrong: str) -> None:
    text = TRACE.read_text()
    assert old in text
    found = run(text.replace(old, new))
    assert found
    assert any(re.search(wrong, line) for line in found), found


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("frobnicate 1", "line 1: no command 'frobnicate'"),
        ("add nowhere k:1 set_r(r:1)", "no table 'nowhere'"),
        ("add I.maybe 1 hdr.key.q:1 set_r(r:1)", "no key 'hdr.key.q'"),
        ("add I.maybe 1 hdr.key.k:1 set_q(r:1)", "no action 'set_q'"),
        ("add I.maybe 1 hdr.key.k:1 set_r(q:1)", "has no parameter"),
        ("add I.maybe 1 hdr.key.k:1", "has no action"),
        ("packet 1 0z", "line 1"),
        ("check_counter nothing(1)", "no counter 'nothing'"),
        ("mirroring_add 1", "'mirroring_add 1' is not supported"),
    ],
)
def test_what_cannot_be_understood_is_named(line: str, message: str) -> None:
    with pytest.raises(TraceError, match=message.replace("(", r"\(")):
        run(line)


def test_names_may_be_shorter_than_those_of_the_program() -> None:
    assert resolve("t", ["I.t", "I.st"], "table") == "I.t"
    with pytest.raises(ValueError, match="more than one"):
        resolve("t", ["I.t", "E.t"], "table")
    assert key_name("h$1.f", ["h[1].f", "h[0].f"]) == "h[1].f"
    assert key_name("f", ["hdr.h.f", "hdr.h.g"]) == "hdr.h.f"


@pytest.mark.parametrize(
    ("kind", "text", "field"),
    [
        ("exact", "0x12", ("exact", b"\x00\x12")),
        ("exact", "10", ("exact", b"\x00\x0a")),
        ("lpm", "0x12**", ("lpm", b"\x12\x00", 8)),
        ("lpm", "0x1234/4", ("lpm", b"\x10\x00", 4)),
        ("lpm", "0x1234", ("lpm", b"\x12\x34", 16)),
        ("ternary", "0x1*3*", ("ternary", b"\x10\x30", b"\xf0\xf0")),
        ("ternary", "0b1*0", ("ternary", b"\x00\x04", b"\x00\x05")),
        ("ternary", "0x**", None),
        ("ternary", "0x12&&&0x0f", ("ternary", b"\x00\x02", b"\x00\x0f")),
        ("range", "1->0x20", ("range", b"\x00\x01", b"\x00\x20")),
        ("optional", "0x12", ("optional", b"\x00\x12")),
    ],
)
def test_values(kind: str, text: str, field: object) -> None:
    assert match_field({"name": "k", "match_type": kind, "width": 16}, text) == field  # type: ignore[typeddict-item]


def test_the_command_exits_with_1_and_names_the_line(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "csaud_softswitch.stf"]
    assert subprocess.run([*command, TRACE, PROGRAM], check=False).returncode == 0
    wrong = tmp_path / "wrong.stf"
    wrong.write_text("packet 1 00\nexpect 2 00\n")
    result = subprocess.run([*command, wrong, PROGRAM], check=False, capture_output=True, text=True)
    assert result.returncode == 1
    assert "port 2: 0 frames, expected 1" in result.stderr
    missing = subprocess.run(
        [*command, tmp_path / "none", PROGRAM], check=False, capture_output=True, text=True
    )
    assert (missing.returncode, "none: No such file" in missing.stderr) == (1, True)
    assert subprocess.run(command, check=False, capture_output=True).returncode == 2
