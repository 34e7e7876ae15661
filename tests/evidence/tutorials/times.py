"""Times that a switch puts into link_monitor's probes: which of them are the same, not when they were."""

from __future__ import annotations

from csaud_softswitch.exchange.vector import Vector

_PROBE = b"\x08\x12"
_FIRST = 15
"""Of the data that the last switch put in front: swid 1, port 1, bytes 4, then the times of the last
probe and of this one, 6 each.
"""
_TIMES = (_FIRST + 6, _FIRST + 12)


def without_times(vector: Vector) -> Vector:
    """Each time by its number in the order in which times appeared; zero stays."""
    numbers: dict[bytes, int] = {bytes(6): 0}

    def plain(frame: str) -> str:
        data = bytearray.fromhex(frame)
        if data[12:14] == _PROBE and len(data) >= _FIRST + 18:
            for at in _TIMES:
                time = bytes(data[at : at + 6])
                data[at : at + 6] = numbers.setdefault(time, len(numbers)).to_bytes(6, "big")
        return data.hex()

    steps = [
        {**step, "out": [{**left, "frame": plain(left["frame"])} for left in step["out"]]}
        if "out" in step
        else step
        for step in vector.steps
    ]
    return Vector(
        vector.name, vector.about, vector.ports, steps, vector.program, vector.recorded,
        vector.counters, vector.direct_counters,
    )  # fmt: skip
