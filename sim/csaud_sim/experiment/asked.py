"""Which runs a folder is to have, written before the first of them: a report of some says what is missing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from csaud_runs.errors import RunError
from csaud_runs.whole import write_whole
from csaud_topologies.base.usage import UsageError

FILE = "asked.json"


def write_asked(folder: Path, runs: Mapping[str, str]) -> None:
    """`runs`: settings with seeds, in words, by the names of their files."""
    try:
        write_whole(folder / FILE, json.dumps(runs, indent=1))
    except OSError as error:
        raise RunError(f"{folder / FILE}: {error.strerror}") from None


def _asked(folder: Path) -> dict[str, str]:
    """Empty where nobody said."""
    file = folder / FILE
    try:
        runs = json.loads(file.read_text())
        return {str(name): str(words) for name, words in runs.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, AttributeError) as error:
        raise UsageError(f"{file}: not written by csaud sim run: {error}") from None


def against_asked(files: Iterable[Path]) -> tuple[list[str], list[str]]:
    """What is missing in the folders of these runs, in words, and the names of those that nobody asked for
    when their folder was last run into."""
    names: dict[Path, set[str]] = {}
    for file in files:
        names.setdefault(file.parent, set()).add(file.name)
    missing, others = list[str](), list[str]()
    for folder, there in names.items():
        if asked := _asked(folder):
            missing += [words for name, words in asked.items() if name not in there]
            others += sorted(there - asked.keys())
    return missing, others
