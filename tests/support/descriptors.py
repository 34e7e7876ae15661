"""What this process has open."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from pathlib import Path


def open_files() -> Counter[str]:
    """How many of each: sockets and pipes by their inodes, files by their paths. What was opened since is
    `open_files() - before`, whatever of another test has gone meanwhile."""
    found = Counter[str]()
    for descriptor in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # that with which the folder is read
            found[str(descriptor.readlink())] += 1
    return found


def sockets() -> set[str]:
    """Of these, the sockets."""
    return {link for link in open_files() if link.startswith("socket:")}
