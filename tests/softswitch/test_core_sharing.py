"""Switches with the same program share what it does, and nothing of what they are told or have counted."""

from __future__ import annotations

import gc
import json
import platform
import random
import struct
from pathlib import Path

import pytest
from csaud_softswitch import _core

from tests.softswitch import programs

PORTS = (1, 2, 3)


def pair(name: str) -> tuple[_core.Fabric, _core.Switch, _core.Switch]:
    """Two switches with the same program in one fabric, a and b."""
    fabric = _core.Fabric()
    switches = []
    for number, switch_name in enumerate("ab", 1):
        switch = fabric.add_switch(switch_name, number)
        switch.load(programs.json_of(name))
        for port in PORTS:
            fabric.add_memory_port(switch_name, port)
        switches.append(switch)
    return fabric, *switches


def bytes_of_code() -> int:
    """Memory of this process that is executable and of no file."""
    total = 0
    for line in Path("/proc/self/maps").read_text().splitlines():
        fields = line.split()
        if len(fields) == 5 and "x" in fields[1]:
            begin, end = (int(address, 16) for address in fields[0].split("-"))
            total += end - begin
    return total


@pytest.mark.skipif(platform.machine() != "x86_64", reason="machine code is made for x86-64 only")
def test_the_machine_code_is_there_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CSAUD_SWITCH_COMPILE", raising=False)
    root = json.loads(programs.json_of("externs"))
    root["program"] = "nobody else's"
    fabric = _core.Fabric()
    gc.collect()  # programs of other tests are forgotten when the first is loaded
    used = []
    for number in range(1, 9):
        if number == 8:
            root["program"] = "another one"
        fabric.add_switch(f"s{number}", number).load(json.dumps(root))
        used.append(bytes_of_code())
    assert used[:7] == [used[0]] * 7
    assert used[6] < used[7]


def command(cmd: int, index: int = 0, value: int = 0) -> bytes:
    return struct.pack(programs.CMD, cmd, index, value, 0, 0, 0)


@pytest.mark.parametrize("machine_code", ["1", "0"])
def test_each_has_its_own_counters_and_registers(machine_code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CSAUD_SWITCH_COMPILE", machine_code)
    fabric, a, b = pair("externs")
    for cmd in programs.DETERMINISTIC_COMMANDS:
        fabric.inject("a", 1, command(cmd, 1, 77), 0)
    counters = [c["name"] for c in a.counters() if c["table"] is None]
    registers = [r["name"] for r in a.registers()]
    assert any(any(map(any, a.counter_read_all(name))) for name in counters)
    assert any(any(a.register_read_all(name)) for name in registers)
    fresh = programs.loaded("externs")[1]
    for name in counters:
        assert b.counter_read_all(name) == fresh.counter_read_all(name)
    for name in registers:
        assert b.register_read_all(name) == fresh.register_read_all(name)


def test_each_has_its_own_entries() -> None:
    _, a, b = pair("tables")
    tables = [table["name"] for table in b.tables()]
    before = [(b.table_entries(name), b.table_get_default(name)) for name in tables]
    assert any(entries for entries, _ in before)  # the program's own
    one = next(table for table in b.tables() if table["name"].endswith("exact_one"))
    name, action = one["name"], one["actions"][0]
    call = ("action", action["name"], [b"\1" for _ in action["params"]])
    a.table_insert(name, [("exact", b"\5") for _ in one["keys"]], 0, call)
    a.table_set_default(name, call)
    assert len(a.table_entries(name)) == 1
    assert [(b.table_entries(name), b.table_get_default(name)) for name in tables] == before


def test_each_has_its_own_value_sets() -> None:
    fabric, a, b = pair("values")
    [kinds] = [each["name"] for each in b.value_sets() if each["name"].endswith("kinds")]
    before = answers(fabric, "b")
    assert answers(fabric, "a") == before
    a.value_set_insert(kinds, [b"\2"])
    assert b.value_set_members(kinds) == []
    assert answers(fabric, "b") == before
    assert answers(fabric, "a") != before


def answers(fabric: _core.Fabric, switch: str) -> list[tuple[int, bytes]]:
    """What values.p4 makes of a few frames."""
    for kind in range(4):
        fabric.inject(switch, 1, struct.pack(">HHB", kind, 2, 0).ljust(20, b"\0"), fabric.now)
    return [(port, frame) for name, port, frame, _ in fabric.poll() if name == switch]


def test_one_goes_on_when_the_other_is_gone() -> None:
    """What is shared belongs to both."""
    kept = programs.loaded("arith")
    gone = programs.loaded("arith")
    frame = programs.arith_frames(random.Random(3), 1)[0]
    expected = programs.send(gone[0], frame)
    del gone
    assert programs.send(kept[0], frame) == expected
