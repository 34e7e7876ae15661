"""What takes long is done once: its outcome is a file, and stands as long as what defines it does."""

from __future__ import annotations

import json
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any

from csaud_runs.whole import write_whole


def definition(sources: Iterable[Path], *words: object) -> str:
    """Eight letters that are others once one of the files or of the words is another."""
    known = sha256(json.dumps([str(word) for word in words]).encode())
    for path in sources:
        known.update(path.read_bytes())
    return known.hexdigest()[:8]


def read(path: Path) -> Any:
    """What was written; None: it is not there, or damaged, and is to be done again."""
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        return None


def write(path: Path, outcome: Any) -> None:
    """All of it or nothing, whenever this process ends."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, json.dumps(outcome) + "\n")
