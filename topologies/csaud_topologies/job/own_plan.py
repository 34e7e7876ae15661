"""A user's own program as a job: what is to run where, checked before anything is started."""

from __future__ import annotations

import fcntl
import os
import shlex
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from csaud_controller.base.units import parse_duration
from csaud_controller.base.yamlfile import FieldError, load_model
from csaud_controller.inventory import Fabric, load_fabric
from csaud_runs.directory import RunDir
from csaud_runs.errors import RunError
from pydantic import ValidationError

from csaud_topologies.base.usage import UsageError
from csaud_topologies.scenario.model import Scenario, Workers
from csaud_topologies.scenario.options import RunOptions
from csaud_topologies.scenario.placement import place


@dataclass(frozen=True)
class OwnJob:
    """What to run where."""

    run: RunDir
    scenario: Scenario
    options: RunOptions
    """Those of the fabric."""
    hosts: list[str]
    """Of each rank."""
    command: list[str]
    time_limit_s: float | None = None
    """After which it is ended."""
    deaths: int = 0
    """How many ranks may fail while the others go on."""


@contextmanager
def only_job(run: RunDir, command: Sequence[str]) -> Iterator[None]:
    """Hold the fabric for one job; RunError naming the one that has it."""
    with run.job_lock.open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise RunError(
                f"{run.path}: a job runs in this fabric: {file.read().strip()}; wait for its end"
            ) from None
        file.seek(0)
        file.truncate()
        file.write(f"`{shlex.join(command)}` (pid {os.getpid()})\n")
        file.flush()
        yield


def check_command(command: Sequence[str], path: str) -> None:
    """RunError when there is no such program."""
    if shutil.which(command[0], path=path) is None:
        raise UsageError(f"{command[0]}: no such program, neither here nor on PATH")


def own_job(
    run: RunDir,
    ranks: int | None,
    placement: str,
    command: Sequence[str],
    time_limit: str = "",
    deaths: int = 0,
) -> OwnJob:
    """The job in this fabric; RunError when it takes none, or has no such hosts.

    Args:
        time_limit: as "10min"; empty: none.
    """
    if not run.jobs_socket.exists():
        raise RunError(f"{run.path}: this fabric takes no jobs; those that `csaud net up` has started do")
    scenario = load_model(run.scenario_file, Scenario)
    hosts = _hosts(load_fabric(run.fabric_file), scenario.workers, ranks, placement)
    if deaths >= len(hosts):
        words = "one rank" if len(hosts) == 1 else f"{len(hosts)} ranks"
        raise UsageError(f"--deaths {deaths}: the job has {words}, and one has to be left")
    options = RunOptions.model_validate_json(run.options.read_text())
    return OwnJob(run, scenario, options, hosts, list(command), _seconds(time_limit), deaths)


def _seconds(time_limit: str) -> float | None:
    if not time_limit:
        return None
    try:
        nanoseconds = parse_duration(time_limit)
    except ValueError as error:
        raise UsageError(f"--time-limit {time_limit}: {error}") from None
    if nanoseconds <= 0:
        raise UsageError(f"--time-limit {time_limit}: expected a time of more than 0")
    return nanoseconds / 1e9


def _hosts(fabric: Fabric, workers: Workers, ranks: int | None, placement: str) -> list[str]:
    if ranks is not None and ranks > len(fabric.hosts):
        raise UsageError(f"--ranks {ranks}: {fabric.name} has {len(fabric.hosts)} hosts, one for each rank")
    wanted = workers.placement
    if placement:
        wanted = placement if placement in ("spread", "block") else placement.split(",")  # type: ignore[assignment]
    count = ranks or (None if placement else workers.count)
    if isinstance(wanted, list) and ranks and not placement:
        wanted = wanted[:ranks] if ranks <= len(wanted) else "spread"
    try:
        return place(fabric, Workers.model_validate({"count": count, "placement": wanted}))
    except FieldError as error:
        option = "--ranks" if "count" in error.loc else f"--placement {placement}"
        raise UsageError(f"{option}: {error}") from None
    except ValidationError:
        raise UsageError(f"--placement {placement}: expected spread, block, or hosts as h1,h3") from None
