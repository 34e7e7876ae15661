"""Drawing mutants and judging them.

Of what can be done to a file, arguments left out are most by far in Python and the easiest to notice. A file
is drawn first, then a kind of change, each as likely as the others, then one of that kind.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

import yaml

from tests.mutants import nearest
from tests.mutants.cpp_mutants import CppFile
from tests.mutants.mutant import Mutant
from tests.mutants.workshop import Answer, Workshop

Outcome = Literal["caught", "survived", "undecided", "equivalent", "does not compile"]
EQUIVALENTS = Path(__file__).with_name("equivalents.yaml")
SUFFIXES = (".py", ".cpp", ".hpp")
_PATIENCE = 5  # tests that fail of the tree as it is, before a mutant is left undecided


class Mutants(Protocol):
    """Of one file, by number; None for one that is not the language."""

    def kinds(self) -> dict[str, list[int]]: ...

    def make(self, number: int) -> Mutant | None: ...


@dataclass(frozen=True)
class Verdict:
    mutant: Mutant
    outcome: Outcome
    words: str  # the test that caught it, why it is equivalent or undecided, or the compiler's complaint
    seconds: float

    def as_json(self) -> dict[str, Any]:
        mutant = self.mutant
        return {
            "path": mutant.path, "line": mutant.line, "operator": mutant.operator, "outcome": self.outcome,
            "words": self.words, "seconds": round(self.seconds, 1), "diff": mutant.diff,
        }  # fmt: skip


def sources(root: Path, paths: Iterable[str]) -> list[str]:
    """The source files at these paths, relative to `root`; ValueError for a path that has none."""
    found: set[str] = set()
    for path in paths:
        place = root / path
        files = [place] if place.is_file() else sorted(place.rglob("*"))
        here = {file.relative_to(root).as_posix() for file in files if file.suffix in SUFFIXES}
        if not here:
            raise ValueError(f"{path}: no Python or C++ there")
        for name in here:
            try:
                nearest.part(name)
            except KeyError:
                raise ValueError(f"{name}: expected a file below {', '.join(nearest.PARTS)}") from None
        found |= here
    return sorted(found)


def askable(files: list[str]) -> tuple[list[str], dict[str, str]]:
    """Those that have tests which can run here; and, by folder, why others have none."""
    lacking = {file: found for file in files if (found := nearest.lacks(file)) is not None}
    return [file for file in files if file not in lacking], dict(lacking.values())


def draw(root: Path, files: list[str], count: int, seed: int) -> list[Mutant]:
    """`count` different mutants; a file is as likely as it is long, a kind in it as any other. ValueError
    where mutmut is missing."""
    chance = random.Random(seed)
    texts = {file: (root / file).read_text() for file in files}
    weights = [sum(1 for line in text.splitlines() if line.strip()) for text in texts.values()]
    parsed: dict[str, Mutants] = {}
    drawn: dict[tuple[str, str], Mutant] = {}
    for _ in range(100 * count):
        if len(drawn) == count:
            break
        [file] = chance.choices(files, weights)
        if file not in parsed:
            parsed[file] = _parsed(file, texts[file])
        kinds = parsed[file].kinds()
        if not kinds:
            continue
        mutant = parsed[file].make(chance.choice(kinds[chance.choice(sorted(kinds))]))
        if mutant is not None:
            drawn.setdefault((file, mutant.after), mutant)
    return list(drawn.values())


def _parsed(file: str, text: str) -> Mutants:
    if not file.endswith(".py"):
        return CppFile(file, text)
    try:
        from tests.mutants.python_mutants import PythonFile
    except ModuleNotFoundError as error:
        raise ValueError(f"{file}: mutants of Python need mutmut, which `make mutants` installs") from error
    return PythonFile(file, text)


def equivalents() -> dict[tuple[str, str, str], str]:
    """(path, the lines as they were, as they are) -> why nobody could tell the difference."""
    entries = yaml.safe_load(EQUIVALENTS.read_text()) or []
    return {(entry["path"], entry["was"].strip(), entry["is"].strip()): entry["why"] for entry in entries}


def judge(workshop: Workshop, mutant: Mutant, known: dict[tuple[str, str, str], str], near: bool) -> Verdict:
    """Ask the tests; the tree is as before when this returns.

    What a test says of a mutant counts only where it has nothing to say of the tree as it is, asked right
    afterwards: a machine may be busy, and a test may fail now and then. Tests that were not done in time have
    half as long for that: where they take so long by themselves, what they took says nothing of the mutant.
    """
    began = time.monotonic()

    def verdict(outcome: Outcome, words: str) -> Verdict:
        return Verdict(mutant, outcome, words, time.monotonic() - began)

    if why := known.get((mutant.path, *mutant.change)):
        return verdict("equivalent", why)
    stages = nearest.stages(workshop.tree, mutant.path, near)
    for _ in range(_PATIENCE):
        found = _tried(workshop, mutant, stages)
        if isinstance(found, str):
            return verdict("does not compile", found)
        if found.passed:
            return verdict("survived", "")
        control = workshop.ask(found.tests, share=0.5 if found.late else 1.0)
        if control.passed:
            return verdict("caught", found.words)
        if not any("::" in test for test in control.tests):
            break
        for test in control.tests:
            workshop.leave_out(test)
    return verdict("undecided", f"without it, too: {control.words}")


def _tried(workshop: Workshop, mutant: Mutant, stages: list[list[str]]) -> Answer | str:
    """The first complaint of a test, if there is any; the compiler's is a text."""
    native = not mutant.path.endswith(".py")
    workshop.write(mutant.path, mutant.after)
    try:
        if native and (complaint := workshop.build()):
            return complaint
        answer = Answer(True, "")
        for tests in stages:
            answer = workshop.ask(tests)
            if not answer.passed:
                break
        return answer
    finally:
        workshop.write(mutant.path, mutant.before)
        if native:
            workshop.build()
