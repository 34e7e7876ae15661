"""Loss recovery compared: the adaptive interval with the best fixed one and with an oracle; and what each
layer is worth. In virtual time, so figures repeat exactly, whatever the machine.
"""

from __future__ import annotations

import itertools
import multiprocessing
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from bench.recovery_cases import ADAPTIVE, FIXED, ORACLE, SHIPPED, Case, Contender, Outcome, contender, run
from bench.results import Result, result

LOSSES = (0.0, 1e-4, 1e-3, 1e-2, 5e-2)
BURST = 8.0
BURST_LOSSES = (1e-3, 1e-2, 5e-2)
PATTERNS = ("ring", "all_to_all")
# Where the fabric reorders much: one path in eight is slow, or every packet takes its own time.
REORDERING_LOSS = 1e-3
REORDERING: dict[str, tuple[tuple[str, Any], ...]] = {
    "one spine at a quarter of the rate": (("slow_spine", 4),),
    "up to 40 us of jitter a packet": (("jitter", 40_000),),
}
CONTENDERS = (ADAPTIVE, SHIPPED, ORACLE, *FIXED)

Found = dict[tuple[Case, str], Outcome]


@dataclass(frozen=True)
class Effort:
    """How much to run; of the ablation one seed, since it has many more variants."""

    seeds: int
    iterations: int
    processes: int
    ranks: int
    losses: tuple[float, ...] = LOSSES
    burst_losses: tuple[float, ...] = BURST_LOSSES
    reordering: bool = True


WHOLE = Effort(seeds=2, iterations=2, processes=2, ranks=64)
QUICK = Effort(seeds=1, iterations=1, processes=1, ranks=8, losses=(1e-2,), burst_losses=(), reordering=False)

# All that finds losses, on ordered paths, where switches tell of what they cut.
_ALL: dict[str, Any] = {"ordered": True}
_NO_HELP: dict[str, Any] = {"detect_gap": False, "detect_loss": False}
BUILT_UP = (
    contender("RACK alone", interval_reorder=False, interval_hurry=False, detect_probe=False,
              **_NO_HELP, **_ALL),
    contender("+ reorder window", interval_hurry=False, detect_probe=False, **_NO_HELP, **_ALL),
    contender("+ hurry", interval_barrier=False, detect_probe=False, **_NO_HELP, **_ALL),
    contender("+ barrier", detect_probe=False, **_NO_HELP, **_ALL),
    contender("+ PROBE", **_NO_HELP, **_ALL),
    contender("+ path gap", detect_loss=False, **_ALL),
    contender("+ LOSS (all)", **_ALL),
)  # fmt: skip
LEFT_OUT = (
    contender("without reorder window", interval_reorder=False, **_ALL),
    contender("without hurry and barrier", interval_hurry=False, **_ALL),
    contender("without barrier", interval_barrier=False, **_ALL),
    contender("without PROBE", detect_probe=False, **_ALL),
    contender("without interval", detect_interval=False, **_ALL),
    contender("without path gap", detect_gap=False, **_ALL),
    contender("without LOSS", detect_loss=False, **_ALL),
    contender("without order of repairs", repair_order=False, **_ALL),
)
# The interval alone, on paths that reorder.
TERMS = (
    contender("all terms", **_NO_HELP),
    contender("without reorder window", interval_reorder=False, **_NO_HELP),
    contender("without hurry and barrier", interval_hurry=False, **_NO_HELP),
    contender("without barrier", interval_barrier=False, **_NO_HELP),
    contender("RACK alone", interval_reorder=False, interval_hurry=False, **_NO_HELP),
)
# Silent loss, and queues that cut what exceeds a bandwidth-delay product.
_TRIMMING = (("trim_at", 32),)
_TRIMMING_MUCH = (("trim_at", 8),)


def comparison_cases(effort: Effort) -> list[Case]:
    """Both collectives, at each rate of loss, one by one and in bursts."""
    losses = [(loss, 1.0) for loss in effort.losses] + [(loss, BURST) for loss in effort.burst_losses]
    cases = []
    for pattern in PATTERNS:
        cases += [Case(pattern, loss, burst, ranks=effort.ranks) for loss, burst in losses]
        cases += reordering_cases(effort, pattern)
    return cases


def reordering_cases(effort: Effort, pattern: str) -> list[Case]:
    """Little loss and much reordering."""
    return [
        Case(pattern, REORDERING_LOSS, link=link, ranks=effort.ranks, also=also)
        for also, link in (REORDERING.items() if effort.reordering else ())
    ]


