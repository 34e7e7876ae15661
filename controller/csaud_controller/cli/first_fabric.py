"""The fabric of a run that `csaud controller run --fabric FILE` begins with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from csaud_runs.whole import write_whole

from csaud_controller.base.yamlfile import FieldError
from csaud_controller.cli.common import UnknownName
from csaud_controller.control.fabric_change import addressed, following, in_words, wiring_changes
from csaud_controller.inventory import Fabric, load_fabric
from csaud_controller.run.directory import RunDir, find_run


def run_and_fabric(run: Path | None, file: Path | None) -> tuple[RunDir, Fabric, bool]:
    """With --fabric, the directory named by --run need not hold a fabric yet (True): it gets this one."""
    if file is None or run is None or (run / "fabric.json").exists():
        found = find_run(run)
        if file is not None:
            _is_that_of(found, file)
        return found, found.fabric(), False
    found = RunDir(run.absolute())
    return found, found.with_sockets(load_fabric(file)), True


def _is_that_of(run: RunDir, file: Path) -> None:
    """Two files that say which fabric a run has would be one too many: hosts, counters and the next start go
    by the run's own."""
    old = run.fabric()
    new = run.with_sockets(addressed(old, load_fabric(file)))
    try:
        is_same = following(old, old) == following(old, new)
    except FieldError:
        is_same = False
    if not is_same:
        what = in_words(wiring_changes(old, new)) or ["settings, not the wiring"]
        raise UnknownName(
            f"--fabric {file}: {run.fabric_file} is another ({'; '.join(what)}): start without --fabric, then"
            f" `csaud fabric apply {file}` changes it while switches forward"
        )


@contextmanager
def kept(run: RunDir, fabric: Fabric) -> Iterator[None]:
    """The fabric of a run that has none yet is kept there, unless what is asked for cannot be."""
    run.path.mkdir(parents=True, exist_ok=True)
    write_whole(run.fabric_file, fabric.to_json())
    try:
        yield
    except Exception:
        if not run.desired_file.exists():  # so no switch was written
            run.fabric_file.unlink(missing_ok=True)
        raise
