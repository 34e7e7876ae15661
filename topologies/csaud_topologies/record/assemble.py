"""From what was collected to the report: figures, books and checks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from csaud_controller.inventory import Fabric
from csaud_controller.policy.faults import Faults
from csaud_controller.policy.signals import LossSignal

from csaud_topologies.record import checks as verdicts
from csaud_topologies.record import model
from csaud_topologies.record.books import (
    CONTROL,
    DATA,
    KINDS,
    LOSS,
    OTHER,
    Books,
    End,
    HostCounts,
    Link,
    SwitchCounts,
    silent_hosts,
)
from csaud_topologies.record.books import balance as balance_books
from csaud_topologies.record.checks import Check
from csaud_topologies.record.time_split import time_split
from csaud_topologies.scenario.events import in_order
from csaud_topologies.scenario.model import Incast, Scenario

_SAMPLE = 2000
_LEARNED = 0.9  # far above the 10 % of a guess; the default scenario ends well above it
_FULL_LENGTH_STEPS = 20  # of a shorter run neither learning nor congestion is expected
_TAKEN: dict[LossSignal, tuple[str, str]] = {
    "trim": ("trimmed", "trimmed"),
    "bounce": ("bounced", "bounced"),
    "both": ("trimmed and bounced", "both"),
    "drop": ("dropped by congestion", "congestion_dropped"),
}
"""What becomes of DATA without room: in words, and by which counter."""
_ABOUT_ROOM = ("policy.limits", "policy.loss_signal", "policy.signals")


@dataclass
class Collected:
    """Everything a run has measured."""

    scenario: Scenario
    """With the policy and the faults that were in force when the job began."""
    in_force: model.InForce
    fabric: Fabric
    hosts: list[str]
    """Host of each rank."""
    steps: list[dict[int, dict[str, Any]]]
    """For each step, the step event of each rank."""
    reports: list[dict[str, Any]]
    """The report event of each rank; without `stats` where a rank of a user's own program left none."""
    reference: dict[str, Any] | None
    """None for a user's own program: nobody else knows what it computes."""
    switches: dict[str, SwitchCounts]
    paths: dict[str, dict[str, dict[int, list[int]]]]
    """Switch -> counter -> port -> packets by path bucket."""
    failed_links: set[frozenset[str]]
    hidden_drops: dict[str, int]
    events: list[model.EventRecord] = field(default_factory=list)
    """What the scenario did."""
    restarts: list[model.EventRecord] = field(default_factory=list)
    """Of the controller."""
    background: list[model.Background] = field(default_factory=list)
    timeline: model.Timeline | None = None
    changes: list[model.ChangeRecord] = field(default_factory=list)
    """Of policy and faults, while the job ran."""
    program: model.Program | None = None


def links_of(fabric: Fabric) -> list[Link]:
    """The inventory's edges as the books want them."""
    return [Link(End(*edge.ends[0]), End(*edge.ends[1])) for edge in fabric.edges]


def host_counts(found: Collected) -> dict[str, HostCounts]:
    """Each host's counts by its name."""
    return {
        host: HostCounts.from_stats(report["stats"])
        for host, report in zip(found.hosts, found.reports, strict=True)
        if "stats" in report
    }


def distribution(values: Iterable[float]) -> dict[str, Any] | None:
    """Figures of a set of times in seconds; None when it is empty."""
    sorted_values = np.sort(np.fromiter(values, float))
    if not len(sorted_values):
        return None
    thinned = sorted_values[
        np.linspace(0, len(sorted_values) - 1, min(_SAMPLE, len(sorted_values))).astype(int)
    ]
    return {
        "count": len(sorted_values),
        "mean_s": float(sorted_values.mean()),
        "p50_s": float(np.percentile(sorted_values, 50)),
        "p99_s": float(np.percentile(sorted_values, 99)),
        "max_s": float(sorted_values[-1]),
        "sample_s": [round(float(value), 9) for value in thinned],
    }


def all_reduce_times(found: Collected) -> list[float]:
    """Each all-reduce's time, that of its slowest rank, in order."""
    return [max(event["all_reduce_s"] for event in ranks.values()) for ranks in found.steps if ranks]


