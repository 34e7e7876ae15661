"""Hashes, registers, counters, checksums and what ends a packet's way."""

from __future__ import annotations

import struct
import zlib

import pytest
from csaud_softswitch import _core

from tests.softswitch import programs

CRC16, CRC32, CSUM16, XOR16, IDENTITY, CRC32_MOD = range(6)
RANDOM, RANDOM64, REGISTER, WIDE_REGISTER, COUNT, EXIT, DROP, DROP_UNDONE = range(6, 14)
LOG, ASSERT, PORT_77, EGRESS_DROP, EGRESS_EXIT, VERIFY, UPDATE = 17, 18, 20, 22, 24, 0x50, 0x51
A, B, C, D, E = 0x01020304, 0xA0B0C0D0, 0x5566, 0x7, 0x89A


def frame(cmd: int, a: int = A, b: int = B, c: int = C, r: int = 0, tail: bytes = b"") -> bytes:
    return struct.pack(programs.CMD, cmd, a, b, c, D << 12 | E, r) + tail


def out(fabric: _core.Fabric, data: bytes) -> tuple[int, ...]:
    [(port, answer)] = programs.send(fabric, data)
    assert port == 1
    return struct.unpack_from(programs.CMD, answer)


def crc16_arc(data: bytes) -> int:
    crc = 0
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ 0xA001 if crc & 1 else crc >> 1
    return crc


def test_hashes_are_of_the_fields_packed_bit_by_bit() -> None:
    fabric, _ = programs.loaded("externs")
    a, b, c, de = (
        A.to_bytes(4, "big"),
        B.to_bytes(4, "big"),
        C.to_bytes(2, "big"),
        (D << 12 | E).to_bytes(2, "big"),
    )
    assert crc16_arc(b"123456789") == 0xBB3D  # the reference itself
    assert out(fabric, frame(CRC16))[5] == crc16_arc(a + b + de)
    assert out(fabric, frame(CRC32))[5] == zlib.crc32(a + c + bytes([D << 4]))  # padded with zeros at the end
    assert out(fabric, frame(CSUM16))[5] == programs.csum16([A >> 16, A & 0xFFFF, B >> 16, B & 0xFFFF, C])
    assert out(fabric, frame(XOR16))[5] == (A >> 16) ^ (A & 0xFFFF) ^ C ^ 0x0500
    assert out(fabric, frame(IDENTITY))[5] == int.from_bytes(de + a, "big")
    packed = (A << 16 | 3 << 9 | D << 5 | 9).to_bytes(6, "big")
    assert out(fabric, frame(CRC32_MOD))[5] == 100 + zlib.crc32(packed) % 7


def test_random_numbers_are_in_range_even_and_repeatable() -> None:
    def draws(seed: int) -> list[int]:
        fabric, _ = programs.loaded("externs", seed=seed)
        return [out(fabric, frame(RANDOM))[1] for _ in range(2000)]

    first = draws(3)
    assert set(first) == set(range(10, 20))
    assert all(140 < first.count(value) < 260 for value in range(10, 20))
    assert first == draws(3)
    assert first != draws(4)
    fabric, _ = programs.loaded("externs")
    assert len({out(fabric, frame(RANDOM64))[5] for _ in range(100)}) == 100


def test_registers_wrap_and_ignore_what_is_out_of_bounds() -> None:
    fabric, switch = programs.loaded("externs")
    assert [out(fabric, frame(REGISTER, a=2))[2] for _ in range(3)] == [0, 0x80000001, 2]
    assert switch.register_read_all("cells") == [0, 0, 0x80000003, 0]
    assert out(fabric, frame(REGISTER, a=4, b=77))[2] == 77  # nothing read, nothing written
    assert switch.register_read_all("cells") == [0, 0, 0x80000003, 0]
    switch.register_write("cells", 3, 9)
    assert out(fabric, frame(REGISTER, a=3))[2] == 9
    assert switch.register_read("cells", 3) == 0x8000000A
    with pytest.raises(_core.NotFound, match=r"index 4.*size is 4"):
        switch.register_read("cells", 4)
    with pytest.raises(_core.InvalidArgument, match="32 bits"):
        switch.register_write("cells", 0, 1 << 32)
    with pytest.raises(KeyError, match="no register 'x'"):
        switch.register_read("x", 0)


