"""The summary that ends a run on the terminal."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from csaud_topologies.record.model import RankTime, Report
from csaud_topologies.report.names import PARTS_OF_TIME


def print_summary(report: Report, page: Path | None, console: Console) -> None:
    """Figures first, then the checks, then where the rest is."""
    console.print()
    console.print(_figures(report))
    print_checks(report, page, console)


def print_checks(report: Report, page: Path | None, console: Console) -> None:
    """The checks, the verdict, and where the rest is, if it is somewhere."""
    console.print(_checks(report))
    failed = sum(not check.passed for check in report.checks)
    if failed:
        console.print(f"FAILED: {failed} of {len(report.checks)} checks did not hold", style="bold red")
    else:
        console.print(f"passed: all {len(report.checks)} checks held", style="bold green")
    if page is not None:
        console.print(f"report: {page} and {page.with_name('report.json').name} beside it", markup=False)


def _figures(report: Report) -> Table:
    run, recovery = report.run, report.recovery
    table = Table(
        title=f"{run.scenario} on {run.fabric} ({run.target}{', IPv6' * run.ipv6})",
        show_header=False,
        title_justify="left",
    )
    table.add_column(style="dim")
    table.add_column()
    for what in report.in_force.unlike_scenario:
        table.add_row("by hand", Text(what))
    for change in report.changes:
        table.add_row("changed", Text(f"{'; '.join(change.what)}, {change.at_s:.1f} s into the job"))
    for row in _program_rows(report):
        table.add_row(*row)
    if report.training:
        training = report.training
        table.add_row(
            "training",
            f"test accuracy {training.final_accuracy:.1%} after {training.steps} steps,"
            f" {training.parameters:,} parameters, {len(run.ranks)} ranks",
        )
    if report.equality:
        same = "bit-equal to" if report.equality.bit_equal else "DIFFERENT from"
        table.add_row("result", f"{same} one process that sums the shards in ring order")
    if report.all_reduce:
        times = report.all_reduce
        table.add_row(
            "all-reduce",
            f"p50 {times.p50_s * 1e3:.1f} ms, p99 {times.p99_s * 1e3:.1f} ms over {times.count}"
            f" (largest {times.bytes / 1e6:.1f} MB)",
        )
    if report.flows:
        flows = report.flows
        table.add_row(
            "messages",
            f"FCT p50 {flows.p50_s * 1e3:.2f} ms, p99 {flows.p99_s * 1e3:.2f} ms over {flows.count:,}",
        )
    if report.time_split:
        table.add_row("ranks' time", _shares(report.time_split))
    if report.books.empty or report.books.without:
        return table  # what hosts have counted is not all known
    causes = next((line.terms for line in report.books.job if line.name == "lost DATA copies"), {})
    taken = ", ".join(f"{packets:,} {cause}" for cause, packets in causes.items() if packets) or "none"
    parity = f" and {recovery.parity['lost']:,} PARITY" if recovery.parity["lost"] else ""
    table.add_row("lost", f"{recovery.lost:,} of {recovery.sent:,} DATA copies{parity}: {taken}")
    found = ", ".join(f"{packets:,} by {name}" for name, packets in recovery.found_by.items())
    table.add_row("retransmitted", f"{recovery.retransmitted:,}: {found}")
    if recovery.parity["sent"]:
        table.add_row("parity", "{sent:,} packets sent, {lost:,} of them lost".format(**recovery.parity))
    table.add_row("", f"{recovery.spurious:,} spurious, {recovery.duplicates:,} duplicates received")
    told = ", ".join(f"{packets:,} to {who}" for who, packets in recovery.told.items() if packets)
    if told:
        table.add_row("told by switches", f"{told} ({run.loss_signal}{', with iCRC' * run.loss_icrc})")
    marks = report.switches
    if marks.ecn_marked:
        table.add_row("ECN", f"{marks.ecn_marked:,} DATA marked, {marks.ecn_seen:,} seen by hosts")
    if marks.overflow:
        table.add_row("overflow alarm", f"{marks.overflow:,} packets found a queue near its end")
    with_hosts = _switches_with_hosts(report)
    up = [port for port in report.uplinks if port.switch in with_hosts]
    if up:
        fewest, most = min(up, key=lambda port: port.data), max(up, key=lambda port: port.data)
        table.add_row(
            "uplinks",
            f"{sum(port.data for port in up):,} DATA packets over {len(up)}: from {fewest.data:,}"
            f" ({fewest.switch}>{fewest.peer}) to {most.data:,} ({most.switch}>{most.peer})",
        )
    return table


def _shares(ranks: Sequence[RankTime]) -> str:
    """Of all ranks together."""
    total = sum(each.seconds for each in ranks)
    return ", ".join(
        f"{sum(getattr(each, part) for each in ranks) / total:.0%} {words}"
        for part, words in PARTS_OF_TIME.items()
    )


def _program_rows(report: Report) -> list[tuple[str, Text]]:
    """What there is to say of a user's own program."""
    if report.program is None:
        return []
    command = Text(shlex.join(report.program.command), overflow="ellipsis", no_wrap=True)
    rows = [("program", command), ("ranks", Text(f"{len(report.run.ranks)} ranks, {report.run.job_s:.1f} s"))]
    if report.books.empty:
        rows.append(("books", Text("no switch saw a CSA-UD packet: there is nothing to balance")))
    if report.books.without:
        ranks = ", ".join(map(str, report.books.without))
        rows.append(("books", Text(f"incomplete: rank {ranks} used the fabric and left no final counters")))
    return rows


def _switches_with_hosts(report: Report) -> set[str]:
    """Switches that hosts hang on."""
    hosts = report.fabric.get("hosts", {})
    joined = ((edge["a"], edge["b"]) for edge in report.fabric["edges"])
    return {a if b in hosts else b for a, b in joined if (a in hosts) != (b in hosts)}


def _checks(report: Report) -> Table:
    table = Table(title="checks", title_justify="left")
    table.add_column("")
    table.add_column("check")
    table.add_column("value", justify="right")
    table.add_column("expected", justify="right")
    for check in report.checks:
        mark = Text("ok", "green") if check.passed else Text("FAILED", "bold red")
        table.add_row(mark, Text(check.name), Text(_short(check.value)), Text(_short(check.expected)))
    return table


def _short(value: object) -> str:
    text = str(value)
    return f"{int(text):,}" if text.isdigit() else text