def build_report(found: Collected, run: model.Run) -> model.Report:
    """The report; `passed` says whether all checks held."""
    hosts = host_counts(found)
    links = links_of(found.fabric)
    silent = silent_hosts(links, found.switches, found.fabric.hosts)
    unknown = {host for host in found.hosts if host not in hosts} - silent
    if found.program is not None and found.program.deaths:  # the others went on sending to it
        unknown |= {rank.host for rank in found.program.ranks if rank.status} - silent
    cut_off = found.program is not None and found.program.cut_off
    books = balance_books(links, found.switches, hosts, found.failed_links, unknown, cut_off)
    without = [rank for rank, host in enumerate(found.hosts) if host in unknown]
    recovery = _recovery(list(hosts.values()), is_whole=not without)
    empty = silent == set(found.fabric.hosts)
    checks = (
        _checks_of_workload(found, books, hosts)
        if found.program is None
        else _checks_of_program(found, found.program, books, hosts, without, empty)
    )
    times = all_reduce_times(found)
    largest = max((event["bytes"] for ranks in found.steps for event in ranks.values()), default=0)
    reduces = distribution(times)
    flows = distribution(time for report in found.reports for time in report.get("flow_times", ()))
    return model.Report(
        passed=all(check.passed for check in checks),
        run=run,
        checks=[model.CheckResult(**asdict(check)) for check in checks],
        equality=_equality(found),
        training=_training(found),
        all_reduce=model.AllReduces(**reduces, bytes=largest) if reduces else None,
        flows=model.Distribution(**flows) if flows else None,
        time_split=time_split([report.get("spans", []) for report in found.reports]),
        recovery=recovery,
        switches=_switches_part(found),
        uplinks=_uplinks(found),
        timeline=found.timeline,
        books=_books_part(books, without, empty),
        in_force=found.in_force,
        changes=found.changes,
        events=sorted([*found.events, *found.restarts], key=lambda event: event.at_s),
        background=found.background,
        hosts=[report.get("stats", {}) for report in found.reports],
        program=found.program,
        fabric=found.fabric.model_dump(mode="json", exclude_none=True),
    )


def _equality(found: Collected) -> model.Equality | None:
    if found.reference is None:
        return None
    digest = found.reference["digest"]
    return model.Equality(
        bit_equal=all(report["digest"] == digest for report in found.reports),
        reference=digest,
        ranks=[report["digest"] for report in found.reports],
        weights_sha256=found.reference.get("weights_sha256"),
    )


def _checks_of_program(
    found: Collected,
    program: model.Program,
    books: Books,
    hosts: Mapping[str, HostCounts],
    without: Sequence[int],
    empty: bool,
) -> list[Check]:
    """Of a user's own program; where no packet was seen there is nothing to say of packets."""
    failed = {rank.rank: rank.ended for rank in program.ranks if rank.status}
    checks = [verdicts.ranks_ended(failed, program.deaths)]
    if not empty:
        checks.append(verdicts.counters_left(without, failed if program.deaths else ()))
        checks += verdicts.of_books(books)
        checks += _checks_of_packets(found, hosts)
    elif failed:  # perhaps for want of packets
        checks.append(verdicts.no_hidden_drops((), found.hidden_drops))
    due = f"<= {len(in_order(found.scenario.events))}"  # the program may be over before
    about = "events of the scenario that happened before the program's end"
    return [*checks, Check("events", len(found.events), due, True, about)]


def _checks_of_packets(found: Collected, hosts: Mapping[str, HostCounts]) -> list[Check]:
    part = _switches_part(found)
    return [
        verdicts.no_hidden_drops(list(hosts.values()), found.hidden_drops),
        verdicts.nothing_rejected(
            [report["stats"] for report in found.reports if "stats" in report],
            epochs=found.program is not None and found.program.epochs > 1,
        ),
        verdicts.marks(part.ecn_seen, part.ecn_marked),
    ]


def _checks_of_workload(found: Collected, books: Books, hosts: Mapping[str, HostCounts]) -> list[Check]:
    scenario, steps = found.scenario, found.scenario.workload.steps
    done = [
        max((s for s, ranks in enumerate(found.steps) if r in ranks), default=-1)
        for r in range(len(found.hosts))
    ]
    checks = [verdicts.all_steps([last + 1 for last in done], steps)]
    checks.append(verdicts.equal_results(found.reports, found.reference or {}))
    training = _training(found)
    if training is not None and steps >= _FULL_LENGTH_STEPS:
        checks.append(verdicts.learned(training.final_accuracy, _LEARNED))
    checks += verdicts.of_books(books)
    checks += _checks_of_packets(found, hosts)
    checks += _planned(found)
    due = len(in_order(scenario.events))
    about = "events of the scenario that happened"
    checks.append(Check("events", len(found.events), str(due), len(found.events) == due, about))
    return checks


def _planned(found: Collected) -> list[Check]:
    """What the scenario asks for must have happened, or the run shows less than it claims."""

    def total(counter: str) -> int:
        return sum(switch.total(counter, DATA) for switch in found.switches.values())

    checks = []
    sent = sum(report["stats"]["tx_data"] for report in found.reports)
    later = [Faults.model_validate({"rules": change.faults}).rules for change in found.changes]
    lasting = [rule for rule in found.scenario.faults if all(rule in rules for rules in later)]
    # Below some 30 expected losses, chance alone may well lose none.
    if any(rule.probability * sent > 30 and not rule.signalled for rule in lasting):
        checks.append(
            verdicts.as_planned("packets injected as lost", total("injected"), "DATA, by the fault rules")
        )
    # A short run may be over before a burst meets the job's packets; and who sets limits or signals by hand
    # decides by that what becomes of them.
    by_hand = [*found.in_force.unlike_scenario, *(what for change in found.changes for what in change.what)]
    as_written = not any(what.startswith(_ABOUT_ROOM) for what in by_hand)
    bursts = any(isinstance(beside, Incast) for beside in found.scenario.background)
    if as_written and bursts and found.scenario.workload.steps >= _FULL_LENGTH_STEPS:
        word, counter = _TAKEN[found.scenario.policy.loss_signal]
        about = "DATA, by the background's congestion"
        checks.append(verdicts.as_planned(f"packets {word}", total(counter), about))
    return checks


