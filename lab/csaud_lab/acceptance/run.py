"""Runs the parts of an acceptance, and leaves policy and faults as they were."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from csaud_controller.control.client import ControlError, ask
from csaud_controller.inventory import Fabric
from csaud_controller.policy.intent import Intent
from csaud_controller.run.directory import RunDir
from csaud_runs.errors import RunError
from csaud_runs.whole import write_json
from csaud_topologies.fabric.running import RunningFabric
from csaud_topologies.fabric.services import Services
from csaud_topologies.fabric.targets.base import Place
from csaud_topologies.job.run_job import run_job
from csaud_topologies.record.assemble import all_reduce_times, build_report
from csaud_topologies.record.describe import describe_run
from csaud_topologies.record.model import Report
from csaud_topologies.report.write import clear_report, write_report
from csaud_topologies.scenario.model import Workers
from csaud_topologies.scenario.options import RunOptions
from csaud_topologies.scenario.placement import place
from csaud_topologies.scenario.plan import Plan
from rich.console import Console

from csaud_lab.acceptance.model import Acceptance, Found, PartResult
from csaud_lab.acceptance.node import SshNode
from csaud_lab.acceptance.pages import clear, write
from csaud_lab.acceptance.parts import PARTS, Part, judged, scenario
from csaud_lab.checks.all import look
from csaud_lab.site import Site, alone

_APPLIED_WITHIN_S = 60.0
_COMMAND = ("csaud", "lab", "accept")


class _NoneKnown:
    """Real switches tell of no drops beside those that the P4 program counts."""

    def hidden_drops(self, place: Place) -> dict[str, int]:
        return {}


def accept(site: Site, out: Path, console: Console) -> Acceptance:
    """Every part, its report in `out`/NAME, and the page over them. RunError: another acceptance runs, the
    lab is not as it should be, or a job failed."""
    with alone(site, "accept"):
        clear(out)
        found = _accept(site, out, console)
        write(found, out)
        return found


def _accept(site: Site, out: Path, console: Console) -> Acceptance:
    begun, started = time.monotonic(), datetime.now(UTC)
    seen = look(site)
    if left := [each for each in seen if each.level in ("problem", "due")]:
        told = "\n".join(f"  {each.level}: {each.where}: {each.what}" for each in left)
        raise RunError(f"the lab is not ready (csaud lab check, csaud lab deploy):\n{told}")
    run = RunDir(site.run)
    hosts = place(site.fabric, Workers())
    parts = []
    with _as_it_was(site, run) as before:
        for part in PARTS:
            console.print(f"{part.name}: {part.about}", markup=False)
            report = _run(part, site, run, hosts, before, out / part.name, console)
            for check in (each for each in report.checks if not each.passed):
                told = f"{part.name}: {check.name}: {check.value}, expected {check.expected} ({check.about})"
                console.print(told, style="bold red", markup=False, soft_wrap=True)
            parts.append(_result(part, report))
    return Acceptance(
        passed=all(part.passed for part in parts),
        lab=str(site.file),
        fabric=site.fabric.name,
        started=started.isoformat(timespec="seconds"),
        duration_s=time.monotonic() - begun,
        device=site.lab.device,
        hosts=hosts,
        looked_at=[Found(level=each.level, where=each.where, what=each.what) for each in seen],
        parts=parts,
    )


@contextmanager
def _as_it_was(site: Site, run: RunDir) -> Iterator[Intent]:
    """Policy and faults in force come back after the body; those of an acceptance that was killed, too."""
    kept = site.directory / "before-acceptance.json"
    if kept.exists():
        _demand(run, Intent.model_validate_json(kept.read_text()))
    before = Intent.model_validate(_ask(run, "intent")["intent"])
    write_json(kept, before.model_dump(mode="json"))
    try:
        yield before
    finally:
        _demand(run, before)
        kept.unlink()


def _ask(run: RunDir, op: str, **arguments: Any) -> dict[str, Any]:
    try:
        answer = ask(run.control_socket, op, timeout_s=_APPLIED_WITHIN_S, **arguments)
    except ControlError as error:
        raise RunError(str(error)) from None
    if pending := answer.get("pending"):
        raise RunError(f"switches do not hold what was asked for: {json.dumps(pending)}")
    return answer


def _demand(run: RunDir, intent: Intent) -> None:
    """This policy and these faults, on all switches."""
    _ask(run, "fault.clear")
    _ask(run, "policy.set", policy=intent.policy.model_dump(mode="json"))
    for rule in intent.faults.rules:
        _ask(run, "fault.set", rule=rule.model_dump(mode="json"))


def _run(
    part: Part, site: Site, run: RunDir, hosts: list[str], before: Intent, out: Path, console: Console
) -> Report:
    planned = scenario(part, site, before.policy)
    out.mkdir(parents=True, exist_ok=True)
    clear_report(out)
    logs = out / "logs"
    logs.mkdir(exist_ok=True)
    begun, started = time.monotonic(), datetime.now(UTC)
    _demand(run, planned.intent())
    fabric = run.fabric()
    nodes = {host: SshNode(site, host) for host in fabric.hosts}
    running = RunningFabric(fabric, nodes, Place(run, logs, Services()), 0.0)
    plan = Plan(RunOptions(command=list(_COMMAND)), planned, fabric, hosts)
    collected, job_s = run_job(plan, running, _NoneKnown(), out, console)
    described = describe_run(
        collected.scenario,
        fabric,
        hosts,
        _COMMAND,
        target=_targets(fabric),
        started=started.isoformat(timespec="seconds"),
        duration_s=time.monotonic() - begun,
        job_s=job_s,
        versions={
            "csaud": version("csaud"),
            "python": platform.python_version(),
            "kernel": platform.release(),
        },
        calibrated_pps=None,
    )
    report = judged(part, build_report(collected, described))
    write_report(report, out, all_reduce_times(collected))
    return report


def _targets(fabric: Fabric) -> str:
    return ", ".join(sorted({spec.target or "soft" for spec in fabric.switches.values()}))


def _result(part: Part, report: Report) -> PartResult:
    recovery = report.recovery
    return PartResult(
        name=part.name,
        about=part.about,
        passed=report.passed,
        checks=len(report.checks),
        failed=[check.name for check in report.checks if not check.passed],
        figures={
            "all_reduce_p50_s": report.all_reduce.p50_s if report.all_reduce else None,
            "sent": recovery.sent,
            "lost": recovery.lost,
            "retransmitted": recovery.retransmitted,
            "found_by": recovery.found_by,
        },
        report=f"{part.name}/report.html",
    )
