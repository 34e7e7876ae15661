"""A user's own program in a fabric that waits for jobs, from its start to its report."""

from __future__ import annotations

import contextlib
import platform
import time
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from csaud_topologies.base.say import say
from csaud_topologies.fabric.targets import make_target
from csaud_topologies.job.own_job import run_own_job
from csaud_topologies.job.own_plan import OwnJob
from csaud_topologies.record.assemble import all_reduce_times, build_report
from csaud_topologies.record.describe import describe_run
from csaud_topologies.report.terminal import print_summary
from csaud_topologies.report.write import clear_report, write_or_say_why_not

OVERDUE_STATUS = 124
"""Exit status of a job that its time limit has ended; that of timeout(1)."""


def run_program(job: OwnJob, command_line: list[str]) -> int:
    """Call inside the run's namespaces; the exit status: that of the first rank that failed where more
    failed than may, else 0 when every check held and the report is written."""
    begun, started = time.monotonic(), datetime.now(UTC)
    out = Path(job.options.out)
    logs = out / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    clear_report(out)
    collected, ranks, job_s = run_own_job(job, logs)
    described = describe_run(
        collected.scenario,
        collected.fabric,
        job.hosts,
        command_line,
        target=job.options.target,
        workload={"name": "own program", "command": job.command},
        started=started.isoformat(timespec="seconds"),
        duration_s=time.monotonic() - begun,
        job_s=job_s,
        versions={
            **make_target(job.options.target).versions(),
            "python": platform.python_version(),
            "kernel": platform.release(),
        },
    )
    report = build_report(collected, described)
    page = write_or_say_why_not(report, out, all_reduce_times(collected))
    with contextlib.suppress(OSError, SystemExit):  # nobody reads it: the ranks' status holds
        print_summary(report, page, Console(highlight=False))
    if ranks.overdue_s is not None:
        say(f"{ranks.verdict()}; logs: {logs}")
        return OVERDUE_STATUS
    if ranks.first_failed is not None:
        say(f"{ranks.verdict()}; logs: {logs}")
        return ranks.first_failed.exit_status
    return 0 if report.passed and page is not None else 1
