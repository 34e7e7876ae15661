"""Capture filters in pcap's language: compiled by tcpdump, run here (classic BPF, as in linux/filter.h)."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass

from csaud_runs.errors import RunError

from csaud_topologies.base.usage import UsageError

_LD, _LDX, _ST, _STX, _ALU, _JMP, _RET, _MISC = range(8)
_SIZES = {0x00: 4, 0x08: 2, 0x10: 1}
_IMM, _ABS, _IND, _MEM, _LEN, _MSH = 0x00, 0x20, 0x40, 0x60, 0x80, 0xA0
_WORD = 0xFFFFFFFF

Instruction = tuple[int, int, int, int]
"""code, jump if true, jump if false, constant"""


def compile_filter(expression: str) -> Program:
    """UsageError with tcpdump's message when it is not an expression; RunError: there is no tcpdump."""
    if shutil.which("tcpdump") is None:
        raise RunError("--filter needs tcpdump to compile it; on Debian: apt-get install tcpdump")
    done = subprocess.run(
        ["tcpdump", "-y", "EN10MB", "-ddd", expression], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or ["tcpdump does not say why"]
        raise UsageError(f"--filter {expression!r}: {lines[-1].removeprefix('tcpdump: ')}")
    rows = [tuple(int(word) for word in line.split()) for line in done.stdout.splitlines()[1:]]
    return Program([(row[0], row[1], row[2], row[3]) for row in rows])


@dataclass(frozen=True)
class Program:
    """A compiled filter."""

    instructions: list[Instruction]

    def matches(self, frame: bytes) -> bool:
        """A program that reads behind the frame's end does not match, as in the kernel."""
        try:
            return _run(self.instructions, frame) != 0
        except IndexError:
            return False


def _run(program: list[Instruction], frame: bytes) -> int:
    a = x = at = 0
    memory = [0] * 16
    while True:
        code, yes, no, k = program[at]
        at += 1
        kind = code & 7
        if kind == _LD:
            a = _load(code, k, x, frame, memory)
        elif kind == _LDX:
            x = (_bytes(frame, k, 1) & 15) * 4 if code & 0xE0 == _MSH else _load(code, k, 0, frame, memory)
        elif kind in (_ST, _STX):
            memory[k] = a if kind == _ST else x
        elif kind == _ALU:
            a = _alu(code & 0xF0, a, x if code & 8 else k)
        elif kind == _JMP:
            at += k if code & 0xF0 == 0 else yes if _holds(code & 0xF0, a, x if code & 8 else k) else no
        elif kind == _RET:
            return a if code & 0x18 == 0x10 else k
        elif code & 0xF8 == 0:
            x = a
        else:
            a = x


def _load(code: int, k: int, x: int, frame: bytes, memory: list[int]) -> int:
    mode = code & 0xE0
    if mode == _IMM:
        return k
    if mode == _MEM:
        return memory[k]
    if mode == _LEN:
        return len(frame)
    return _bytes(frame, k + x if mode == _IND else k, _SIZES[code & 0x18])


def _bytes(frame: bytes, at: int, size: int) -> int:
    if at < 0 or at + size > len(frame):
        raise IndexError(at)
    return int.from_bytes(frame[at : at + size], "big")


def _alu(operation: int, a: int, b: int) -> int:
    if operation == 0x00:
        return a + b & _WORD
    if operation == 0x10:
        return a - b & _WORD
    if operation == 0x20:
        return a * b & _WORD
    if operation in (0x30, 0x90):
        if b == 0:
            raise IndexError("division by zero")
        return a // b if operation == 0x30 else a % b
    if operation == 0x40:
        return a | b
    if operation == 0x50:
        return a & b
    if operation == 0x60:
        return a << b & _WORD if b < 32 else 0
    if operation == 0x70:
        return a >> b if b < 32 else 0
    return -a & _WORD if operation == 0x80 else a ^ b


def _holds(test: int, a: int, b: int) -> bool:
    if test == 0x10:
        return a == b
    if test == 0x20:
        return a > b
    return a >= b if test == 0x30 else bool(a & b)
