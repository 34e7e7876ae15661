"""Commands of a lab of which one may run at a time."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager

from csaud_runs.errors import RunError

from csaud_lab.site.load import Site


@contextmanager
def alone(site: Site, command: str) -> Iterator[None]:
    """RunError when another `csaud lab COMMAND` of this lab runs."""
    site.directory.mkdir(parents=True, exist_ok=True)
    with (site.directory / f"{command}.lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RunError(f"another `csaud lab {command}` of {site.file} runs") from None
        yield