def test_registers_of_128_bits() -> None:
    fabric, switch = programs.loaded("externs")
    value = 0xFEDCBA98_76543210_01234567_89ABCDEF
    switch.register_write("wide_cells", 1, value)
    assert out(fabric, frame(WIDE_REGISTER, a=1, b=0x55))[5] == value >> 32 & ((1 << 64) - 1)
    assert switch.register_read("wide_cells", 1) == (value << 8 & ((1 << 128) - 1)) | 0x55
    assert {"name": "wide_cells", "size": 2, "width": 128} in switch.registers()


def test_counters_count_packets_and_the_bytes_that_came_in() -> None:
    fabric, switch = programs.loaded("externs")
    for tail in (0, 10):
        out(fabric, frame(COUNT, a=2, tail=bytes(tail)))
    out(fabric, frame(COUNT, a=4))  # out of bounds
    size = struct.calcsize(programs.CMD)
    assert switch.counter_read_all("I.counted") == [(0, 0), (0, 0), (2, 2 * size + 10), (0, 0)]
    assert switch.counter_read("E.left", 1) == (3, 3 * size + 10)
    switch.counter_write("I.counted", 0, 5, 6)
    assert switch.counter_read("I.counted", 0) == (5, 6)
    with pytest.raises(_core.NotFound, match=r"index 4.*size is 4"):
        switch.counter_read("I.counted", 4)
    with pytest.raises(KeyError, match="no counter 'x'"):
        switch.counter_read_all("x")


@pytest.mark.parametrize("right", [True, False])
def test_checksum_is_verified_and_updated(right: bool) -> None:
    fabric, _ = programs.loaded("externs")
    words = [0x1234, 0xFEDC, D << 12 | E]
    checksum = programs.csum16(words) ^ (0 if right else 0x10)
    answer = programs.send(
        fabric, frame(VERIFY, tail=struct.pack(">HHH", words[0], words[1], checksum) + b"rest")
    )
    [(_, data)] = answer
    assert struct.unpack_from(programs.CMD, data)[1] == int(not right)
    assert struct.unpack_from(">HHH", data, 21) == (words[0], words[1], programs.csum16(words))
    [(_, data)] = programs.send(fabric, frame(UPDATE, tail=struct.pack(">HHH", words[0], words[1], 0)))
    assert struct.unpack_from(">HHH", data, 21)[2] == programs.csum16([words[0] + 1, *words[1:]])


def test_exit_ends_its_pipeline_and_no_other() -> None:
    fabric, _ = programs.loaded("externs")
    answer = out(fabric, frame(EXIT, b=0))
    assert (answer[2], answer[5]) == (0, 11)  # nothing after it in ingress, egress as ever
    assert out(fabric, frame(EGRESS_EXIT))[5] == 0


def test_mark_to_drop_in_ingress_and_egress() -> None:
    fabric, switch = programs.loaded("externs")
    assert programs.send(fabric, frame(DROP)) == []
    assert programs.send(fabric, frame(EGRESS_DROP)) == []
    assert [port for port, _ in programs.send(fabric, frame(DROP_UNDONE))] == [2]
    stats = switch.stats()
    assert (stats["dropped_ingress"], stats["dropped_egress"], stats["tx"]) == (1, 1, 1)


def test_a_port_that_does_not_exist() -> None:
    fabric, switch = programs.loaded("externs")
    assert programs.send(fabric, frame(PORT_77)) == []
    assert switch.stats()["no_such_port"] == 1
    assert switch.counter_read("E.left", 77 & 3)[0] == 1  # egress ran, as on the reference target


def test_log_and_assert() -> None:
    fabric, switch = programs.loaded("externs")
    out(fabric, frame(LOG, a=12, b=34))
    assert switch.take_log() == ["a=12 b=34"]
    assert out(fabric, frame(ASSERT, a=1))[2] == 2
    assert programs.send(fabric, frame(ASSERT, a=5)) == []
    [line] = switch.take_log()
    assert "assertion failed" in line
    assert switch.stats()["assertions"] == 1
    assert switch.take_log() == []
