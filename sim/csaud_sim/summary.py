"""What `csaud sim run` prints of a scenario."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from csaud_topologies.record.model import Report
from rich.console import Console
from rich.table import Table

from csaud_sim.scenario_run import Outcome


def time_text(seconds: float) -> str:
    """Three digits or more, and a unit."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= scale:
            return (
                f"{seconds / scale:.3g} {unit}"
                if seconds < 1000 * scale
                else f"{seconds / scale:,.0f} {unit}"
            )
    return f"{seconds * 1e6:.3g} us"


def print_outcome(outcome: Outcome, report: Report, console: Console) -> None:
    """Completion by size of collective, times of messages, and what became of packets."""
    console.print(_completion(outcome))
    console.print(_packets(outcome, report))


def _completion(outcome: Outcome) -> Table:
    table = Table(title="completion of collectives, by the slowest rank", title_justify="left")
    for heading in ("bytes", "count", "p50", "p99", "max"):
        table.add_column(heading, justify="right")
    by_bytes: dict[int, list[float]] = defaultdict(list)
    for each in outcome.took:
        by_bytes[each["bytes"]].append(each["seconds"])
    for nbytes, seconds in sorted(by_bytes.items()):
        p50, p99 = np.percentile(seconds, (50, 99))
        table.add_row(
            f"{nbytes:,}", str(len(seconds)), time_text(p50), time_text(p99), time_text(max(seconds))
        )
    return table


def _packets(outcome: Outcome, report: Report) -> Table:
    recovery = report.recovery
    table = Table(title="messages and packets", title_justify="left", show_header=False)
    table.add_column(style="dim")
    table.add_column()
    if outcome.flow_times:
        table.add_row("messages", f"{len(outcome.flow_times):,}: {percentiles(outcome.flow_times)}")
    causes = next((line.terms for line in report.books.job if line.name == "lost DATA copies"), {})
    taken = ", ".join(f"{packets:,} {cause}" for cause, packets in causes.items() if packets) or "none"
    parity = f" and {recovery.parity['lost']:,} PARITY" if recovery.parity["lost"] else ""
    table.add_row("lost", f"{recovery.lost:,} of {recovery.sent:,} DATA copies{parity}: {taken}")
    found = ", ".join(f"{packets:,} by {name}" for name, packets in recovery.found_by.items())
    table.add_row("recovered", f"{recovery.retransmitted:,}: {found}; {recovery.spurious:,} spurious")
    told = ", ".join(f"{packets:,} to {who}" for who, packets in recovery.told.items())
    table.add_row("told by switches", told)
    table.add_row("duplicates", f"{recovery.duplicates:,}")
    table.add_row("control", f"{recovery.control:,}")
    return table


def percentiles(seconds: Sequence[float]) -> str:
    """p50, p99 and p99.9 in words."""
    return ", ".join(
        f"p{share:g} {time_text(float(value))}"
        for share, value in zip((50, 99, 99.9), np.percentile(seconds, (50, 99, 99.9)), strict=True)
    )
