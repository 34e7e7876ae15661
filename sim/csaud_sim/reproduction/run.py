"""Run the parts, as far as they are not there yet, and write the page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from csaud_topologies.base.usage import UsageError

from csaud_sim.experiment.baselines import NOT_HELD, Doubts
from csaud_sim.experiment.claim import Verdict, verdicts
from csaud_sim.experiment.comparison import figures_of
from csaud_sim.experiment.page import Section, render, section_of
from csaud_sim.experiment.results import Run, read_run
from csaud_sim.experiment.sweep import Outcomes, Task, run_all
from csaud_sim.experiment.sweep_report import write_tables
from csaud_sim.reproduction.parts import PARTS, Part

_TEMPLATE = Path(__file__).with_name("reproduction.html.j2")


@dataclass(frozen=True)
class Reproduction:
    """What is to be run: `parts` in their order, whole or quick, into the folder `out`."""

    parts: Sequence[Part]
    quick: bool
    out: Path

    def tasks(self) -> dict[str, list[Task]]:
        """By part."""
        return {part.name: part.tasks(self.quick) for part in self.parts}

    def run(self, jobs: int, say: Callable[[str], None], elsewhere: Outcomes | None = None) -> list[str]:
        """All that is missing, every part's first seed before any second; returns what failed, in words."""
        tasks = [task for those in self.tasks().values() for task in those]
        return run_all(sorted(tasks, key=_turn), self.out, jobs, say, elsewhere)

    def write(
        self, doubts: Doubts = NOT_HELD, anchors: Sequence[Sequence[str]] = ()
    ) -> tuple[Path, list[Verdict]]:
        """report.html in `out`, and the tables of each part in a folder of its own; the page's path, and the
        verdicts with which the claim stands or falls. Baselines are marked as `doubts` say;
        `anchors`: rows of their table."""
        sections: dict[str, Section] = {}
        decisive: list[Verdict] = []
        for part, tasks in zip(self.parts, self.tasks().values(), strict=True):
            runs = _runs(tasks, self.out)
            figures = [figures_of(setting, those, doubts) for setting, those in runs.items()]
            folder = self.out / part.name
            write_tables(folder, runs, figures)
            found = verdicts(runs, doubts) if part.verdict != "none" else []
            if part.verdict == "claim":
                decisive += found
            sections[part.name] = section_of(folder, runs, figures, (), found, part.verdict == "claim")
        page = self.out / "report.html"
        titles = {part.name: part.title for part in self.parts}
        page.write_text(
            render(_TEMPLATE, sections=sections, titles=titles, anchors=anchors, quick=self.quick)
        )
        return page, decisive


def chosen(names: Sequence[str], quick: bool) -> list[Part]:
    """Parts by name, or all of that form; RunError where there is no such one."""
    parts = {part.name: part for part in PARTS if not quick or part.quick is not None}
    for name in names:
        if name not in parts:
            raise UsageError(f"--only {name}: no such part; expected one of {', '.join(parts)}")
    return [part for part in parts.values() if not names or part.name in names]


def _turn(task: Task) -> int:
    return task.experiment.seed


def _runs(tasks: Sequence[Task], out: Path) -> Mapping[str, list[Run]]:
    """By setting. Of these tasks alone: the folder may have runs of other sizes, too."""
    runs: dict[str, list[Run]] = {}
    for task in tasks:
        runs.setdefault(task.setting, []).append(read_run(task.path(out)))
    return runs
