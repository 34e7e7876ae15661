"""Which run is meant: the same for every command."""

from __future__ import annotations

import os
from pathlib import Path

from csaud_runs import directory
from csaud_runs.directory import ENVIRONMENT, RunDir
from csaud_runs.errors import RunError


def all_runs(root: Path | None = None) -> list[RunDir]:
    """Every run directory in `root` (None: where all of this machine lie), oldest first."""
    root = root or directory.ROOT
    if not root.is_dir():
        return []
    return [RunDir(path) for path in sorted(root.iterdir(), key=lambda path: path.name) if path.is_dir()]


def find_run(named: Path | None = None, root: Path | None = None) -> RunDir:
    """The run that was named, else that of $CSAUD_RUN, else the live one that was started in this directory,
    or in the nearest one above it: another one may be somebody else's. Its path is absolute.

    Raises:
        RunError: there is none, or several; the text says what there is instead.
    """
    if named is None and (text := os.environ.get(ENVIRONMENT)):
        named = Path(text)
    if named is not None:
        run = RunDir(named.absolute())  # others are told of its sockets, who may be anywhere
        if not run.is_one():
            raise RunError(f"{named} is not the directory of a run: no fabric.json and no pids.json in it")
        return run
    return _of_here([run for run in all_runs(root) if run.is_live()], root or directory.ROOT)


def _of_here(live: list[RunDir], root: Path) -> RunDir:
    here = Path.cwd()
    origins = {run: run.started_in() for run in live}
    above = [origin for origin in origins.values() if origin is not None and here.is_relative_to(origin)]
    nearest = max(above, key=lambda origin: len(origin.parts), default=None)
    mine = [run for run, origin in origins.items() if nearest is not None and origin == nearest]
    if len(mine) == 1:
        return mine[0]
    if mine:
        several = ", ".join(str(run.path) for run in mine)
        raise RunError(f"{len(mine)} fabrics of {nearest} run: {several}; name one by --run")
    if origins:
        listed = ", ".join(
            f"{run.path} (of {origin or 'no known directory'})" for run, origin in origins.items()
        )
        raise RunError(f"no fabric of {here} runs; there is {listed}; name one by --run")
    raise RunError(
        f"no fabric runs: nothing live in {root}; start one with `csaud net up`, or name one by --run"
    )
