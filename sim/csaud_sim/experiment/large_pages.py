"""Memory in large pages for processes that are started.

Each switch of a fabric has tables and registers of its own; with 80 of them a hop takes a quarter to a
third less time so (`make bench-sim`). glibc asks for such pages only where it is told to before a process
starts (its manual, "Memory Allocation Tunables").
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

_VARIABLE = "GLIBC_TUNABLES"
_TUNABLE = "glibc.malloc.hugetlb"


@contextmanager
def large_pages() -> Iterator[None]:
    """Processes started meanwhile have them, unless who started this one has said what is to be."""
    before = os.environ.get(_VARIABLE)
    if before is None or _TUNABLE not in before:
        os.environ[_VARIABLE] = ":".join([*([before] if before else []), f"{_TUNABLE}=1"])
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(_VARIABLE, None)
        else:
            os.environ[_VARIABLE] = before
