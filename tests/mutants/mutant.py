"""One small change of one file."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass


def by_kind(operators: Iterable[str]) -> dict[str, list[int]]:
    """Kind -> the numbers of the operators that are of it; `+ to -` is of the kind of `+`."""
    found: dict[str, list[int]] = {}
    for number, operator in enumerate(operators):
        was, to, _ = operator.partition(" to ")
        found.setdefault(_FAMILIES.get(was, "arithmetic") if to else operator, []).append(number)
    return found


_FAMILIES = {
    **dict.fromkeys(("<", "<=", ">", ">=", "==", "!="), "comparison"),
    **dict.fromkeys(("&&", "||"), "logic"),
}


@dataclass(frozen=True)
class Mutant:
    """`path`: relative to the repository. `operator`: what was done. `before`, `after`: the whole file."""

    path: str
    line: int
    operator: str
    before: str
    after: str

    @property
    def diff(self) -> str:
        lines = difflib.unified_diff(
            self.before.splitlines(), self.after.splitlines(), self.path, self.path, n=1, lineterm=""
        )
        return "\n".join(lines)

    @property
    def change(self) -> tuple[str, str]:
        """What the lines that differ were and are, without white space at their ends."""
        lines = self.diff.splitlines()[2:]
        gone, come = (
            "\n".join(line[1:].strip() for line in lines if line.startswith(sign)) for sign in ("-", "+")
        )
        return gone, come

    @property
    def changed(self) -> str:
        """The lines that differ, as they were and as they are."""
        return "\n".join(line for line in self.diff.splitlines()[2:] if line.startswith(("-", "+")))
