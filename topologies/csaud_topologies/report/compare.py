"""Two runs side by side: what differed in how they were run, and how their figures compare."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from csaud_controller.policy.faults import FaultRule
from pydantic import BaseModel, ValidationError
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from csaud_topologies.base.usage import UsageError
from csaud_topologies.record.model import SCHEMA, Report


@dataclass(frozen=True)
class Line:
    """One figure of both runs.

    Attributes:
        values: of the first and the second run; None where a run has no such figure.
        ratio: second over first; None where it means nothing.
    """

    name: str
    unit: str
    values: tuple[float | None, float | None]

    @property
    def ratio(self) -> float | None:
        first, second = self.values
        return second / first if first and second is not None else None


@dataclass(frozen=True)
class Comparison:
    """What `compare` found: settings that differ, by key, and figures."""

    settings: dict[str, tuple[str, str]]
    figures: list[Line]


class _Versioned(BaseModel):
    schema_version: int


_Figure = Callable[[Report], float | None]
_FIGURES: list[tuple[str, str, _Figure]] = [
    ("job", "s", lambda r: r.run.job_s),
    ("all-reduce p50", "ms", lambda r: r.all_reduce.p50_s * 1e3 if r.all_reduce else None),
    ("all-reduce p99", "ms", lambda r: r.all_reduce.p99_s * 1e3 if r.all_reduce else None),
    ("message completion p50", "ms", lambda r: r.flows.p50_s * 1e3 if r.flows else None),
    ("message completion p99", "ms", lambda r: r.flows.p99_s * 1e3 if r.flows else None),
    ("test accuracy", "%", lambda r: r.training.final_accuracy * 100 if r.training else None),
    ("DATA copies sent", "packets", lambda r: _of_hosts(r, r.recovery.sent)),
    ("lost", "packets", lambda r: _of_hosts(r, r.recovery.lost)),
    ("retransmitted", "packets", lambda r: _of_hosts(r, r.recovery.retransmitted)),
    ("spurious", "packets", lambda r: _of_hosts(r, r.recovery.spurious)),
    ("trimmed", "packets", lambda r: r.switches.trimmed),
    ("bounced", "packets", lambda r: r.switches.bounced),
    ("dropped by congestion", "packets", lambda r: r.switches.congestion_dropped),
    ("ECN marked", "packets", lambda r: r.switches.ecn_marked),
    ("control packets", "packets", lambda r: _of_hosts(r, r.recovery.control)),
    ("busiest uplink over mean", "ratio", lambda r: _imbalance(r)),
    ("checks that failed", "checks", lambda r: sum(not check.passed for check in r.checks)),
]
_NOT_SETTINGS = ("started", "duration_s", "job_s", "command", "about", "background", "events")


def load_report(place: Path) -> Report:
    """The report of a run's output folder, or a report.json itself.

    Raises:
        RunError: there is none, or it is of another version; the text names the file.
    """
    file = place / "report.json" if place.is_dir() else place
    try:
        text = file.read_text()
        # before anything else of it is looked at: a key of another version may mean something else
        if _Versioned.model_validate_json(text).schema_version != SCHEMA:
            raise UsageError(f"{file}: not a report.json of schema {SCHEMA}")
        report = Report.model_validate_json(text)
    except OSError as error:
        raise UsageError(
            f"{file}: {error.strerror}; expected a run's output folder or its report.json"
        ) from None
    except (ValidationError, UnicodeDecodeError):
        raise UsageError(f"{file}: not a report.json of schema {SCHEMA}") from None
    return report


def compare(first: Report, second: Report) -> Comparison:
    """Settings are those of `run`, policy and faults in force, background and events, the fabric's size
    included; figures that neither run has are left out."""
    old, new = (_settings(report) for report in (first, second))
    keys = dict.fromkeys([*old, *new])
    differing = {key: (old.get(key, "-"), new.get(key, "-")) for key in keys}
    figures = [Line(name, unit, (_of(first, take), _of(second, take))) for name, unit, take in _FIGURES]
    return Comparison(
        {key: pair for key, pair in differing.items() if pair[0] != pair[1]},
        [line for line in figures if line.values != (None, None)],
    )


def as_json(found: Comparison) -> dict[str, Any]:
    """For programs."""
    return {
        "settings": {key: list(pair) for key, pair in found.settings.items()},
        "figures": [
            {"name": line.name, "unit": line.unit, "values": list(line.values), "ratio": line.ratio}
            for line in found.figures
        ],
    }


def print_comparison(found: Comparison, names: tuple[str, str], console: Console) -> None:
    """For people."""
    heads = [escape(name) for name in names]
    settings = Table("setting", *heads, title="run differently", title_justify="left")
    for key, pair in found.settings.items():
        settings.add_row(Text(key), *map(Text, pair))
    console.print(settings if found.settings else "both were run alike")
    figures = Table("figure", "", title="figures", title_justify="left")
    for head in (*heads, "second / first"):
        figures.add_column(head, justify="right")
    for line in found.figures:
        ratio = "-" if line.ratio is None else f"{line.ratio:.2f}"
        figures.add_row(line.name, line.unit, *map(_number, line.values), ratio)
    console.print(figures)


def _of(report: Report, take: _Figure) -> float | None:
    value = take(report)
    return None if value is None else float(value)


def _of_hosts(report: Report, summed: int | None) -> int | None:
    """What ranks have counted; nothing where one of them left no counters."""
    return None if report.books.without else summed


def _imbalance(report: Report) -> float | None:
    sent = [port.data for port in report.uplinks]
    return max(sent) * len(sent) / sum(sent) if sum(sent) else None


def _settings(report: Report) -> dict[str, str]:
    flat: dict[str, str] = {}
    for key, value in report.run.model_dump(mode="json").items():
        if key in _NOT_SETTINGS:
            continue
        if isinstance(value, dict):
            flat |= {f"{key}.{inner}": str(each) for inner, each in value.items()}
        else:
            flat[key] = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    policy = {key: value for key, value in report.in_force.policy.items() if key not in flat}
    flat |= {f"policy.{key}": str(value) for key, value in policy.items()}
    changes = [what for change in report.changes for what in change.what]
    return flat | {
        "faults": "; ".join(_fault(rule, report.run.seed) for rule in report.in_force.faults),
        "background": "; ".join(_background(report)),
        "events": "; ".join(_events(report)),
        "changed while it ran": "; ".join(changes),
    }


def _fault(rule: dict[str, Any], seed: int) -> str:
    """With every key that is not as usual; the usual seed is the run's."""
    usual = FaultRule(probability=0, seed=seed).model_dump(mode="json")
    others = {key: value for key, value in rule.items() if value != usual.get(key)}
    shown = {rule["where"]: rule["probability"], **others}
    return _words({key: value for key, value in shown.items() if key not in ("where", "probability")})


def _background(report: Report) -> list[str]:
    """As it was asked for; of a report that does not tell, where it went."""
    if report.run.background is not None:
        return [_words(each) for each in report.run.background]
    return [_words({"to": each.to, "sources": each.sources}) for each in report.background]


def _events(report: Report) -> list[str]:
    """The same; else what happened."""
    if report.run.events is not None:
        return [_words(each) for each in report.run.events]
    return [each.what for each in report.events]


def _words(keys: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} {_value(value)}" for key, value in keys.items())


def _value(value: Any) -> str:
    if isinstance(value, list | tuple):
        return " ".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if value == int(value) else f"{value:,.2f}"
