"""Manual pages, made from the commands themselves: a page a command, in man(7).

click-man would do it for commands of click; since 0.20 typer has a click of its own, which it does not know.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import typer

from csaud.cli.statuses import OTHERS, STATUSES
from csaud.cli.tree import NAME, Entry, tree, walk

SECTION = 1


def write_pages(app: typer.Typer, folder: Path) -> list[Path]:
    """`csaud-policy-show.1` and so on into a folder, which is made; OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for entry in walk(tree(app)):
        path = folder / f"{title(entry)}.{SECTION}"
        path.write_text(page(entry), encoding="utf-8")
        written.append(path)
    return written


def title(entry: Entry) -> str:
    """`csaud-policy-show`."""
    return "-".join(entry.words)


def page(entry: Entry) -> str:
    """One manual page."""
    version = metadata.version(NAME)
    made = datetime.now(UTC).strftime("%Y-%m-%d")
    lines = [
        f'.TH "{title(entry).upper()}" "{SECTION}" "{made}" "{NAME} {version}" "CSA-UD"',
        ".SH NAME",
        rf"{_text(title(entry))} \- {_text(summary(entry))}",
        ".SH SYNOPSIS",
        f".B {_text(' '.join(entry.words))}",
        *(_text(piece) for piece in entry.command.collect_usage_pieces(entry.context)),
        ".SH DESCRIPTION",
        *_paragraphs(entry.command.help or ""),
        *_section("ARGUMENTS", _arguments(entry)),
        *_section("OPTIONS", _options(entry)),
        *_section("COMMANDS", _commands(entry)),
        *_section("ENVIRONMENT", _environment(entry)),
        *_section("EXIT STATUS", _statuses()),
        *_section("SEE ALSO", _others(entry)),
    ]
    return "\n".join(lines) + "\n"


def summary(entry: Entry) -> str:
    """The first sentence of its help."""
    words = " ".join((entry.command.help or "").split("\n\n")[0].split())
    return re.split(r"(?<=[.])\s", words)[0].rstrip(".:")


def _section(name: str, lines: Iterator[str]) -> list[str]:
    found = list(lines)
    return [f".SH {name}", *found] if found else []


def _arguments(entry: Entry) -> Iterator[str]:
    for each in entry.arguments:
        name = each.metavar or each.name.upper()
        yield from (".TP", f".I {_text(name.strip('[].'))}", _text(getattr(each, "help", None) or ""))


def _options(entry: Entry) -> Iterator[str]:
    for each in entry.options:
        record = each.get_help_record(entry.context)
        if record is not None:
            yield from (".TP", f".B {_text(record[0])}", _text(" ".join(record[1].split())))


def _commands(entry: Entry) -> Iterator[str]:
    for child in entry.children:
        yield from (".TP", f".BR {_text(title(child))} ({SECTION})", _text(summary(child)))


def _environment(entry: Entry) -> Iterator[str]:
    for each in entry.options:
        named = each.envvar
        for variable in [named] if isinstance(named, str) else named or ():
            yield from (".TP", f".B {_text(variable)}", _text(f"Used where {each.opts[0]} is not given."))


def _statuses() -> Iterator[str]:
    for status, meaning in STATUSES.items():
        yield from (".TP", f".B {status}", _text(meaning))
    yield from (".PP", _text(OTHERS))


def _others(entry: Entry) -> Iterator[str]:
    above = ["-".join(entry.words[:count]) for count in range(1, len(entry.words))]
    if above:
        yield ",\n".join(f".BR {_text(name)} ({SECTION})" for name in above)


def _paragraphs(text: str) -> Iterator[str]:
    for paragraph in text.replace("\b", "").split("\n\n"):
        yield from (".PP", _text(" ".join(paragraph.split())))


def _text(text: Any) -> str:
    """As man(7) has it: no escape, request or hyphen that was not meant."""
    safe = str(text).replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{safe}" if safe.startswith((".", "'")) else safe
