"""PyTorch's own tests of a backend (`DistributedTest`, which its package brings), run on this one.

    python -m tests.torch_backend.pytorch_suite [--like gloo|mpi] [--only REGEX] [--world 4] [--out FILE]

Where they ask for gloo they get csaud, so that what is written for gloo alone is tried, too; and as much
with MPI. Processes are forked, not spawned: importing PyTorch anew in each would take most of the time.
Prints what failed, and counts.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any

_WORLD = 4
_LIMIT = 100  # s a test


def _prepare(world: int, like: str) -> None:
    """What the module reads when it is imported."""
    temporary = tempfile.mkdtemp(prefix="csaud-suite-")
    (Path(temporary) / "barrier").mkdir()
    os.environ.update(
        BACKEND=like, WORLD_SIZE=str(world), TEMP_DIR=temporary, INIT_METHOD="env://", OMP_NUM_THREADS="1",
        DISTRIBUTED_TESTS_DEFAULT_TIMEOUT=str(_LIMIT),
    )  # fmt: skip


def _suite(like: str) -> type[unittest.TestCase]:
    import csaud.torch  # noqa: F401
    import torch
    import torch.distributed as dist
    from torch.distributed import distributed_c10d
    from torch.testing._internal.distributed import distributed_test

    def as_csaud(original: Any) -> Any:
        def call(*arguments: Any, **options: Any) -> Any:
            if options.get("backend") == like:
                options["backend"] = "csaud"
            return original(*(("csaud" if word == like else word) for word in arguments), **options)

        return call

    dist.is_mpi_available = lambda: True
    for name in ("init_process_group", "new_group"):
        replaced = as_csaud(getattr(dist, name))
        setattr(dist, name, replaced)
        setattr(distributed_c10d, name, replaced)

    class OnCsaud(distributed_test.TestDistBackend, distributed_test.DistributedTest._DistTestBase):
        def setUp(self) -> None:
            super().setUp()
            self._start_processes(torch.multiprocessing.get_context("fork").Process)

    return OnCsaud


class _Told(unittest.TestResult):
    """Says each outcome as it comes."""

    def __init__(self) -> None:
        super().__init__()
        self.outcomes: dict[str, str] = {}
        self._begun = 0.0

    def startTest(self, test: unittest.TestCase) -> None:
        super().startTest(test)
        self._begun = time.monotonic()

    def _tell(self, test: unittest.TestCase, outcome: str, why: str = "") -> None:
        name = test.id().rpartition(".")[2]
        self.outcomes[name] = outcome
        took = time.monotonic() - self._begun
        print(f"{outcome:8} {name} {took:.1f} s", *([why] if why else []), flush=True)

    def addSuccess(self, test: unittest.TestCase) -> None:
        self._tell(test, "passed")

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        self._tell(test, "skipped", reason)

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:
        self._tell(test, "failed", str(err[1])[-3000:])

    addError = addFailure


def main() -> int:
    """The exit status: 1 where a test failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--like", choices=("gloo", "mpi"), default="gloo", help="the backend that it replaces"
    )
    parser.add_argument("--only", default="", help="regular expression of names")
    parser.add_argument("--world", type=int, default=_WORLD, help="ranks")
    parser.add_argument("--out", type=Path, help="file for the outcomes, as JSON")
    asked = parser.parse_args()
    _prepare(asked.world, asked.like)
    suite = _suite(asked.like)
    told = _Told()
    for name in unittest.TestLoader().getTestCaseNames(suite):
        if re.search(asked.only, name):
            suite(name).run(told)
    counts = {kind: list(told.outcomes.values()).count(kind) for kind in ("passed", "failed", "skipped")}
    print(", ".join(f"{count} {kind}" for kind, count in counts.items()))
    if asked.out:
        asked.out.write_text(json.dumps(told.outcomes, indent=1) + "\n")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
