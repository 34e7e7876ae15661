"""The jobs of an acceptance: what is asked of the switches in each, and what must have happened then."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from csaud_controller.policy.faults import FaultRule
from csaud_controller.policy.model import Policy
from csaud_controller.policy.signals import LossSignal
from csaud_topologies.record.checks import Check, as_planned
from csaud_topologies.record.model import CheckResult, Report
from csaud_topologies.scenario.model import Scenario
from csaud_topologies.workloads.specs import AllReduce

from csaud_lab.site import Site

_TIME_LIMIT = 600_000_000_000


@dataclass(frozen=True)
class Part:
    """`counter` of the switches' DATA must not be zero; `signal` None: nothing is lost on purpose."""

    name: str
    about: str
    signal: LossSignal | None
    signalled: bool
    counter: str


PARTS = (
    Part("clean", "nothing is lost on purpose", None, False, ""),
    Part("trim", "cut packets go on to their receiver, with an iCRC of their own", "trim", True, "trimmed"),
    Part("bounce", "what was cut is told to its sender", "bounce", True, "bounced"),
    Part("injected", "packets are lost without a word", "trim", False, "injected"),
)


def policy(part: Part, before: Policy) -> Policy:
    """Of a part; limits, queues and what hosts may are as the lab has them."""
    asked: dict[str, Any] = {"spray": "random", "trim_icrc": True, "overrides": (), "signals": ()}
    asked["seed"] = before.seed  # as the lab has it, though nobody has set it
    return before.model_copy(update=asked | ({"loss_signal": part.signal} if part.signal else {}))


def rules(part: Part, site: Site) -> list[FaultRule]:
    """Losses at the ports of leaves to other switches, or to hosts where there is one switch."""
    if part.signal is None:
        return []
    between = any(site.fabric.uplinks(name) for name in site.fabric.switches)
    asked = site.lab.acceptance
    return [
        FaultRule(
            where="uplinks" if between else "hosts",
            probability=asked.loss,
            kinds=("data",),
            signalled=part.signalled,
            seed=asked.seed,
        )
    ]


def scenario(part: Part, site: Site, before: Policy) -> Scenario:
    """What runs, in the terms of `make mininet`."""
    asked = site.lab.acceptance
    return Scenario(
        name=f"acceptance, {part.name}",
        about=part.about,
        seed=asked.seed,
        workload=AllReduce(sizes=[asked.elements], repeats=asked.repeats),
        policy=policy(part, before),
        faults=rules(part, site),
        host={"device": site.lab.device},
        ipv6=asked.ipv6,
        time_limit=_TIME_LIMIT,
    )


def judged(part: Part, report: Report) -> Report:
    """The report with what an acceptance asks beyond its checks."""
    checks = [_links(report)] if report.uplinks else []
    if part.signal is not None:
        lost = getattr(report.switches, part.counter)
        about = f"DATA, on purpose: {part.about}"
        checks.append(as_planned(f"packets {part.counter}", lost, about))
        checks.append(_recovered(report, lost))
    if part.counter == "trimmed":
        checks.append(_icrc(report))
    all_checks = [*report.checks, *(CheckResult(**vars(check)) for check in checks)]
    return report.model_copy(
        update={"checks": all_checks, "passed": all(check.passed for check in all_checks)}
    )


def _links(report: Report) -> Check:
    """Random spraying leaves no link out."""
    unused = [f"{port.switch}>{port.peer}" for port in report.uplinks if not port.data]
    value = "all" if not unused else f"not {', '.join(unused)}"
    about = f"directions of links between switches that carried DATA, of {len(report.uplinks)}"
    return Check("links sprayed over", value, "all", not unused, about)


def _recovered(report: Report, lost: int) -> Check:
    """To switches PARITY is DATA; what it gives back is not sent again, and nobody makes good a lost one."""
    found = report.recovery
    equal = report.equality is not None and report.equality.bit_equal
    made_good = found.retransmitted + found.found_by["parity"]
    missing = lost - found.parity["lost"]
    about = "copies sent again or given back by parity, with results that are equal nevertheless"
    return Check("copies recovered", made_good, f">= {missing}", equal and made_good >= missing, about)


def _icrc(report: Report) -> Check:
    """A verbs device drops what has a wrong iCRC, so that nobody is told; the soft device counts it."""
    sent, told = report.switches.trim_sent, report.recovery.told["receivers"]
    bad = sum(int(host.get("rx_bad_icrc", 0)) for host in report.hosts)
    about = "cut packets with the iCRC that their switch computed, which hosts' devices have taken"
    return Check("iCRC of cut packets", told, f"{sent}, 0 refused", sent == told > 0 and not bad, about)
