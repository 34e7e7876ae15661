"""A sweep's runs on the workers of a Dask cluster, which may be other machines: files come back over the
network, so that nothing has to be shared."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

from csaud_runs.errors import RunError

from csaud_sim.experiment.code import Code, this_code
from csaud_sim.experiment.results import placed
from csaud_sim.experiment.sweep import Outcome, Outcomes, Say, Task, run_task

_PATIENCE = 10  # s until a scheduler has answered
_LOOK_EVERY = 10  # s without a result, after which it is looked whether there are workers
_ONE_AT_A_TIME = threading.Lock()
"""In a worker of several threads: the simulator keeps the interpreter busy, and counts processor time."""


@contextmanager
def machines_at(address: str) -> Iterator[Outcomes]:
    """Where tasks are run: at the scheduler `address`, such as tcp://host:8786.

    Raises:
        RunError: it does not answer, or has no worker.
        ImportError: the extra `dask` is not installed.
    """
    from distributed import Client

    try:
        client = Client(address, timeout=_PATIENCE)
    except (OSError, ValueError) as error:
        raise RunError(
            f"--dask {address}: no scheduler answered within {_PATIENCE} s ({error or type(error).__name__})"
        ) from None
    with client:
        if not client.scheduler_info(n_workers=-1)["workers"]:
            raise RunError(f"--dask {address}: the scheduler has no worker: dask worker {address}")
        yield lambda tasks, out, say: _outcomes(client, tasks, out, say)


def _outcomes(client: object, tasks: list[Task], out: Path, say: Say) -> Generator[tuple[Task, Outcome]]:
    from distributed import Client, wait

    assert isinstance(client, Client)
    futures = {client.submit(_measured, task, this_code(), pure=False): task for task in tasks}
    lonely = False
    try:
        while futures:
            try:
                done = wait([*futures], timeout=_LOOK_EVERY, return_when="FIRST_COMPLETED").done
            except TimeoutError:
                before, lonely = lonely, not client.scheduler_info(n_workers=-1)["workers"]
                if lonely and not before:
                    say("the scheduler has no worker any more; waiting for one: dask worker ADDRESS")
                continue
            for future in done:
                task, outcome = futures.pop(future), future.exception()
                if outcome is None:
                    outcome, content = future.result()
                    placed(task.path(out), content)
                yield task, outcome
                future.release()  # its file need not be kept by the cluster
    finally:
        client.cancel([*futures])


def _measured(task: Task, ours: Code) -> tuple[str, bytes]:
    """On a worker: a line on the run, and its file."""
    if not (here := this_code()).is_that_of(ours):
        raise RunError(f"a worker has csaud {here}, this is {ours}")
    with _ONE_AT_A_TIME, tempfile.TemporaryDirectory(prefix="csaud-sim-") as folder:
        file = task.path(Path(folder))
        file.parent.mkdir(parents=True)
        said = run_task(task, Path(folder))
        return said, file.read_bytes()
