"""The rule by which the claim counts as reproduced, as it was fixed before the first run.

The claim: the p99 of flow completion times is over 30 % below that of the counterparts. It is reproduced
against a baseline when the lower end of the 95 % interval of that reduction (pairs of one seed; `statistics`,
where it says what was changed of it) exceeds 30 %, in every case that was measured. Where a baseline was run
with several settings, the one counts against which that lower end is the lowest. The claim needs B1, B3, B4
and B5; the others' figures are told as they come out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from csaud_runs.errors import RunError
from csaud_topologies.base.usage import UsageError

from csaud_sim.experiment.asked import against_asked
from csaud_sim.experiment.baselines import NOT_HELD, Baseline, Doubts
from csaud_sim.experiment.comparison import SHARES, SettingFigures, compare, figures_of, measures_of
from csaud_sim.experiment.results import Run
from csaud_sim.experiment.statistics import Estimate
from csaud_sim.experiment.sweep import CASE_MARK

LEAST = 0.30
MEASURE, SHARE = "fct_us", 99.0
_COLUMN = SHARES.index(SHARE)
_NONE = Estimate(math.nan)
"""Of a baseline no flow of which is over in some run."""


@dataclass(frozen=True)
class Verdict:
    """CSA-UD against one baseline in one case.

    Attributes:
        case: of the sweep; empty: it has none.
        ours_setting, setting: CSA-UD's, and the strongest of the baseline; case included.
        of: how many settings of the baseline there were.
        ours, theirs: p99 of flow completion times, us.
        reduction: of the p99, as a share.
        seeds: that both have.
        doubt: of the baseline (`baselines`).
        why_not: what keeps it from being reproduced; empty: it is.
    """

    case: str
    baseline: Baseline
    ours_setting: str
    setting: str
    of: int
    ours: float
    theirs: float
    reduction: Estimate
    seeds: int
    doubt: str
    why_not: str

    @property
    def reproduced(self) -> bool:
        """By the rule."""
        return not self.why_not

    def told(self) -> dict[str, str | float | bool | None]:
        """For programs: times in us, the reduction and its interval as shares; null where there is none."""
        known = self.reduction.has_interval
        return {
            "case": self.case,
            "baseline": self.baseline.number,
            "setting": self.setting,
            "ours_us": self.ours,
            "theirs_us": None if math.isnan(self.theirs) else self.theirs,
            "reduction": None if math.isnan(self.reduction.value) else self.reduction.value,
            "low": self.reduction.low if known else None,
            "high": self.reduction.high if known else None,
            "reproduced": self.reproduced,
            "why_not": self.why_not,
        }


def by_case(runs: Mapping[str, Sequence[Run]]) -> dict[str, list[str]]:
    """Settings of each case, both in the experiment's order."""
    found: dict[str, list[str]] = {}
    for setting in sorted(runs, key=lambda each: runs[each][0].position):
        case, mark, _ = setting.partition(CASE_MARK)
        found.setdefault(case if mark else "", []).append(setting)
    return found


def verdicts(runs: Mapping[str, Sequence[Run]], doubts: Doubts = NOT_HELD) -> list[Verdict]:
    """One for each case and baseline. RunError where a case has not exactly one setting that is CSA-UD as it
    is, or no seed is common."""
    found = []
    missing = len(against_asked(run.path for those in runs.values() for run in those)[0])
    for case, settings in by_case(runs).items():
        figures = {each: figures_of(each, runs[each], doubts) for each in settings}
        mine = [each for each in settings if figures[each].baseline is None]
        where = case or "the experiment"
        if len(mine) != 1:
            raise UsageError(
                f"{where}: the claim is about one setting of csa-ud without fixed interval and oracle, "
                f"here are {len(mine)}{': ' if mine else ''}{', '.join(mine)}"
            )
        if MEASURE not in measures_of(runs[mine[0]][0]):
            raise UsageError(f"{where}: the claim is about flows, and there is no traffic")
        if MEASURE not in figures[mine[0]].percentiles:
            raise RunError(f"{where}: in some run of {mine[0]} no flow is over")
        variants: dict[Baseline, list[str]] = {}
        for each in settings:
            if (baseline := figures[each].baseline) is not None:
                variants.setdefault(baseline, []).append(each)
        for baseline, those in variants.items():
            theirs = [figures[each] for each in those]
            found.append(_against(case, figures[mine[0]], baseline, theirs, missing))
    return found


def _against(
    case: str, ours: SettingFigures, baseline: Baseline, variants: Sequence[SettingFigures], missing: int
) -> Verdict:
    of = len(variants)
    variants = [each for each in variants if MEASURE in each.percentiles] or variants[:1]
    reductions = [_p99(compare(ours, each).percentiles) for each in variants]
    hardest = min(range(len(variants)), key=lambda n: _low(reductions[n]))
    theirs, reduction = variants[hardest], reductions[hardest]
    return Verdict(
        case,
        baseline,
        ours.setting,
        theirs.setting,
        of,
        _p99(ours.percentiles).value,
        _p99(theirs.percentiles).value,
        reduction,
        len(set(ours.seeds) & set(theirs.seeds)),
        theirs.doubt,
        why_not(reduction, ours.totals["unfinished"], theirs.totals["unfinished"], missing),
    )


def _p99(percentiles: Mapping[str, Sequence[Estimate]]) -> Estimate:
    return percentiles[MEASURE][_COLUMN] if MEASURE in percentiles else _NONE


def why_not(
    reduction: Estimate, unfinished: float = 0, theirs_unfinished: float = 0, missing: int = 0
) -> str:
    """The rule: in words what is not as it should be, or nothing. `missing`: runs of the experiment, of
    whatever setting: among them may be a stronger one, or another case."""
    if missing:
        return f"{missing:,} runs are missing"
    if unfinished or theirs_unfinished:  # percentiles are of those that are over: of others than they seem
        whose = "ours" if unfinished else "theirs"
        return f"{max(unfinished, theirs_unfinished):,.0f} flows a run were not over ({whose})"
    if not reduction.has_interval:
        return "too few seeds for an interval"
    if reduction.low > LEAST:
        return ""
    if reduction.high < 0:
        return "CSA-UD is slower"
    return f"the lower end is not above {LEAST:.0%}"


def over_all(found: Sequence[Verdict]) -> dict[Baseline, bool]:
    """Whether the claim is reproduced against each baseline: in every case, of those of others, too."""
    cases = {each.case for each in found}
    held = {baseline: set[str]() for baseline in dict.fromkeys(each.baseline for each in found)}
    for each in found:
        if each.reproduced:
            held[each.baseline].add(each.case)
    return {baseline: those == cases for baseline, those in held.items()}


def _low(reduction: Estimate) -> float:
    return reduction.value if math.isnan(reduction.low) else reduction.low
