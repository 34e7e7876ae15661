"""PyTorch's own tests of a backend (`DistributedTest`, which its package brings), run on this one.

    python -m tests.torch_backend.pytorch_suite [--like gloo|mpi] [--on csaud|gloo] [--only REGEX]

Where they ask for gloo they get csaud, so that what is written for gloo alone is tried, too; and as much
with MPI. `--on gloo` gives them gloo: which of them pass here with PyTorch's own backend. Processes are
forked, not spawned: importing PyTorch anew in each would take most of the time. Prints what failed, and
counts.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
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


def _suite(like: str, on: str) -> type[unittest.TestCase]:
    import csaud.torch  # noqa: F401
    import torch
    import torch.distributed as dist
    from torch.distributed import distributed_c10d
    from torch.testing._internal.distributed import distributed_test

    def replaced_by(original: Any) -> Any:
        def call(*arguments: Any, **options: Any) -> Any:
            if options.get("backend") == like:
                options["backend"] = on
            return original(*((on if word == like else word) for word in arguments), **options)

        return call

    dist.is_mpi_available = lambda: True
    for name in ("init_process_group", "new_group"):
        replaced = replaced_by(getattr(dist, name))
        setattr(dist, name, replaced)
        setattr(distributed_c10d, name, replaced)

    class OnBackend(distributed_test.TestDistBackend, distributed_test.DistributedTest._DistTestBase):
        def setUp(self) -> None:
            super().setUp()
            self._start_processes(torch.multiprocessing.get_context("fork").Process)

    return OnBackend


def _cause(why: str) -> str:
    """The line that names the error of the first process that had one, or what there is."""
    lines = why.strip().splitlines()
    return next((line for line in lines if re.match(r"\w+(\.\w+)*(Error|Exception): ", line)), lines[-1])


class _Told(unittest.TestResult):
    """Says each outcome as it comes.

    Attributes:
        outcomes: by test; "passed", or "failed: ..." and "skipped: ..." with the reason.
    """

    def __init__(self) -> None:
        super().__init__()
        self.outcomes: dict[str, str] = {}
        self._begun = 0.0

    def counts(self) -> dict[str, int]:
        """How many tests, by what came of them."""
        kinds = [outcome.partition(":")[0] for outcome in self.outcomes.values()]
        return {kind: kinds.count(kind) for kind in ("passed", "failed", "skipped")}

    def startTest(self, test: unittest.TestCase) -> None:
        super().startTest(test)
        self._begun = time.monotonic()

    def _tell(self, test: unittest.TestCase, outcome: str, why: str = "") -> None:
        name = test.id().rpartition(".")[2]
        self.outcomes[name] = f"{outcome}: {_cause(why)}" if why else outcome
        took = time.monotonic() - self._begun
        print(f"{outcome:8} {name} {took:.1f} s", *([why] if why else []), flush=True)

    def addSuccess(self, test: unittest.TestCase) -> None:
        self._tell(test, "passed")

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        self._tell(test, "skipped", "by PyTorch, everywhere" if "://github.com/" in reason else reason)

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:
        self._tell(test, "failed", str(err[1])[-3000:])

    addError = addFailure


def _keep(told: _Told, asked: argparse.Namespace) -> None:
    """Into the file, beside what was kept there of other backends."""
    import torch

    kept = json.loads(asked.out.read_text()) if asked.out.exists() else {}
    kept[f"{asked.on} in place of {asked.like}, {asked.world} ranks"] = {
        "versions": {"torch": torch.__version__, "python": platform.python_version()},
        "counts": told.counts(),
        "outcomes": told.outcomes,
    }
    asked.out.write_text(json.dumps(kept, indent=1) + "\n")


def main() -> int:
    """The exit status: 1 where a test failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--like", choices=("gloo", "mpi"), default="gloo", help="the backend that is replaced"
    )
    parser.add_argument("--on", choices=("csaud", "gloo"), default="csaud", help="the backend in its place")
    parser.add_argument("--only", default="", help="regular expression of names")
    parser.add_argument("--world", type=int, default=_WORLD, help="ranks")
    parser.add_argument(
        "--out", type=Path, help="file for the outcomes, as JSON; what it has of others is kept"
    )
    asked = parser.parse_args()
    if importlib.util.find_spec("expecttest") is None:
        parser.error("PyTorch's tests need expecttest: build/venv/bin/pip install expecttest")
    _prepare(asked.world, asked.like)
    suite = _suite(asked.like, asked.on)
    told = _Told()
    for name in unittest.TestLoader().getTestCaseNames(suite):
        if re.search(asked.only, name):
            suite(name).run(told)
    counts = told.counts()
    print(", ".join(f"{count} {kind}" for kind, count in counts.items()))
    if asked.out:
        _keep(told, asked)
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
