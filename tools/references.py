"""Checks what the repository says of its own documents: `python -m tools.references`, part of `make lint`.

- a link in Markdown to a file, or to a heading of a document, leads somewhere;
- a document in docs/ that code or another document names is there;
- a section that is quoted after it (a comma, and its title in quotation marks) is a heading of it, or what a
  paragraph of it begins with in bold;
- what a document quotes as code, of files, modules and targets, and tests that it names, are there
  (tools/quoted.py).
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from tools.quoted import not_there, quoted, tests_not_there

ROOT = Path(__file__).resolve().parents[1]
_SUFFIXES = {".md", ".py", ".pyi", ".cpp", ".hpp", ".p4", ".lua", ".toml", ".txt", ".yaml", ".j2"}
_LINK = re.compile(r"\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]+))?\)")
_NAMED = re.compile(r'\b(docs/[\w./-]+\.md)(?:, "([^"]{1,80})")?')
# The dissector's fields are named as modules are; tests/wireshark holds their manual to it.
_MANUALS = re.compile(r"README\.md|docs/(?!dissector)[\w/-]+\.md")
_HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)
_LEAD = re.compile(r"^\*\*(.+?)[.:]?\*\*", re.MULTILINE)
_CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)
_LINE_OF_A_COMMENT = re.compile(r"\n[ \t]*(?://|#|--|\*)?[ \t]*")


@cache
def headings(document: Path) -> list[str]:
    """Of a document, without marks."""
    text = re.sub(r"^```.*?^```", "", document.read_text(), flags=re.MULTILINE | re.DOTALL)
    return [re.sub(r"[`*]", "", found) for found in _HEADING.findall(text)]


@cache
def sections(document: Path) -> set[str]:
    """The headings, and what paragraphs begin with in bold."""
    return {*headings(document), *_LEAD.findall(document.read_text())}


def _anchor(heading: str) -> str:
    """As GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def stale(file: Path, text: str, root: Path = ROOT) -> Iterator[str]:
    """What of a file's references leads nowhere, in words, with the line."""
    for match in _LINK.finditer(_blanked(text)) if file.suffix == ".md" else ():
        target = (file.parent / match[1]) if match[1] else file
        if not target.exists():
            yield f"{_at(text, match.start())}: there is no {match[1]}"
        elif match[2] and target.suffix == ".md" and match[2] not in map(_anchor, headings(target)):
            yield f"{_at(text, match.start())}: {match[1] or 'this document'} has no heading for #{match[2]}"
    for match in _NAMED.finditer(text):
        document = root / match[1]
        if not document.exists():
            yield f"{_at(text, match.start())}: there is no {match[1]}"
        elif match[2] and _joined(match[2]) not in sections(document):
            yield f'{_at(text, match.start())}: {match[1]} has no section "{_joined(match[2])}"'


def missing(text: str, root: Path, files: Sequence[str]) -> Iterator[str]:
    """What of a document's code is not among the repository's files, in words, with the line."""
    for offset, span in quoted(text):
        if fault := not_there(span, root, files):
            yield f"{_at(text, offset)}: {fault}"
    for offset, fault in tests_not_there(text, root, files):
        yield f"{_at(text, offset)}: {fault}"


def _joined(quoted: str) -> str:
    """A section that is quoted over two lines of a comment."""
    return _LINE_OF_A_COMMENT.sub(" ", quoted)


def _blanked(text: str) -> str:
    """Without code, whose brackets are no links; lines and columns stay."""
    return _CODE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def _at(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


def main() -> int:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    files = listed.stdout.splitlines()
    found = 0
    for name in files:
        file = ROOT / name
        if name.startswith("tests/tools/"):  # about what is wrong
            continue
        if not file.is_file() or (file.suffix not in _SUFFIXES and file.name != "Makefile"):
            continue
        text = file.read_text(errors="replace")
        faults = list(stale(file, text))
        if _MANUALS.fullmatch(name):
            faults += missing(text, ROOT, files)
        for fault in faults:
            print(f"{name}:{fault}")
        found += len(faults)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
