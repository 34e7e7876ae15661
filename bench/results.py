"""What a benchmark found out: rows with a value, what it is compared with, and whether its target holds."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from rich.console import Console
from rich.table import Table

Bound = Literal["at least", "at most"]


@dataclass
class Result:
    """One figure. `ratio` is value / peer_value; the target is about the ratio where there is a peer, and
    about the value otherwise. `holds` is None where there is no target.
    """

    name: str
    value: float
    unit: str
    peer: str | None = None
    peer_value: float | None = None
    ratio: float | None = None
    target: str | None = None
    holds: bool | None = None
    at: dict[str, Any] = field(default_factory=dict)
    """Where on a curve it lies, for plots: {"curve": ..., "x": ...}."""


def result(
    name: str,
    value: float,
    unit: str,
    *,
    peer: str | None = None,
    peer_value: float | None = None,
    bound: Bound | None = None,
    limit: float | None = None,
    at: dict[str, Any] | None = None,
) -> Result:
    """A row. With `bound` and `limit` it has a target, whose text is made of them."""
    ratio = value / peer_value if peer_value else None
    judged = value if ratio is None else ratio
    target = holds = None
    if bound is not None and limit is not None:
        target = f"{bound} {limit:g}{' x' if ratio is not None else f' {unit}'}"
        holds = judged >= limit if bound == "at least" else judged <= limit
    return Result(name, value, unit, peer, peer_value, ratio, target, holds, at or {})


def show(
    results: Iterable[Result], console: Console, circumstances: dict[str, str], title: str = "Embedded switch"
) -> None:
    """The table on the terminal. A target that is missed says so."""
    table = Table(title=title, show_lines=False)
    for head in ("", "value", "unit", "compared with", "its value", "ratio", "target", ""):
        table.add_column(head, justify="right" if head in ("value", "its value", "ratio") else "left")
    for row in results:
        verdict = {None: "", True: "holds", False: "[bold red]MISSED[/]"}[row.holds]
        table.add_row(
            row.name, number(row.value), row.unit, row.peer or "",
            "" if row.peer_value is None else number(row.peer_value),
            "" if row.ratio is None else f"{row.ratio:.3g}", row.target or "", verdict,
        )  # fmt: skip
    console.print(table)
    for key, text in circumstances.items():
        console.print(f"[dim]{key}: {text}[/]", highlight=False)


def number(value: float) -> str:
    """Three significant digits or all digits before the point, with thousands separated."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def save(results: Iterable[Result], circumstances: dict[str, str], path: Path) -> None:
    """The rows as a list of objects, in `path`; what the machine was like in `<stem>.machine.json`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps([asdict(row) for row in results], indent=1) + "\n")
    path.with_suffix(".machine.json").write_text(json.dumps(circumstances, indent=1) + "\n")
