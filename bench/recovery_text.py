"""The figures of `bench recovery` as tables in Markdown, for docs/evidence/loss-recovery.md."""

from __future__ import annotations

from collections.abc import Iterable

from bench.recovery import BUILT_UP, LEFT_OUT, TERMS, Found, best_fixed
from bench.recovery_cases import ADAPTIVE, ORACLE, SHIPPED, Case, Outcome


def comparison(found: Found) -> str:
    """A row for each case: percentiles and completion time of the adaptive interval, the best fixed one of
    each column, and the oracle; spurious copies."""
    lines = [
        "| loss | | p50 | p99 | p99.9 | completion | spurious copies a million | spurious KB a collective |",
        "|---|---|---|---|---|---|---|---|",
    ]
    text = []
    for pattern in dict.fromkeys(case.pattern for case, _ in found):
        rows = []
        for case in _cases(found):
            if case.pattern != pattern:
                continue
            fixed = best_fixed(found, case, lambda outcome: outcome.flow(99))
            for index, name in enumerate((ADAPTIVE.name, SHIPPED.name, fixed, ORACLE.name)):
                shown = f"best fixed: {name.removeprefix('fixed ')}" if name == fixed else name
                rows.append(_row(case.conditions if index == 0 else "", shown, found[case, name]))
        text.append("\n".join([f"**{pattern.replace('_', '-')}**", "", *lines, *rows]))
    return "\n\n".join(text)


def every_fixed(found: Found) -> str:
    """p99 flow time and completion time of all contenders, a line a case."""
    names = list(dict.fromkeys(name for _, name in found))
    lines = ["| | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    lines += [
        f"| {case.pattern.replace('_', '-')}, {case.conditions} | "
        + " | ".join(_pair(found[case, name]) for name in names) + " |"
        for case in _cases(found)
    ]  # fmt: skip
    return "\n".join(lines)


def ablation(found: Found) -> str:
    """p99 flow time and completion time of each variant, a column a case."""
    cases = _cases(found)
    lines = ["| | " + " | ".join(case.title for case in cases) + " |", "|---" * (len(cases) + 1) + "|"]
    lines += [
        f"| {by.name} | " + " | ".join(_pair(found[case, by.name]) for case in cases) + " |"
        for by in (*BUILT_UP, *LEFT_OUT)
    ]
    return "\n".join(lines)


def terms(found: Found) -> str:
    """The same of the interval's terms, a line a case, with spurious copies a million."""
    lines = ["| | " + " | ".join(by.name for by in TERMS) + " |", "|---" * (len(TERMS) + 1) + "|"]
    for case in _cases(found):
        cells = []
        for by in TERMS:
            outcome = found[case, by.name]
            cells.append(f"{_pair(outcome)} / {1e6 * outcome.spurious / outcome.sent:.0f}")
        lines.append(f"| {case.pattern.replace('_', '-')}, {case.conditions} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cases(found: Found) -> list[Case]:
    return list(dict.fromkeys(case for case, _ in found))


def _row(loss: str, name: str, outcome: Outcome) -> str:
    return _line(
        loss, name, *(f"{outcome.flow(percent):.1f}" for percent in (50, 99, 99.9)),
        _completion(outcome), f"{1e6 * outcome.spurious / outcome.sent:.0f}",
        f"{outcome.spurious_bytes / 1000:.0f}",
    )  # fmt: skip


def _pair(outcome: Outcome) -> str:
    return f"{outcome.flow(99):.0f} / {_completion(outcome)}"


def _completion(outcome: Outcome) -> str:
    return f"{outcome.completion:.0f}" if outcome.finished else "did not end"


def _line(*cells: Iterable[str] | str) -> str:
    return "| " + " | ".join(str(cell) for cell in cells) + " |"
