"""The JSON form of an exchange.

{"name": ..., "about": ..., "program": {"name": "csaud", "sha256": ...}, "recorded": {"target":
"simple_switch_grpc", "version": ...}, "ports": [1, 2, 3], "steps": [ {"write": [{"insert": {...}}],
"codes": ["OK"]},                       see names.py {"in": {"port": 1, "frame": "hex", "note": ...}, "out":
[{"port": 2, "frame": "hex"}]}, {"packet_out": {"metadata": {"egress_port": 2}, "payload": "hex"}, "out":
[...]}, {"link": {"port": 2, "up": false}}, {"pause": 3.0, "out": [...]}, {"ack": "learned_t"}],
"counters": {"<counter>": {"<index>": [packets, bytes]}}, cells that are not zero, at the end
"direct_counters": {"<table>": [{"match": {...}, "priority": 0, "count": [packets, bytes]}]}}

In an "out" list, port "cpu" stands for a packet-in: {"port": "cpu", "metadata": {"ingress_port": 1},
"frame": ...}. What the switch tells of its own accord is gathered by the next pause (of seconds), whenever
it came: {"digest": "learned_t", "data": [["0x01", "0x2a"]]} with the messages of all lists in order, and
{"idle": "I.exact_keys", "match": {...}, "priority": 0} once for each entry. "ack" acknowledges the last
list of a digest. A case is a vector without what the target says: no "codes", "out", "recorded" or counters.
"""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Step = dict[str, Any]


class VectorError(ValueError):
    """The file is not a vector; the message names the file and the place."""


@dataclass
class Vector:
    """One exchange. `counters`, `direct_counters` and `recorded` are empty in a case."""

    name: str
    about: str
    ports: list[int]
    steps: list[Step]
    program: dict[str, str] = field(default_factory=dict)
    recorded: dict[str, str] = field(default_factory=dict)
    counters: dict[str, dict[str, list[int]]] = field(default_factory=dict)
    direct_counters: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def case(self) -> Vector:
        """The same exchange without what a target answered."""
        steps = [
            {key: copy.deepcopy(value) for key, value in step.items() if key not in ("out", "codes")}
            for step in self.steps
        ]
        return Vector(self.name, self.about, list(self.ports), steps)

    def answers(self) -> dict[str, Any]:
        """Only what a target answered: what two targets are compared by."""
        return {
            "steps": [{key: step[key] for key in ("out", "codes") if key in step} for step in self.steps],
            "counters": self.counters,
            "direct_counters": self.direct_counters,
        }

    def dump(self, path: Path) -> None:
        """Write the JSON, one step a line so that a difference shows what changed."""
        head = {
            "name": self.name,
            "about": self.about,
            "program": self.program,
            "recorded": self.recorded,
            "ports": self.ports,
        }
        lines = [f'  "{key}": {json.dumps(value)},' for key, value in head.items() if value]
        lines.append('  "steps": [')
        lines += [f"    {json.dumps(step)}," for step in self.steps]
        lines[-1] = lines[-1].rstrip(",")
        tail: dict[str, Any] = {"counters": self.counters, "direct_counters": self.direct_counters}
        if self.recorded:
            lines.append("  ],")
            for key, tables in tail.items():
                lines.append(f'  "{key}": {{')
                lines += [f"    {json.dumps(name)}: {json.dumps(cells)}," for name, cells in tables.items()]
                lines[-1] = lines[-1].rstrip(",")
                lines.append("  }," if key == "counters" else "  }")
        else:
            lines.append("  ]")
        path.write_text("{\n" + "\n".join(lines) + "\n}\n")


_KINDS = ("write", "in", "packet_out", "link", "pause", "ack")


def load_vector(path: Path) -> Vector:
    """Read a vector or a case. VectorError when it is not one."""
    try:
        document = json.loads(path.read_text())
        vector = Vector(**document)
    except OSError as error:
        raise VectorError(f"{path}: {error.strerror}") from error
    except json.JSONDecodeError as error:
        raise VectorError(f"{path}:{error.lineno}: {error.msg}") from error
    except TypeError as error:
        raise VectorError(f"{path}: {error}") from error
    for number, step in enumerate(vector.steps):
        if sum(kind in step for kind in _KINDS) != 1:
            raise VectorError(f"{path}: steps[{number}]: expected one of {', '.join(_KINDS)}")
    return vector
