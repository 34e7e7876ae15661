"""Of an experiment with cases: every setting beside the others on the same case, in Markdown."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from csaud_sim.experiment.baselines import marked
from csaud_sim.experiment.comparison import SHARES, SettingFigures, measures_in, notes_of, values_of
from csaud_sim.experiment.results import Run
from csaud_sim.experiment.sweep import CASE_MARK

_MILLION = 1e6


def has_cases(runs: Mapping[str, Sequence[Run]]) -> bool:
    """Whether every setting is one of a case."""
    return all(CASE_MARK in setting for setting in runs)


def tables(runs: Mapping[str, Sequence[Run]], figures: Sequence[SettingFigures]) -> str:
    """First a row a case and a column a setting: the second percentile of what is measured first, and the
    mean of what is last; then everything of each case.
    """
    found = {(case, setting): f for f in figures for case, setting in [_parts(f.setting)]}
    cases = _in_order(runs, 0)
    settings = _in_order(runs, 1)
    measures = measures_in(figures)
    first, last = (
        ("message_us", "completion_us") if "completion_us" in measures else (measures[0], measures[-1])
    )

    doubt = {_parts(f.setting)[1]: f.doubt for f in figures}

    def mean(case: str, setting: str) -> str:
        total = "collectives_unfinished" if last == "completion_us" else "unfinished"
        unfinished = found[case, setting].totals.get(total, 0)
        beside = f" ({unfinished:.1f} a run not over)" if unfinished else ""
        if last not in found[case, setting].percentiles:
            return f"-{beside}"
        values = np.concatenate([values_of(run, last) for run in runs[_whole(case, setting)]])
        return _number(float(np.mean(values))) + beside

    lines = [
        f"p{SHARES[1]:g} of `{first}` / mean of `{last}`:",
        "",
        "| | " + " | ".join(marked(each, doubt[each]) for each in settings) + " |",
        "|---" * (len(settings) + 1) + "|",
    ]
    for case in cases:
        cells = (
            f"{_percentiles(found[case, setting], first)[1]} / {mean(case, setting)}"
            if (case, setting) in found
            else ""
            for setting in settings
        )
        lines.append(f"| {case} | " + " | ".join(cells) + " |")
    heads = [f"p{share:g}" for share in SHARES]
    lines += [
        "",
        f"Percentiles of `{first}`; copies sent for nothing, of a million of DATA; from a loss to the copy "
        "that arrives, us:",
        "",
        "| | | " + " | ".join([*heads, f"mean `{last}`", "spurious", "recovery p50", "p99"]) + " |",
        "|---" * (len(heads) + 6) + "|",
    ]
    for case in cases:
        for number, setting in enumerate(each for each in settings if (case, each) in found):
            of = found[case, setting]
            row = [*_percentiles(of, first), mean(case, setting), *_losses(of.totals)]
            label = marked(setting, doubt[setting])
            lines.append(f"| {case if number == 0 else ''} | {label} | " + " | ".join(row) + " |")
    notes = notes_of(runs, figures)
    lines += [line for note in notes for line in ("", note)]
    return "\n".join(lines) + "\n"


def _percentiles(of: SettingFigures, measure: str) -> list[str]:
    """Dashes where it was not measured."""
    values = of.percentiles.get(measure, ())
    return [_number(each.value) for each in values] or ["-"] * len(SHARES)


def _losses(totals: Mapping[str, float]) -> Iterator[str]:
    """What of a transport other than CSA-UD is not known (NaN) is a dash."""
    spurious = totals["spurious_bytes"] / totals["data_bytes"] if totals["data_bytes"] else 0
    yield "-" if math.isnan(spurious) else f"{spurious * _MILLION:.0f}"
    for name in ("recovery_p50_us", "recovery_p99_us"):
        yield _number(totals[name]) if totals["recovered"] > 0 else "-"


def _parts(setting: str) -> tuple[str, str]:
    case, _, rest = setting.partition(CASE_MARK)
    return case, rest


def _whole(case: str, setting: str) -> str:
    return CASE_MARK.join(filter(None, (case, setting)))


def _in_order(runs: Mapping[str, Sequence[Run]], part: int) -> list[str]:
    """Cases or settings in the order in which the experiment names them."""
    ordered = sorted(runs, key=lambda setting: runs[setting][0].position)
    return list(dict.fromkeys(_parts(setting)[part] for setting in ordered))


def _number(value: float) -> str:
    return f"{value:.1f}" if value < 100 else f"{value:,.0f}"