def term_cases(effort: Effort) -> list[Case]:
    """Where the interval's terms may earn their place, or do harm."""
    kinds = [(0.0, 1.0), (1e-2, 1.0), (5e-2, 1.0), (5e-2, BURST)] if effort.reordering else [(1e-2, 1.0)]
    cases = []
    for pattern in PATTERNS:
        cases += [Case(pattern, loss, burst, ranks=effort.ranks) for loss, burst in kinds]
        cases += reordering_cases(effort, pattern)
    cases.append(Case("incast", 1e-2, ranks=min(17, effort.ranks), packets=128))
    return cases


def ablation_cases(effort: Effort) -> list[Case]:
    """Where layers may earn their place: silent loss alone, with an incast that is trimmed, and for a short
    urgent collective beside a long one."""
    return [
        Case("ring", 1e-2, link=_TRIMMING, ranks=effort.ranks),
        Case("all_to_all", 1e-2, link=_TRIMMING, ranks=effort.ranks),
        Case("incast", 1e-2, link=_TRIMMING, ranks=min(17, effort.ranks), packets=128),
        Case("urgent", 5e-2, link=_TRIMMING_MUCH, ranks=min(32, effort.ranks)),
    ]


def measure(
    cases: Sequence[Case], contenders: Sequence[Contender], effort: Effort, tick: Callable[[], None]
) -> Found:
    """Every contender on every case; `tick` is called as each is done."""
    jobs = [(case, by, effort.seeds, effort.iterations) for case, by in itertools.product(cases, contenders)]
    if effort.processes == 1:
        return {(job[0], job[1].name): _done(run(*job), tick) for job in jobs}
    with multiprocessing.get_context("spawn").Pool(effort.processes) as pool:
        outcomes = pool.imap(_run, jobs)
        return {
            (job[0], job[1].name): _done(outcome, tick) for job, outcome in zip(jobs, outcomes, strict=True)
        }


def _run(job: tuple[Case, Contender, int, int]) -> Outcome:
    return run(*job)


def _done(outcome: Outcome, tick: Callable[[], None]) -> Outcome:
    tick()
    return outcome


MEASURES: dict[str, Callable[[Outcome], float]] = {
    "p50 flow time": lambda o: o.flow(50),
    "p99 flow time": lambda o: o.flow(99),
    "p99.9 flow time": lambda o: o.flow(99.9),
    "completion time": lambda o: o.completion,
}
DECIDE = ("p99 flow time", "completion time")


def best_fixed(found: Found, case: Case, measure: Callable[[Outcome], float]) -> str:
    """The name of the fixed interval that does best on this case, found by trying all."""
    finished = [by.name for by in FIXED if found[case, by.name].finished] or [FIXED[0].name]
    return min(finished, key=lambda name: measure(found[case, name]))


def comparison_rows(found: Found) -> list[Result]:
    """Each measure of the adaptive interval beside the best fixed one of that very case, and beside the
    oracle; spurious copies of all."""
    rows = []
    for case in dict.fromkeys(case for case, _ in found):
        adaptive = found[case, ADAPTIVE.name]
        for name, measure_of in MEASURES.items():
            best = best_fixed(found, case, measure_of)
            rows.append(
                result(
                    f"{case.title}: {name}", measure_of(adaptive), "us", peer=f"best fixed ({best})",
                    peer_value=measure_of(found[case, best]),
                    bound="at most" if name in DECIDE else None, limit=1.0 if name in DECIDE else None,
                )
            )  # fmt: skip
            rows.append(
                result(
                    f"{case.title}: {name}", measure_of(adaptive), "us", peer="oracle",
                    peer_value=measure_of(found[case, ORACLE.name]),
                )
            )  # fmt: skip
        for by in CONTENDERS:
            outcome = found[case, by.name]
            part = 1e6 * outcome.spurious / outcome.sent
            rows.append(result(f"{case.title}: spurious copies, {by.name}", part, "per million"))
            rows.append(result(f"{case.title}: spurious bytes, {by.name}", outcome.spurious_bytes, "B"))
    return rows


def ablation_rows(found: Found) -> list[Result]:
    """Each variant's flow times, completion time and spurious bytes beside those of all layers together."""
    rows = []
    for (case, name), outcome in found.items():
        of_layers = (case, BUILT_UP[-1].name) in found
        peer = "all layers" if of_layers else TERMS[0].name
        whole = found[case, BUILT_UP[-1].name if of_layers else TERMS[0].name]
        rows += [
            result(
                f"{case.title}, {name}: {what}", measure_of(outcome), "us", peer=peer,
                peer_value=measure_of(whole),
            )
            for what, measure_of in MEASURES.items()
        ]  # fmt: skip
        rows.append(
            result(
                f"{case.title}, {name}: spurious bytes", outcome.spurious_bytes, "B", peer=peer,
                peer_value=whole.spurious_bytes,
            )
        )  # fmt: skip
    return rows
