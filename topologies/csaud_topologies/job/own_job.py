"""A user's own program as a job in a fabric that waits for jobs."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from csaud_topologies.base.interrupt import Interrupted, raise_if_interrupted
from csaud_topologies.fabric.attached import attach
from csaud_topologies.job.environment import job_secret, own_environment
from csaud_topologies.job.own_plan import OwnJob
from csaud_topologies.job.own_ranks import OwnRanks


def run_own_job(job: OwnJob) -> int:
    """Call inside the run's namespaces; the exit status: that of the first rank that failed."""
    logs = Path(job.options.out) / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    fabric = attach(job.run, logs)
    secret = job_secret()

    def environment(rank: int) -> dict[str, str]:
        control = job.run.control_socket
        return own_environment(job.scenario, fabric.fabric, job.hosts, rank, control) | secret

    ranks = OwnRanks(job.command)
    try:
        ranks.start(fabric.net, job.hosts, environment, logs)
        ranks.run(raise_if_interrupted)
    except BaseException as error:
        by = error.status - 128 if isinstance(error, Interrupted) else signal.SIGTERM
        ranks.end(signal.Signals(by))
        raise
    if (verdict := ranks.verdict()) is not None:
        print(f"csaud: {verdict}; logs: {logs}", file=sys.stderr)
    return 0 if ranks.first_failed is None else ranks.first_failed.exit_status
