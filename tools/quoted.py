"""What documents quote as code is there: files, modules, targets of make. Part of `tools.references`.

- source that is quoted by its name or the end of its path (`policy/spray.py`, `tests/hostlib/test_*.py`) is
  one of the repository's files; whatever is quoted from the top (`tests/ptf`) is a file or a folder of it;
- a module that is quoted by its whole name (`csaud_runs.etcd`) is a file, which has the name behind it;
- what is quoted after `make` is a target;
- a test that is named, quoted or not, is a file or a function of tests.

Whether commands and their options are there says tests/hostlib/test_commands.py, which asks the commands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

_SOURCES = ("py", "pyi", "cpp", "hpp", "p4", "lua", "toml", "cmake")
_OF_OTHERS = {
    "sim/ndp.cpp": "htsim",
    "watch_port_enforcer.cpp": "PI",
    "input_xbar.cpp": "p4c",
    "int.p4": "the INT specification",
}
"""Files that documents quote though they are of other projects."""

_BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"`([^`\n]+)`")
_FILE = re.compile(rf"[\w.*-]+(?:/[\w.*-]+)*\.(?:{'|'.join(_SOURCES)})")
_FOLDER = re.compile(r"[\w.-]+(?:/[\w.-]+)+/?")
_MODULE = re.compile(r"(csaud(?:_\w+)?)((?:\.\w+)+)(?:\(.*\))?")
_TEST = re.compile(r"\btest_\w*[a-z0-9]\b")
_MAKE = re.compile(r"(?:^|[;&] *|\w=\S+ )make((?: +[\w-]*\w(?:=\S*)?)+)$")


def quoted(text: str) -> Iterator[tuple[int, str]]:
    """The spans of code of a Markdown text, outside of blocks, and where each begins."""
    blanked = _BLOCK.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    return ((match.start(), match[1]) for match in _SPAN.finditer(blanked))


def tests_not_there(text: str, root: Path, files: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Tests that a text names and that there are not, in words, and where."""
    for match in _TEST.finditer(text):
        if match[0] not in _tests(root, tuple(files)):
            yield match.start(), f"there is no {match[0]}"


def not_there(span: str, root: Path, files: Sequence[str]) -> str | None:
    """What of a span of code is not among these files of the repository, in words; None: nothing."""
    if re.search(r"(?:^|/)[A-Z]+(?:[./-]|$)", span):  # names in capitals stand for others
        return None
    if _FILE.fullmatch(span):
        known = span in _OF_OTHERS or any(fnmatch(f"/{file}", f"*/{span}") for file in files)
        return None if known else f"there is no file {span}"
    if _FOLDER.fullmatch(span):
        folders = _folders(tuple(files))
        there = span.split("/")[0] not in folders or span.strip("/") in folders or span in files
        return None if there else f"there is no {span}"
    if module := _MODULE.fullmatch(span):
        return None if _has(module[1], module[2][1:].split("."), root, files) else f"there is no {span}"
    if made := _MAKE.match(span):
        targets = _targets(root / "Makefile")
        unknown = [word for word in made[1].split() if "=" not in word and word not in targets]
        return f"make has no target {unknown[0]}" if unknown else None
    return None


@cache
def _folders(files: tuple[str, ...]) -> set[str]:
    return {str(parent) for file in files for parent in Path(file).parents}


@cache
def _tests(root: Path, files: tuple[str, ...]) -> set[str]:
    found = [root / file for file in files if file.startswith("tests/") and file.endswith(".py")]
    functions = (name for file in found for name in re.findall(r"\bdef (test_\w+)", file.read_text()))
    return {*(file.stem for file in found), *functions}


@cache
def _targets(makefile: Path) -> set[str]:
    lines = re.findall(r"^([a-z][\w -]*):", makefile.read_text(), re.MULTILINE)
    return {word for line in lines for word in line.split()}


def _has(package: str, names: list[str], root: Path, files: Sequence[str]) -> bool:
    """Whether a package has the module of these names, or one that knows the last ones."""
    for at in range(len(names), -1, -1):
        ends = [f"/{'/'.join((package, *names[:at]))}{end}" for end in ("/__init__.py", ".py", ".pyi")]
        if found := [file for file in files if any(f"/{file}".endswith(end) for end in ends)]:
            text = "".join((root / file).read_text() for file in found)
            return at == len(names) or re.search(rf"\b{names[at]}\b", text) is not None
    return False
