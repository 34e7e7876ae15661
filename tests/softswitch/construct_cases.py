"""One exchange for each of the small programs: what its construct does on simple_switch_grpc.

`python -m tests.softswitch.construct_cases DIRECTORY` writes the cases, one folder a program; then
`python -m csaud_softswitch.exchange record DIRECTORY/NAME/*.json --out tests/softswitch/exchanges/constructs
--program tests/softswitch/programs/NAME.json` plays them on simple_switch_grpc and adds its answers.
"""

from __future__ import annotations

import random
import struct
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from csaud_softswitch.exchange.vector import Step, Vector

PORTS = [1, 2, 3, 4]
SEED = 11
SHORTEST = 14
Case = Callable[[random.Random], list[Step]]
CASES: dict[str, tuple[str, Case]] = {}  # by the name of its program, the text about it


def case(make: Case) -> Case:
    CASES[make.__name__] = (" ".join((make.__doc__ or "").split()), make)
    return make


def send(frames: Iterable[bytes], port: int = 1) -> list[Step]:
    """Frames that an interface carries, and whose VLAN tag the kernel does not take out."""
    steps = []
    for frame in frames:
        whole = frame.ljust(SHORTEST, b"\0")
        if whole[12:14] in (b"\x81\x00", b"\x88\xa8"):
            whole = whole[:12] + b"\0\0" + whole[14:]
        steps.append({"in": {"port": port, "frame": whole.hex()}})
    return steps


def write(*updates: dict[str, Any]) -> Step:
    return {"write": list(updates)}


def session(number: int, *ports: tuple[int, int]) -> dict[str, Any]:
    return {"insert": {"clone_session": number, "replicas": _replicas(ports)}}


def group(number: int, *ports: tuple[int, int]) -> dict[str, Any]:
    return {"insert": {"multicast_group": number, "replicas": _replicas(ports)}}


def _replicas(ports: Sequence[tuple[int, int]]) -> list[dict[str, int]]:
    return [{"port": port, "instance": instance} for port, instance in ports]


@case
def stacks(rng: random.Random) -> list[Step]:
    """Header stacks: too short, too long, pushed, popped, copied, indexed at run time."""
    frames = []
    for number in range(90):
        count = rng.randrange(6)
        items = b"".join(
            struct.pack(
                ">BBIH", at + 1 == count, rng.choice([5, 6, 0x15]), rng.getrandbits(32), rng.getrandbits(16)
            )
            for at in range(count)
        )
        # What is read of an element that is not valid is undefined: run-time indices are those of valid ones.
        op = number % 13 if count else rng.choice([0, 1, 2, 3, 4, 7, 8, 11])
        head = struct.pack(">BBBBHB", op, 0 if count else 0x80, 0, 0, 0, 0)
        whole = head + items + rng.randbytes(16)
        frames.append(whole[: len(whole) - (rng.choice([0, 0, 0, 5, 17]) if count > 2 else 0)])
    return send(frames)


@case
def unions(rng: random.Random) -> list[Step]:
    """Header unions: which header is valid after which; a stack of unions."""
    narrow, wide = b"\x01\x42", b"\x02\x01\x02\x03\x04\x05"
    frames = []
    for number in range(100):
        kinds = rng.randrange(16)
        one = {1: narrow, 2: wide}.get(kinds & 3, b"")
        other = {1: narrow, 2: wide, 3: narrow + wide}.get(kinds >> 2, b"")
        many = b"".join(rng.choice([narrow, wide]) for _ in range(rng.randrange(5)))
        frames.append(bytes([number % 10, kinds, 0, 0]) + one + other + many + b"\0" + rng.randbytes(9))
    return send(frames)


