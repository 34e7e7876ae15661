"""The experiments that the reproduction of the claim is made of, and what the quick form makes of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from csaud_sim.experiment.model import Experiment, Setting, find_experiment, load_experiment, with_keys
from csaud_sim.experiment.sweep import Task, tasks_of


@dataclass(frozen=True)
class Part:
    """One experiment that comes along.

    Attributes:
        name: the experiment's.
        title: of its section.
        verdict: claim: what the claim stands or falls with; table: the same comparison, told only; none: it
            compares something else.
        quick: keys of the quick form; None: it has no part in that.
        cases: of the quick form, each with keys of its own; empty: all.
    """

    name: str
    title: str
    verdict: Literal["claim", "table", "none"] = "none"
    quick: Setting | None = None
    cases: Mapping[str, Setting] = field(default_factory=dict)

    def tasks(self, quick: bool) -> list[Task]:
        """Its runs."""
        return [replace(task, folder=self.name) for task in tasks_of(self._experiment(quick))]

    def _experiment(self, quick: bool) -> Experiment:
        file = find_experiment(self.name)
        assert file is not None, f"{self.name} does not come along"
        experiment = load_experiment(file)
        if not quick:
            return experiment
        if self.cases:
            kept = {case: {**experiment.sweep.cases[case], **keys} for case, keys in self.cases.items()}
            experiment = with_keys(experiment, {"sweep.cases": kept})
        return with_keys(experiment, self.quick or {})


_SMALL = "fat-tree-4"
_LEAVES = "leaf-spine-4x4x4"
PARTS = (
    Part(
        "claim",
        "The claim",
        "claim",
        {"fabric": _SMALL, "traffic.flows": 3000, "sweep.seeds": 5},
    ),
    Part(
        "claim-loads",
        "Loads and sizes",
        "table",
        {"fabric": _LEAVES, "sweep.seeds": 3},
        {
            "WebSearch, 50 %": {"traffic.flows": 300},
            "WebSearch, 80 %": {"traffic.flows": 300},
            "AliStorage2019, 50 %": {"traffic.flows": 3000},
            "AliStorage2019, 80 %": {"traffic.flows": 3000},
            "FbHdp, 80 %": {"traffic.flows": 1500},
        },
    ),
    Part(
        "claim-collectives",
        "Collectives",
        quick={"fabric": _LEAVES, "sweep.seeds": 3, "collectives.bytes": 2080768, "collectives.repeats": 4},
        cases={
            "ring, 8 MB": {},
            "ring, 8 MB, 0.001 lost": {},
            "all-to-all, 8 MB a rank": {},
            "all-to-all, 8 MB a rank, 0.001 lost": {},
        },
    ),
    Part(
        "claim-failures",
        "Links that fail",
        quick={},
        cases={
            "whole": {},
            "down for 500 us": {},
            "flaps, 10 times 50 us": {},
            "a quarter of the rate": {},
        },
    ),
    Part(
        "claim-large",
        "Collectives: more ranks, skewed destinations",
        quick={},
        cases={
            "all-to-all, 16 ranks, 2 MB a rank, skew 0.5": {},
            "all-to-all, 16 ranks, 2 MB a rank, skew 1": {},
        },
    ),
    Part("spray-by-signal", "Ways to spray by loss signals", quick={"sweep.seeds": 3, "traffic.flows": 1500}),
    Part(
        "claim-ablation",
        "What each part is worth",
        quick={"fabric": _SMALL, "traffic.flows": 1500, "sweep.seeds": 3},
    ),
    Part(
        "claim-constants",
        "Sensitivity to constants",
        quick={"fabric": _SMALL, "traffic.flows": 1500, "sweep.seeds": 3},
        cases={"messages of 32 packets": {}},
    ),
    Part("recovery", "Loss recovery"),
    Part("ndp-incast", "Anchor of B6"),
    Part("uec-incast", "Anchor of B7: incast"),
    Part("uec-permutation", "Anchor of B7: permutations"),
)
