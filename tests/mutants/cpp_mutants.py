"""Mutants of a C++ file: boundaries, operators, constants, conditions, statements left out.

They are made of the text, which clang-format keeps in one form: binary operators stand between spaces, angle
brackets of templates do not. What then does not compile is no mutant. Left alone: what changes nothing but
speed (alignment, room that is reserved).
"""

from __future__ import annotations

import re

from tests.mutants.mutant import Mutant, by_kind

BETWEEN_SPACES = {
    "<": ["<=", ">"], "<=": ["<"], ">": [">=", "<"], ">=": [">"], "==": ["!="], "!=": ["=="],
    "&&": ["||"], "||": ["&&"], "+": ["-"], "-": ["+"], "*": ["/"], "/": ["*"], "%": ["*"],
    "+=": ["-=", "="], "-=": ["+=", "="], "|=": ["&=", "="], "&=": ["|=", "="],
    "<<": [">>"], ">>": ["<<"], "&": ["|"], "|": ["&"], "^": ["&"],
}  # fmt: skip
WORDS = {
    "true": "false",
    "false": "true",
    "break": "continue",
    "continue": "break",
    "min": "max",
    "max": "min",
}

_HIDDEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'|^\s*#[^\n]*|static_assert\([^;]*;'
    r"|\balignas\([^)]*\)|^[^\n;]*\.reserve\([^;]*;",
    re.S | re.M,
)
_OPERATOR = re.compile(
    r"(?<= )(" + "|".join(map(re.escape, sorted(BETWEEN_SPACES, key=len)[::-1])) + r")(?=[ \n])"
)
_STEP = re.compile(r"\+\+|--")
_NUMBER = re.compile(r"(?<![\w.'])(\d+)(?![\w.'])")
_WORD = re.compile(r"\b(" + "|".join(WORDS) + r")\b")
_NOT = re.compile(r"!(?=[\w(])")
_CONDITION = re.compile(r"\b(?:if|while) \((?=[^;]*\n?)")
_STATEMENT = re.compile(
    r"^[ \t]+(?!return|throw|using|static|const|auto|break|continue|co_|else|case|default|goto|delete)"
    r"[\w.\->:\[\]()*+&]+(?:\([^;{}]*\)| (?:[-+|&^]|<<|>>)?= [^;{}]*|\+\+|--)?;",
    re.M,
)


class CppFile:
    """The mutants of one file."""

    def __init__(self, path: str, source: str) -> None:
        self._path = path
        self._source = source
        code = _HIDDEN.sub(lambda found: re.sub(r"[^\n]", "\0", found[0]), source)
        self._found: list[tuple[int, int, str, str]] = []
        for found in _OPERATOR.finditer(code):
            for other in BETWEEN_SPACES[found[1]]:
                self._add(found, other, f"{found[1]} to {other}")
        for found in _STEP.finditer(code):
            self._add(found, {"++": "--", "--": "++"}[found[0]], "step")
        for found in _NUMBER.finditer(code):
            self._add(found, str(int(found[1]) + 1), "number")
            if int(found[1]) > 1:
                self._add(found, str(int(found[1]) - 1), "number")
        for found in _WORD.finditer(code):
            self._add(found, WORDS[found[1]], "word")
        for found in _NOT.finditer(code):
            self._add(found, "", "not left out")
        for found in _CONDITION.finditer(code):
            end = _closing(code, found.end() - 1)
            if ";" not in code[found.end() : end]:
                inner = source[found.end() : end]
                self._found.append((found.end(), end, f"!({inner})", "condition turned round"))
        for found in _STATEMENT.finditer(code):
            self._add(found, ";", "statement left out")

    def _add(self, found: re.Match[str], other: str, operator: str) -> None:
        self._found.append((found.start(), found.end(), other, operator))

    def __len__(self) -> int:
        return len(self._found)

    def kinds(self) -> dict[str, list[int]]:
        return by_kind(operator for *_, operator in self._found)

    def make(self, number: int) -> Mutant | None:
        start, end, other, operator = self._found[number]
        line = self._source.count("\n", 0, start) + 1
        if operator == "statement left out":
            start += len(self._source[start:end]) - len(self._source[start:end].lstrip())
            line = self._source.count("\n", 0, start) + 1
        return Mutant(
            self._path, line, operator, self._source, self._source[:start] + other + self._source[end:]
        )


def _closing(code: str, opening: int) -> int:
    """Where the bracket that opens at `opening` closes."""
    depth = 0
    for at in range(opening, len(code)):
        depth += {"(": 1, ")": -1}.get(code[at], 0)
        if depth == 0:
            return at
    return len(code)
