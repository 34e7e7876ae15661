"""`python -m tests.evidence.tutorials CHECKOUT`: compiles the solutions of p4lang/tutorials with p4c and
plays the same entries and packets on the embedded switch and on simple_switch_grpc (root, both on PATH).

Every frame, packet-in, code of an update, counter and idle timeout is compared; docs/evidence/tutorials.json
gets the counts and what differs. Nothing of the tutorials is written outside a temporary folder.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from csaud_softswitch._core import ProgramError
from csaud_softswitch.bmv2.command import version
from csaud_softswitch.exchange.bmv2 import Bmv2Target
from csaud_softswitch.exchange.compare import differences
from csaud_softswitch.exchange.soft import SoftTarget
from csaud_softswitch.exchange.target import play
from csaud_softswitch.exchange.vector import Vector
from csaud_softswitch.p4runtime.proto import p4r
from csaud_softswitch.program_file import read_config

from tests.evidence.hidden_drops import ROOT
from tests.evidence.tutorials import bursts, programs, runtime
from tests.evidence.tutorials.programs import EXERCISES, PORTS, Exercise
from tests.evidence.tutorials.times import without_times

OUT = ROOT / "docs" / "evidence" / "tutorials.json"
SEED = 7


@dataclass
class Result:
    """Of one program on all its switches."""

    switches: int = 0
    updates: int = 0
    packets: int = 0
    frames_out: int = 0
    told: int = 0
    """Packet-ins and idle timeouts."""
    differs: list[str] = field(default_factory=list)
    unsupported: str = ""

    @property
    def verdict(self) -> str:
        return "unsupported" if self.unsupported else "differs" if self.differs else "passes"

    def as_json(self) -> dict[str, Any]:
        found = {key: value for key, value in vars(self).items() if value or isinstance(value, int)}
        return {"result": self.verdict, **found}


def compiled(source: Path, folder: Path) -> p4r.ForwardingPipelineConfig:
    out = folder / f"{source.stem}.json"
    info = out.with_suffix(".p4info.txtpb")
    command = ["p4c-bm2-ss", "--p4v", "16", "--p4runtime-files", str(info), "-o", str(out), str(source)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{source}: {done.stderr}")
    return read_config(out, info)


def one(exercise: Exercise, at: Path, config: p4r.ForwardingPipelineConfig, seed: int) -> Result:
    """Every switch of an exercise on both targets."""
    result = Result()
    for number, file in enumerate(programs.runtimes(exercise, at)):
        try:
            soft = SoftTarget(config, PORTS)
        except ProgramError as error:
            result.unsupported = str(error)
            return result
        updates, steps = programs.steps(exercise, file, soft.index, seed + number)
        case = Vector(at.name, "", PORTS, [{"write": updates}, *steps] if updates else steps)
        ours = play(case, soft)
        with Bmv2Target(config, PORTS) as real:
            # It waits longer for what the embedded switch has answered.
            theirs = play(Vector(at.name, "", PORTS, ours.steps), real)
        if exercise.probes:
            ours, theirs = without_times(ours), without_times(theirs)
        if exercise.strays:
            ours.counters, theirs.counters = _sums(ours.counters), _sums(theirs.counters)
        label = f"{file.parent.name}/{file.stem}: "
        result.differs += [label + text for text in differences(theirs, ours)]
        result.switches += 1
        result.updates += len(updates)
        result.packets += len(steps)
        answers = [answer for step in ours.steps for answer in step.get("out", ())]
        frames = sum("frame" in answer and answer["port"] != "cpu" for answer in answers)
        result.frames_out += frames
        result.told += len(answers) - frames
    if exercise.burst:
        file = programs.runtimes(exercise, at)[0]
        updates = runtime.updates(file, SoftTarget(config, PORTS).index)
        sent, found = bursts.compare(config, updates, runtime.destinations(file), seed)
        result.packets += sent
        result.frames_out += sent
        result.differs += found
    return result


def _sums(counters: dict[str, dict[str, list[int]]]) -> dict[str, dict[str, list[int]]]:
    return {
        name: {"all": [sum(column) for column in zip(*cells.values(), strict=True)]}
        for name, cells in counters.items()
    }


def commit_of(checkout: Path) -> str:
    done = subprocess.run(["git", "-C", str(checkout), "rev-parse", "HEAD"], capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


def printed(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return (done.stdout + done.stderr).strip().splitlines()[-1]


def report(
    checkout: Path, commit: str, seed: int, only: list[str], say: Callable[[str], None]
) -> dict[str, Any]:
    at = checkout / "exercises"
    if missing := programs.is_complete(at):
        raise SystemExit(f"solutions that this does not know: {', '.join(missing)}")
    found: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory(prefix="csaud-tutorials-") as folder:
        for name, exercise in EXERCISES.items():
            if only and name not in only:
                continue
            root = at / programs.folder(name)
            result = one(exercise, root, compiled(root / exercise.source, Path(folder)), seed)
            found[name] = {"program": f"{root.name}/{exercise.source}", **result.as_json()}
            say(f"{name}: {found[name]}")
    verdicts = [entry["result"] for entry in found.values()]
    return {
        "what": "the solutions of p4lang/tutorials on the embedded switch and on simple_switch_grpc",
        "command": "python -m tests.evidence.tutorials CHECKOUT",
        "tutorials": commit,
        "p4c": printed("p4c-bm2-ss", "--version"),
        "simple_switch_grpc": version(),
        "seed": seed,
        "counts": {
            "programs": len(found),
            **{verdict: verdicts.count(verdict) for verdict in sorted({*verdicts})},
        },
        "notes": (
            "Byte for byte; but the times in link_monitor's probes are compared by which are the same, "
            "flowcache's counters by their sums: it counts packet-outs at an index from a header they lack. "
            "load_balance gets TCP only: what it hashes of others is undefined. ecn and mri get bursts into "
            "a slow port as well, for the depths of its queue."
        ),
        "programs": found,
    }


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.evidence.tutorials", description=__doc__)
    parser.add_argument("checkout", type=Path, help="a checkout of https://github.com/p4lang/tutorials")
    parser.add_argument("--commit", help="of the checkout, where it is not a git repository")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--only", action="append", default=[], choices=list(EXERCISES))
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    commit = given.commit or commit_of(given.checkout)
    found = report(given.checkout, commit, given.seed, given.only, lambda line: print(line, flush=True))
    if not given.only:
        given.out.write_text(json.dumps(found, indent=2) + "\n")
    return 0 if found["counts"].get("passes") == found["counts"]["programs"] else 1


if __name__ == "__main__":
    sys.exit(main())
