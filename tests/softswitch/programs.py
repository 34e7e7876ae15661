"""The small P4 programs of the native core's tests: one concern each, committed with what p4c makes of them.

`python -m tests.softswitch.programs [NAME ...]` makes that anew (part of `make p4`).
"""

from __future__ import annotations

import hashlib
import random
import shutil
import struct
import subprocess
import sys
from pathlib import Path

from csaud_softswitch import _core

FOLDER = Path(__file__).parent / "programs"
NAMES = sorted(path.stem for path in FOLDER.glob("*.p4"))
ARITH = ">BBHII6sQQiiHQQQ"  # the header of arith.p4; f5 and f11 share a 16-bit word, w is two of 64 bits
CMD = ">BIIHHQ"  # the header of externs.p4; d and e share a word


def json_of(name: str) -> str:
    return (FOLDER / f"{name}.json").read_text()


def digest(name: str) -> str:
    """Of the program's source."""
    return hashlib.sha256((FOLDER / f"{name}.p4").read_bytes()).hexdigest()


def loaded(name: str, ports: tuple[int, ...] = (1, 2, 3), seed: int = 0) -> tuple[_core.Fabric, _core.Switch]:
    """A switch "s" with the program and unlimited memory ports."""
    fabric = _core.Fabric(seed)
    switch = fabric.add_switch("s", 1)
    switch.load(json_of(name))
    for port in ports:
        fabric.add_memory_port("s", port)
    return fabric, switch


def send(fabric: _core.Fabric, frame: bytes, port: int = 1) -> list[tuple[int, bytes]]:
    """One frame in, (port, frame) of all that come out at once."""
    fabric.inject("s", port, frame, fabric.now)
    return [(out, data) for _, out, data, _ in fabric.poll()]


# --- frames that exercise every path of a program, for comparing two implementations of it


def _word(rng: random.Random, bits: int) -> int:
    """Any number, with the ends of the range and small ones as likely as all the others."""
    top = (1 << bits) - 1
    return rng.choice([0, 1, top, top >> 1, (top >> 1) + 1, rng.randrange(40) & top, rng.getrandbits(bits)])


def arith_frame(rng: random.Random, op: int) -> bytes:
    signed = [_word(rng, 32) for _ in range(2)]
    words = [(value ^ 0x80000000) - 0x80000000 for value in signed]
    return struct.pack(
        ARITH, op, rng.choice([0, 1, 7, 31, 32, 33, 63, 64, 65, 255]), _word(rng, 16), _word(rng, 32),
        _word(rng, 32), _word(rng, 48).to_bytes(6, "big"), _word(rng, 64), _word(rng, 64), *words,
        _word(rng, 16), _word(rng, 64), _word(rng, 64), _word(rng, 64),
    ) + rng.randbytes(rng.randrange(8))  # fmt: skip


def arith_frames(rng: random.Random, count: int) -> list[bytes]:
    return [arith_frame(rng, i % 41) for i in range(count)]


def parse_frames(rng: random.Random, count: int) -> list[bytes]:
    frames = []
    for _ in range(count):
        kind = rng.choice([0, 1, 2, 3, 4, 5, 0x81, 0x8F, 0x90, 0x93, 0x95, 0x96, 0xFF])
        value = rng.choice([0, 8, 13, 16, 24, 0x11, 0x22, 0x33, 0x44, 0x55, rng.randrange(256)])
        middle = rng.choice(
            [b"\x11\x23", b"\x21\x55", b"\x22\x00", b"\x00\xab", b"\xab\xab", rng.randbytes(2)]
        )
        frame = bytes([kind, value]) + middle + rng.randbytes(rng.randrange(24))
        frames.append(frame[: rng.choice([len(frame), len(frame), len(frame), rng.randrange(1, 8)])])
    return frames


DETERMINISTIC_COMMANDS = [0, 1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 13, 22, 24, 0x50, 0x51, 200]


def extern_frames(rng: random.Random, count: int) -> list[bytes]:
    frames = []
    for _ in range(count):
        cmd = rng.choice(DETERMINISTIC_COMMANDS)
        a = rng.randrange(4) if cmd in (8, 9, 10) else _word(rng, 32)
        if cmd == 9:
            a &= 1
        frame = struct.pack(CMD, cmd, a, _word(rng, 32), _word(rng, 16), _word(rng, 16), _word(rng, 64))
        if cmd in (0x50, 0x51):
            words, more, mixed = _word(rng, 16), _word(rng, 16), struct.unpack(">H", frame[11:13])[0]
            right = rng.random() < 0.5
            frame += struct.pack(
                ">HHH", words, more, csum16([words, more, mixed]) if right else _word(rng, 16)
            )
        frames.append(frame + rng.randbytes(rng.randrange(9)))
    return frames


def csum16(words: list[int]) -> int:
    """The Internet checksum (RFC 1071)."""
    total = sum(words)
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def compile_into(folder: Path, name: str) -> None:
    """Run p4c on one of them; CalledProcessError when it finds a mistake."""
    made = ["-o", str(folder / f"{name}.json"), "--p4runtime-files", str(folder / f"{name}.p4info.txtpb")]
    subprocess.run(["p4c-bm2-ss", "--arch", "v1model", *made, f"{name}.p4"], cwd=FOLDER, check=True)


def main(names: list[str]) -> int:
    if shutil.which("p4c-bm2-ss") is None:
        print("p4c-bm2-ss is not on PATH; the committed files stay as they are", file=sys.stderr)
        return 1
    if unknown := sorted(set(names) - set(NAMES)):
        print(f"no such program: {', '.join(unknown)}; there are {', '.join(NAMES)}", file=sys.stderr)
        return 2
    for name in names or NAMES:
        compile_into(FOLDER, name)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
