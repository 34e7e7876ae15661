"""A sweep's runs on the workers of a Dask cluster, which may be other machines: files come back over the
network, so that nothing has to be shared."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

from csaud_runs.errors import RunError

from csaud_sim.experiment.results import placed
from csaud_sim.experiment.sweep import Outcome, Outcomes, Task, run_task

_PATIENCE = 10  # s until a scheduler has answered
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
        yield lambda tasks, out: _outcomes(client, tasks, out)


def _outcomes(client: object, tasks: list[Task], out: Path) -> Iterator[tuple[Task, Outcome]]:
    from distributed import Client, as_completed

    assert isinstance(client, Client)
    futures = {client.submit(_measured, task, version("csaud"), pure=False): task for task in tasks}
    try:
        for future in as_completed(futures):
            task, outcome = futures.pop(future), future.exception()
            if outcome is None:
                outcome, content = future.result()
                placed(task.path(out), content)
            yield task, outcome
            future.release()  # its file need not be kept by the cluster
    finally:
        client.cancel(list(futures))


def _measured(task: Task, ours: str) -> tuple[str, bytes]:
    """On a worker: a line on the run, and its file."""
    if (here := version("csaud")) != ours:
        raise RunError(f"a worker has csaud {here}, this is {ours}")
    with _ONE_AT_A_TIME, tempfile.TemporaryDirectory(prefix="csaud-sim-") as folder:
        file = task.path(Path(folder))
        file.parent.mkdir(parents=True)
        said = run_task(task, Path(folder))
        return said, file.read_bytes()
