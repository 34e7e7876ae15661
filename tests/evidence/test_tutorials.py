"""What the comparison with p4lang/tutorials is made of, without a checkout of them."""

from __future__ import annotations

import json
import random
from pathlib import Path

from csaud_softswitch.exchange.names import Names
from csaud_softswitch.exchange.soft import SoftTarget
from csaud_softswitch.exchange.vector import Vector
from csaud_softswitch.p4runtime.errors import Code
from csaud_softswitch.program_file import read_config

from tests.evidence.tutorials import frames, runtime
from tests.evidence.tutorials.programs import EXERCISES
from tests.evidence.tutorials.times import without_times
from tests.softswitch.programs import FOLDER

ENTRIES = [
    {"table": "I.longest", "match": {"hdr.key.j": 3, "hdr.key.k": ["10.0.1.0", 24]}, "action_name": "I.set_r",
     "action_params": {"r": 1}},
    {"table": "I.masked", "match": {"hdr.key.k": ["00:00:00:0a", 255], "hdr.key.j": [3]}, "priority": 2,
     "action_name": "I.set_r", "action_params": {"r": 1}},
    {"table": "I.exact_one", "default_action": True, "action_name": "I.set_r", "action_params": {"r": 2}},
]  # fmt: skip
DOCUMENT = {
    "table_entries": ENTRIES,
    "multicast_group_entries": [{"multicast_group_id": 1, "replicas": [{"egress_port": 1, "instance": 1}]}],
    "clone_session_entries": [
        {"clone_session_id": 5, "replicas": [{"egress_port": 2}], "packet_length_bytes": 60}
    ],
}


def test_a_runtime_file_is_written_as_its_controller_would(tmp_path: Path) -> None:
    path = tmp_path / "s1-runtime.json"
    path.write_text(json.dumps(DOCUMENT))
    program = FOLDER / "tables.json"
    soft = SoftTarget(read_config(program, program.with_suffix(".p4info.txtpb")), [1, 2])
    updates = runtime.updates(path, soft.index)
    assert updates[0]["insert"]["match"] == {"hdr.key.j": 3, "hdr.key.k": "10.0.1.0/24"}
    assert updates[4]["insert"]["packet_length_bytes"] == 60
    assert soft.write([Names(soft.index).update(update) for update in updates]) == [Code.OK] * 5
    assert runtime.destinations(path) == ["10.0.1.7"]


def test_frames_are_the_same_each_time_and_fit_an_interface() -> None:
    for name, exercise in EXERCISES.items():
        first, again = (exercise.frames(random.Random(3), ["10.0.1.1", "10.0.2.2"]) for _ in range(2))
        assert first == again, name
        more = frames.damaged(random.Random(4), first, 40)
        assert all(len(frame) >= frames.SHORTEST and frame[12:14] not in frames.VLAN_TAGS for frame in more)


def test_times_of_probes_are_told_by_which_are_the_same() -> None:
    def probe(last: int, now: int) -> str:
        data = bytes([0x80, 1, 0, 0, 0, 7]) + last.to_bytes(6, "big") + now.to_bytes(6, "big")
        return (bytes(12) + b"\x08\x12\x01" + data + b"\x02").hex()

    def vector(*times: tuple[int, int]) -> Vector:
        steps = [{"out": [{"port": 1, "frame": probe(*pair)}]} for pair in times]
        return without_times(Vector("", "", [1], steps))

    assert vector((0, 500), (500, 900)) == vector((0, 17), (17, 20))
    assert vector((0, 500), (500, 900)) != vector((0, 500), (501, 900))
