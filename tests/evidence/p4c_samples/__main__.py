"""`python -m tests.evidence.p4c_samples --p4c-samples DIR`: each v1model sample of p4c on the embedded switch
and on simple_switch_grpc, with random frames (root; p4c-bm2-ss and simple_switch_grpc on PATH).

DIR is testdata/p4_16_samples of a checkout of https://github.com/p4lang/p4c. Tables are as the program leaves
them. What comes out is compared byte for byte. docs/evidence/p4c-samples.json gets what each sample did:
alike, refused here, refused there, differed, not compilable; the status is 0 when nothing differed but what
is explained. Nothing of the samples is written outside a temporary folder, or --keep.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from csaud_softswitch.program_file import read_config

from tests.evidence.hidden_drops import ROOT, versions
from tests.evidence.p4c_samples.compare import PORTS, Outcome, compare
from tests.evidence.p4c_samples.compiled import COMPILER, NotCompilable, compile_sample, samples
from tests.evidence.p4c_samples.explained import EXPLAINED
from tests.evidence.tutorials.__main__ import commit_of, printed

OUT = ROOT / "docs" / "evidence" / "p4c-samples.json"
SEED = 9
FRAMES = 40


def one(source: Path, kept: Path, seed: int, frames: int) -> Outcome:
    """What one sample does."""
    try:
        program, info = compile_sample(source, kept)
    except NotCompilable as error:
        return Outcome("not compilable", reason=str(error))
    config = read_config(program, info)
    try:
        outcome = compare(config, f"{seed} {source.stem}", frames)
    except TimeoutError:  # simple_switch_grpc did not start in time, on a busy machine
        outcome = compare(config, f"{seed} {source.stem}", frames)
    if outcome.result == "differed" and source.stem in EXPLAINED:
        outcome.result, outcome.reason = "differed, explained", EXPLAINED[source.stem]
    return outcome


def run(
    chosen: Sequence[Path], kept: Path, seed: int, frames: int, jobs: int, say: Callable[[str], None]
) -> dict[str, Outcome]:
    """Of each sample, by its name; `jobs` at a time, as a switch is waited for more than it computes."""
    found: dict[str, Outcome] = {}
    with ThreadPoolExecutor(jobs) as pool:
        outcomes = pool.map(lambda source: one(source, kept, seed, frames), chosen)
        for source, outcome in zip(chosen, outcomes, strict=True):
            found[source.stem] = outcome
            say(f"{len(found)}/{len(chosen)} {source.stem}: {outcome.result} {outcome.reason}"[:300])
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.evidence.p4c_samples", description=__doc__)
    parser.add_argument("--p4c-samples", type=Path, required=True, metavar="DIR")
    parser.add_argument("--commit", help="of p4c, where DIR is not in a git repository")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--frames", type=int, default=FRAMES, help="of each sample")
    parser.add_argument("--jobs", type=int, default=4, help="samples at a time")
    parser.add_argument(
        "--only", action="append", default=[], metavar="SAMPLE", help="do these anew in --out"
    )
    parser.add_argument("--keep", type=Path, metavar="DIR", help="compiled samples, for the next time")
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    chosen = samples(given.p4c_samples)
    if missing := set(given.only) - {path.stem for path in chosen}:
        parser.error(f"no v1model sample {', '.join(sorted(missing))} in {given.p4c_samples}")
    if not chosen:
        parser.error(f"no v1model samples in {given.p4c_samples}")
    if given.only:
        chosen = [path for path in chosen if path.stem in given.only]
    print(f"seed {given.seed}, {len(chosen)} samples", flush=True)
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="csaud-samples-") as folder:
        kept = given.keep or Path(folder)
        kept.mkdir(parents=True, exist_ok=True)
        found = run(chosen, kept, given.seed, given.frames, given.jobs, lambda line: print(line, flush=True))
    counts = Counter(outcome.result for outcome in found.values())
    print(dict(counts))
    took_s = round(time.monotonic() - begun)
    if given.only and given.out.exists():
        before = json.loads(given.out.read_text())
        took_s += before["took_s"]
        found = {name: Outcome(**entry) for name, entry in before["programs"].items()} | found
        counts = Counter(outcome.result for outcome in found.values())
    if not given.only or given.out.exists():
        record(given, found, counts, took_s)
    return 1 if counts["differed"] else 0


def record(given: argparse.Namespace, found: dict[str, Outcome], counts: Counter[str], took_s: int) -> None:
    """One line a sample."""
    known = versions("bmv2")
    head: dict[str, Any] = {
        "what": "p4c's v1model samples on the embedded switch and on simple_switch_grpc, with random frames",
        "command": f"python -m tests.evidence.p4c_samples --p4c-samples DIR --seed {given.seed}"
        f" --frames {given.frames}",
        "p4c": printed(COMPILER, "--version"),
        "samples": given.commit or commit_of(given.p4c_samples),
        "simple_switch_grpc": known["simple_switch_grpc"],
        "csaud": known["csaud"],
        "python": known["python"],
        "kernel": known["kernel"],
        "seed": given.seed,
        "ports": len(PORTS),
        "took_s": took_s,
        "counts": {
            "samples": len(found),
            **dict(sorted(counts.items())),
            "frames in": sum(outcome.frames_in for outcome in found.values()),
            "frames out": sum(outcome.frames_out for outcome in found.values()),
            "alike with frames out": sum(o.result == "alike" and o.frames_out > 0 for o in found.values()),
        },
    }
    lines = [f"    {json.dumps(name)}: {json.dumps(outcome.as_json())}" for name, outcome in found.items()]
    text = json.dumps(head, indent=2)[:-2] + ',\n  "programs": {\n' + ",\n".join(lines) + "\n  }\n}\n"
    json.loads(text)
    given.out.write_text(text)


if __name__ == "__main__":
    sys.exit(main())