@case
def varbits(rng: random.Random) -> list[Step]:
    """Fields of variable length: all lengths and errors, copies with and without their header, comparison."""
    frames = []
    for number in range(130):
        # Assigning such a field alone may end simple_switch_grpc where one of the two was not extracted.
        alone = number >= 100
        lengths = [0, 8, 16, 32, 64, 96, 96, 8, *([24, 96] if alone else [12, 104])]
        bits, other = (rng.choice(lengths) for _ in range(2))
        same = rng.randbytes(12)
        data = [rng.choice([same, rng.randbytes(12)])[: size // 8] for size in (bits, other)]
        head = struct.pack(
            ">BBBBHH",
            7 if alone else number % 6 | rng.choice([0, 0, 0, 0x40, 0x80]),
            bits,
            other,
            0,
            0,
            0,
        )
        headers = [rng.choice([b"\x12\x34", rng.randbytes(2)]) + part + b"\x56\x78" for part in data]
        whole = head + b"".join(headers) + rng.randbytes(9)
        frames.append(whole if alone else whole[: len(whole) - rng.choice([0, 0, 0, 0, 6])])
    return send(frames)


@case
def values(rng: random.Random) -> list[Step]:
    """Value sets that are empty, as simple_switch_grpc does not let them be filled."""
    return send(struct.pack(">HHB", kind, rng.getrandbits(16), 0) for kind in (0, 1, 2, 3, 0xFFFF))


@case
def hashes(rng: random.Random) -> list[Step]:
    """All hash algorithms."""
    return send(bytes([number % 10]) + rng.randbytes(21) + bytes(10 + number % 3) for number in range(60))


def reports(
    rng: random.Random,
    operations: Iterable[int],
    *,
    arguments: Sequence[int],
    groups: Sequence[int],
    payloads: Sequence[int] = (0, 20, 60),
) -> list[bytes]:
    """Frames of report.inc's header."""
    return [
        struct.pack(">BBH", op, argument, rng.choice(groups))
        + bytes(24)
        + rng.randbytes(rng.choice(payloads))
        for op in operations
        for argument in arguments
    ]


@case
def resubmits(rng: random.Random) -> list[Step]:
    """Resubmit: preserved fields, rounds, instance types, lengths; more than drop."""
    return send(reports(rng, range(5), arguments=(0, 1, 2, 5), groups=(0, 7)))


@case
def recirculates(rng: random.Random) -> list[Step]:
    """Recirculate: preserved fields, rounds, lengths, a dropped one, and by a port that nothing is behind."""
    return send(reports(rng, range(6), arguments=(0, 1, 3), groups=(0, 7)))


@case
def clones(rng: random.Random) -> list[Step]:
    """Clones from ingress and egress, to one port, to several, to a session that is not there."""
    setup = write(session(1, (3, 0)), session(2, (4, 5)), session(3, (3, 1), (4, 2), (2, 3)))
    operations = (0, 1, 2, 3, 4, 5, 6, 11, 12, 13, 14)
    gone = {"delete": {"clone_session": 1}}
    return [
        setup,
        *send(reports(rng, operations, arguments=(1, 2, 3, 9), groups=(0, 7))),
        write(gone),
        *send(reports(rng, operations, arguments=(1,), groups=(0,))),
    ]


@case
def multicasts(rng: random.Random) -> list[Step]:
    """Multicast groups: replication ids, groups that are not there, drop before and after."""
    setup = write(group(1, (2, 10), (3, 20)), group(2, (1, 0), (2, 0), (4, 7)), group(3, (4, 0xFFFF), (2, 1)))
    return [
        setup,
        write(session(7, (4, 1))),
        *send(reports(rng, range(6), arguments=(0, 2, 3), groups=(1, 2, 3, 9, 0))),
        *send(reports(rng, range(6), arguments=(0,), groups=(1, 2, 3, 9))),
        write({"delete": {"multicast_group": 1}}),
        *send(reports(rng, range(3), arguments=(0,), groups=(1,))),
    ]


@case
def truncates(rng: random.Random) -> list[Step]:
    """Truncation: lengths of the packet's choice, shorter than headers, longer than the frame, twice."""
    return send(
        reports(rng, range(6), arguments=(14, 20, 28, 40, 200), groups=(16, 30, 1000), payloads=(60, 90))
    )


@case
def meters(rng: random.Random) -> list[Step]:
    """Meters whose buckets are not filled again: packets and bytes, direct ones, some not configured."""
    rates = [0, 3, 0, 5]
    setup = write(
        {"modify": {"meter": "I.by_packet", "index": 1, "rates": rates}},
        {"modify": {"meter": "I.by_packet", "index": 2, "rates": [0, 0, 0, 2]}},
        {"modify": {"meter": "I.by_byte", "index": 1, "rates": [0, 60, 0, 100]}},
        {
            "insert": {
                "table": "I.entries",
                "match": {"hdr.op.index": 1},
                "action": "I.seen",
                "params": {"mark": 1},
            }
        },
        {
            "insert": {
                "table": "I.entries",
                "match": {"hdr.op.index": 2},
                "action": "I.seen",
                "params": {"mark": 2},
            }
        },
        {"insert": {"table": "I.entries", "match": {"hdr.op.index": 3}, "action": "I.unseen"}},
    )
    direct = write(*(
        {"modify": {"direct_meter": "I.entries", "match": {"hdr.op.index": index}, "rates": [0, 1, 0, 3]}}
        for index in (1, 3)
    ))  # fmt: skip
    frames = [bytes([op, index]) + bytes(18) for op in (1, 2, 3) for index in (0, 1, 2, 3) for _ in range(7)]
    rng.shuffle(frames)
    return [setup, direct, *send(frames)]


def switch_on(digest: str, ack_timeout_s: float = 0) -> dict[str, Any]:
    """Each message in a list of its own, at once."""
    return {"insert": {"digest": digest, "max_list_size": 1, "ack_timeout_ns": round(ack_timeout_s * 1e9)}}


@case
def digests(rng: random.Random) -> list[Step]:
    """Digests: none before they are on; fields of several widths; the last one of a pass; what is known is
    not told again until it was acknowledged or forgotten; none after they are off.
    """
    learned = reports(rng, [1], arguments=(7, 0, 1, 2, 9), groups=(0x5A5A,))
    seen = reports(rng, [2, 3, 0], arguments=(0,), groups=(1, 2, 3))
    again = reports(rng, [2], arguments=(0,), groups=(7,))
    pause = {"pause": 1.5}
    return [
        *send(learned[:1]),
        pause,
        write(switch_on("learned_t"), switch_on("seen_t", ack_timeout_s=4)),
        *send([*learned[1:], *seen]),
        pause,
        *send(again * 3),  # one of them is told
        pause,
        {"ack": "seen_t"},
        {"pause": 0.5},
        *send(again),  # and is again
        pause,
        *send(again),
        pause,
        {"pause": 5.0},
        *send(again),  # and again, as it was forgotten
        pause,
        write({"delete": {"digest": "seen_t"}}),
        *send([*seen[:1], *learned[2:3]]),
        pause,
    ]


@case
def idle(rng: random.Random) -> list[Step]:
    """Idle timeouts: entries that are hit, entries that never are, entries without one, ternary keys."""

    def entry(table: str, key: int | str, timeout_s: float, **more: Any) -> dict[str, Any]:
        body = {"table": table, "match": {"hdr.op.key": key}, "action": "I.found", "params": {"r": 9}, **more}
        return {"insert": {**body, "idle_timeout_ns": round(timeout_s * 1e9)}}

    exact, ternary = "I.exact_keys", "I.ternary_keys"
    hits = send([bytes([0, 1]) + rng.randbytes(20), bytes([1, 0x12]) + rng.randbytes(20)])
    return [
        write(
            entry(exact, 1, 4),
            entry(exact, 2, 4),
            entry(exact, 3, 0),
            entry(ternary, "0x10&&&0xf0", 4, priority=1),
            entry(ternary, "0x12&&&0xff", 4, priority=2),
            entry(ternary, "0x20&&&0xf0", 30, priority=1),
        ),
        {"pause": 3.0},
        *hits,
        {"pause": 3.0},
        {"pause": 3.0},
        *hits,
        {"pause": 6.5},
    ]


@case
def operands(rng: random.Random) -> list[Step]:
    """What primitives work on: copies of the metadata, elements of stacks at an index that the packet has."""
    frames = []
    for number in range(160):
        op = number % 16
        count = rng.randrange(5) or int(op == 14)
        items = b"".join(
            struct.pack(
                ">BBH", rng.choice((1, 2)) if at + 1 == count else 0, rng.getrandbits(8), rng.getrandbits(16)
            )
            for at in range(count)
        )
        # What is read of an element that is not valid is undefined.
        index = rng.randrange(count) if op == 14 else rng.randrange(4)
        head = struct.pack(">BBBB", op | (0 if count else 0x80), index, rng.randrange(4), 0)
        frames.append(head + items + rng.randbytes(20))
    group_of_one = write(group(1, (4, 1)))
    return [group_of_one, *send(frames)]


@case
def translated(rng: random.Random) -> list[Step]:
    """Types that controllers see in another width, where simple_switch_grpc takes their entries."""

    def entry(table: str, port: int, out: int, **more: Any) -> dict[str, Any]:
        match = {"hdr.port.port": port}
        body = {"table": table, "match": match, "action": "I.to", "params": {"port": out}, **more}
        return {"insert": body}

    entries = [
        entry("I.ports", 2, 3),
        entry("I.ports", 511, 4),
        entry("I.choices", 7, 2, priority=1),
        entry("I.choices", 300, 4, priority=2),
    ]
    frames = [
        rng.randbytes(12) + struct.pack(">HH", kind, port)
        for kind in (0, 1, 2)
        for port in (2, 511, 7, 300, 0, 44)
    ]
    return [write(*entries), *send(frames)]


@case
def unwritten(rng: random.Random) -> list[Step]:
    """What is read before it is written: metadata and temporaries on one way of several, in loops of the
    parser, after resubmit and recirculation, in clones.
    """
    frames = []
    for _ in range(80):
        # 9 and 11 read a header that never was there, which has what other packets had on simple_switch_grpc.
        op = rng.choice([0, 1, 2, 3, 4, 5, 6, 7, 8, 10])
        count = rng.randrange(4) if op in (2, 4) else 0
        frames.append(struct.pack(">BBH", op, count, rng.getrandbits(16)) + rng.randbytes(30))
    return [write(session(1, (3, 0))), *send(frames)]


@cache
def all_cases() -> dict[str, Vector]:
    return {
        name: Vector(name, about, PORTS, make(random.Random(SEED))) for name, (about, make) in CASES.items()
    }


def main(arguments: Sequence[str]) -> None:
    for name, vector in all_cases().items():
        folder = Path(arguments[0]) / name
        folder.mkdir(parents=True, exist_ok=True)
        vector.dump(folder / f"{name}.json")


if __name__ == "__main__":
    main(sys.argv[1:])