def _training(found: Collected) -> model.Training | None:
    if found.reference is None or "parameters" not in found.reference:
        return None
    accuracy = [ranks.get(0, {}).get("accuracy") for ranks in found.steps]
    loss = [_mean([event["loss"] for event in ranks.values()]) for ranks in found.steps]
    known = [value for value in accuracy if value is not None]
    return model.Training(
        parameters=found.reference["parameters"],
        steps=len(found.steps),
        final_accuracy=known[-1] if known else 0.0,
        accuracy=accuracy,
        loss=loss,
    )


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None


def _recovery(hosts: Sequence[HostCounts], *, is_whole: bool) -> model.Recovery:
    """Not whole, a difference of both ends' counts would be that of other ranks."""

    def total(name: str) -> int:
        return sum(int(getattr(host, name)) for host in hosts)

    lost = total("tx_data") - total("rx_data") - total("rx_stale_data")
    lost_parity = {"lost": total("tx_parity") - total("rx_parity")} if is_whole else {}
    return model.Recovery(
        sent=total("tx_data"),
        received=total("rx_data"),
        lost=lost if is_whole else None,
        retransmitted=total("retransmitted"),
        found_by={
            **{name: total(f"rtx_{name}") for name in ("loss", "gap", "interval", "probe")},
            "parity": total("rx_by_parity"),
        },
        spurious=total("retransmitted") + total("rx_by_parity") - lost if is_whole else None,
        duplicates=total("rx_duplicates"),
        told={"receivers": total("rx_loss_trimmed"), "senders": total("rx_loss_bounced")},
        control=total("tx_control"),
        parity={"sent": total("tx_parity"), **lost_parity},
    )


def _switches_part(found: Collected) -> model.SwitchesPart:
    """Totals over all switches, every port of theirs."""

    def of_data(counter: str) -> int:
        return sum(counts.total(counter, DATA) for counts in found.switches.values())

    def of_ports(counter: str) -> int:
        return sum(sum(getattr(counts, counter).values()) for counts in found.switches.values())

    def of_paths(counter: str) -> int:
        return sum(sum(map(sum, counts[counter].values())) for counts in found.paths.values())

    return model.SwitchesPart(
        **{name: of_data(name) for name in ("injected", "trimmed", "bounced", "both", "congestion_dropped")},
        **{name: of_ports(name) for name in ("trim_sent", "trim_dropped", "bounce_sent", "bounce_dropped")},
        ecn_marked=of_paths("marked"),
        ecn_seen=sum(int(report.get("stats", {}).get("rx_ecn", 0)) for report in found.reports),
        overflow=of_paths("overflow"),
    )


def _uplinks(found: Collected) -> list[model.Uplink]:
    rows = []
    for name in found.fabric.switches:
        counts = found.switches.get(name, SwitchCounts())
        paths = found.paths.get(name, {})
        for port in found.fabric.uplinks(name):
            egress = {kind: counts.egress.get((port, kind), 0) for kind in range(len(KINDS))}
            rows.append(
                model.Uplink(
                    switch=name,
                    port=port,
                    peer=found.fabric.peers[name][port].node,
                    data=egress[DATA],
                    control=egress[CONTROL],
                    loss=egress[LOSS],
                    other=egress[OTHER],
                    injected=sum(counts.injected.get((port, kind), 0) for kind in range(len(KINDS))),
                    trimmed=counts.trimmed.get((port, DATA), 0),
                    bounced=counts.bounced.get((port, DATA), 0),
                    congestion_dropped=sum(
                        counts.congestion_dropped.get((port, kind), 0) for kind in range(len(KINDS))
                    ),
                    by_path=paths.get("path_tx", {}).get(port, []),
                    marked_by_path=paths.get("marked", {}).get(port, []),
                )
            )
    return rows


def _books_part(books: Books, without: Sequence[int], empty: bool) -> model.BooksPart:
    def lines(entries: Iterable[Any]) -> list[model.BookLine]:
        return [
            model.BookLine(
                name=e.name,
                left=e.left,
                terms=e.terms,
                right=e.right,
                unexplained=e.unexplained,
                about=e.about,
            )
            for e in entries
        ]

    return model.BooksPart(
        balanced=books.balanced and not without,
        without=list(without),
        empty=empty,
        job=lines(books.lines),
        switches=lines(books.switches),
        links=[
            model.LinkLine(
                source=c.source,
                target=c.target,
                kind=KINDS[c.kind],
                left=c.left,
                arrived=c.arrived,
                missing=c.missing,
                was_down=c.failed,
            )
            for c in books.crossings
        ],
    )
