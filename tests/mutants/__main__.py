"""`python -m tests.mutants [--sample N] [--seed S] [--paths PATH ...]`: see the package."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from tests.mutants import nearest, sample
from tests.mutants.workshop import Workshop

ROOT = Path(__file__).resolve().parents[2]
DESCRIPTION = """Makes a random sample of mutants (the project with one small change each), in a copy below
--out, and asks the nearest tests of each. A test that fails counts if it passes without the change right
afterwards. Prints those that survive, with file, line and difference; writes all to OUT/mutants.json. The
status is 0 when the share that was caught is at least --least."""


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="python -m tests.mutants", description=DESCRIPTION)
    made.add_argument("--sample", type=int, default=100, metavar="N", help="how many (100)")
    made.add_argument("--seed", type=int, default=1, metavar="S", help="of the random choice (1)")
    made.add_argument("--paths", nargs="+", default=list(nearest.PARTS), metavar="PATH",
                      help=f"of what ({', '.join(nearest.PARTS)})")  # fmt: skip
    made.add_argument("--out", type=Path, default=ROOT / "build" / "mutants", help="folder (build/mutants)")
    made.add_argument("--limit", type=float, default=600.0, metavar="SECONDS",
                      help="after which a few files of tests that go on count as failed (600)")  # fmt: skip
    made.add_argument("--least", type=float, default=0.0, metavar="SHARE", help="between 0 and 1 (0)")
    made.add_argument("--near", action="store_true",
                      help="ask only the tests that are nearest: quick, and more survive")  # fmt: skip
    made.add_argument("--list", action="store_true", help="show the sample, and judge nothing")
    return made


def main() -> int:
    command = parser()
    given = command.parse_args()
    if given.sample < 1:
        command.error(f"--sample {given.sample}: expected 1 or more")
    try:
        files, left_out = sample.askable(sample.sources(ROOT, given.paths))
        if not files:
            raise ValueError("; ".join(f"{folder}: {why}" for folder, why in left_out.items()))
        mutants = sample.draw(ROOT, files, given.sample, given.seed)
    except ValueError as error:
        command.error(str(error))
    print(f"seed {given.seed}: {len(mutants)} mutants of {len({m.path for m in mutants})} files", flush=True)
    for folder, why in left_out.items():
        print(f"without {folder}: {why}", flush=True)
    if given.list:
        for mutant in mutants:
            print(f"\n{mutant.path}:{mutant.line}: {mutant.operator}\n{mutant.diff}")
        return 0
    try:
        workshop = Workshop(ROOT, given.out.resolve() / "work", limit_s=given.limit)
    except BlockingIOError:
        command.error(f"--out {given.out}: another run works there")
    if any(not mutant.path.endswith(".py") for mutant in mutants) and (complaint := workshop.build()):
        print(f"the tree does not compile:\n{complaint}", file=sys.stderr)
        return 2
    known = sample.equivalents()
    verdicts: list[sample.Verdict] = []
    for number, mutant in enumerate(mutants, 1):
        verdict = sample.judge(workshop, mutant, known, given.near)
        verdicts.append(verdict)
        words = verdict.words.splitlines()[0] if verdict.words else ""
        place = f"{mutant.path}:{mutant.line} ({mutant.operator})"
        print(f"{number:4} {verdict.outcome:16} {verdict.seconds:6.0f} s  {place} {words}", flush=True)
        if verdict.outcome in ("survived", "undecided"):
            print(mutant.diff, flush=True)
        write(given.out / "mutants.json", given.seed, verdicts)
    caught, of = score(verdicts)
    for outcome in ("survived", "undecided"):
        left = [verdict.mutant for verdict in verdicts if verdict.outcome == outcome]
        print("".join(f"{outcome}: {m.path}:{m.line}\n{m.changed}\n" for m in left), end="")
    print(f"{caught} of {of} caught; {given.out / 'mutants.json'}")
    return 0 if not of or caught / of >= given.least else 1


def score(verdicts: list[sample.Verdict]) -> tuple[int, int]:
    """How many were caught, of those that could be."""
    outcomes = [verdict.outcome for verdict in verdicts]
    return outcomes.count("caught"), outcomes.count("caught") + outcomes.count("survived")


def write(path: Path, seed: int, verdicts: list[sample.Verdict]) -> None:
    caught, of = score(verdicts)
    rows = [verdict.as_json() for verdict in verdicts]
    document = {"seed": seed, "caught": caught, "of": of, "mutants": rows}
    path.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
