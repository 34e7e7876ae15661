"""A whole run, inside its namespaces: fabric, controller, job or prompt, report.

Its init (`init`) calls `run_session`, which sets the namespaces up before.
"""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import subprocess
import time
from datetime import UTC, datetime
from pathlib import Path

from csaud_runs.directory import RunDir
from csaud_runs.errors import RunError
from csaud_runs.whole import is_full, write_json
from rich.console import Console

from csaud_topologies.base.interrupt import Interrupted
from csaud_topologies.fabric.calibrate import measured_pps, paced
from csaud_topologies.fabric.host_names import name_hosts
from csaud_topologies.fabric.running import RunningFabric, running
from csaud_topologies.fabric.served import serve
from csaud_topologies.fabric.services import Services
from csaud_topologies.fabric.targets import make_target
from csaud_topologies.fabric.targets.base import P4Target, Place
from csaud_topologies.isolation.enter import with_own_commands
from csaud_topologies.job.run_job import prepare, run_job, wait_prepared
from csaud_topologies.record import model
from csaud_topologies.record.assemble import all_reduce_times, build_report
from csaud_topologies.record.describe import describe_run
from csaud_topologies.report.terminal import print_summary
from csaud_topologies.report.write import clear_report, write_or_say_why_not
from csaud_topologies.scenario.model import Scenario
from csaud_topologies.scenario.options import RunOptions
from csaud_topologies.scenario.plan import Plan, make_plan


class Runner:
    """One run of one plan on one target."""

    def __init__(self, options: RunOptions, run: RunDir, console: Console) -> None:
        self.console = console
        self.plan = make_plan(options)
        self.target: P4Target = make_target(options.target)
        self.out = Path(options.out)
        self.begun = time.monotonic()
        self.started = datetime.now(UTC)
        self.calibrated_pps: int | None = None
        self.folder = run.path / "workload"
        logs = self.out / "logs"
        shutil.rmtree(logs, ignore_errors=True)
        logs.mkdir(parents=True)
        clear_report(self.out)
        self.place = Place(run, logs, Services())

    def execute(self) -> int:
        """Run it; the exit status: 0 when every check held, at the prompt those of all its jobs."""
        name_hosts(self.plan.fabric, self.place.run)
        plan = self._calibrated(self.plan)
        preparing = None if plan.options.waits else prepare(plan, self.folder, self.place.logs)
        scenario, fabric = plan.scenario, plan.fabric
        self.console.print(
            f"{scenario.name} on {fabric.name}: {len(fabric.switches)} {self.target.name} switches,"
            f" {len(fabric.hosts)} hosts, seed {scenario.seed}"
        )
        with running(fabric, self.target, scenario.intent(), self.place) as up:
            self.console.print(
                f"all switches hold their tables, {up.in_sync_s:.1f} s after the controller's start"
            )
            if preparing is None:
                self._wait_for_jobs(plan, up)
                return 0
            if plan.options.cli:
                from csaud_topologies.run.prompt import prompt

                held = prompt(up.net, lambda: self._next_job(plan, up, preparing), up.set_link, self.console)
            else:
                held = self._job(plan, up, preparing)
            return 0 if held else 1

    def _wait_for_jobs(self, plan: Plan, up: RunningFabric) -> None:
        """Until a signal asks for the end, which is not a failure here."""
        write_json(self.place.run.scenario_file, plan.scenario.model_dump(mode="json", exclude_unset=True))
        try:
            self.console.print(
                "run a program in it: csaud net job -- python train.py   (from any terminal, in this"
                " folder)\n"
                "on one of its hosts: csaud net exec --host h1 -- CMD\n"
                "its end: csaud net down, or Ctrl-C here",
                markup=False,
            )
            serve(up, self.target)
        except Interrupted:
            with contextlib.suppress(OSError, SystemExit):  # its terminal may be closed
                self.console.print("\nthe fabric is taken down")

    def _calibrated(self, plan: Plan) -> Plan:
        if self.target.name != "bmv2":
            return plan
        self.calibrated_pps = plan.options.pps or measured_pps(self.target, self.place, self.console)
        return Plan(
            plan.options, plan.scenario, paced(plan.fabric, self.calibrated_pps, len(plan.hosts)), plan.hosts
        )

    def _next_job(self, plan: Plan, up: RunningFabric, preparing: subprocess.Popen[bytes]) -> bool:
        """One of those at the prompt: its report is not about the time before."""
        self.begun, self.started = time.monotonic(), datetime.now(UTC)
        return self._job(plan, up, preparing)

    def _job(self, plan: Plan, up: RunningFabric, preparing: subprocess.Popen[bytes]) -> bool:
        wait_prepared(preparing, self.place.logs)
        collected, job_s = run_job(plan, up, self.target, self.folder, self.console)
        report = build_report(collected, self._run_part(plan, collected.scenario, job_s))
        page = write_or_say_why_not(report, self.out, all_reduce_times(collected))
        print_summary(report, page, self.console)
        return report.passed and page is not None

    def _run_part(self, plan: Plan, scenario: Scenario, job_s: float) -> model.Run:
        """`scenario` as it ran."""
        return describe_run(
            scenario,
            plan.fabric,
            plan.hosts,
            plan.options.command,
            target=self.target.name,
            started=self.started.isoformat(timespec="seconds"),
            duration_s=time.monotonic() - self.begun,
            job_s=job_s,
            versions={
                **self.target.versions(),
                "python": platform.python_version(),
                "kernel": platform.release(),
            },
            calibrated_pps=self.calibrated_pps,
        )


def run_session(path: Path) -> int:
    """Run what options.json in the run directory asks for; the exit status."""
    run = RunDir(path)
    options = RunOptions.model_validate_json(run.options.read_text())
    # Hosts and switches inherit this: `h1 csaud ...` finds the command of this very installation.
    os.environ["PATH"] = with_own_commands(os.environ["PATH"])
    console = Console(highlight=False)
    try:
        _wait_recorded(run)
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        return Runner(options, run, console).execute()
    except RunError as error:
        if options.debug:
            console.print_exception()
        said = str(error)
    except OSError as error:
        if options.debug or not is_full(error):
            raise
        said = f"{error.strerror}: of what belongs in {options.out} a part is missing"
    console.print(f"csaud: {said}", style="red", markup=False, soft_wrap=True)
    return 1


def _wait_recorded(run: RunDir) -> None:
    """The supervisor writes pids.json when it has seen us; before that nothing is started."""
    for _ in range(1000):
        if run.pids.exists():
            return
        time.sleep(0.005)
    raise RunError(f"{run.pids}: not written by the supervisor")
