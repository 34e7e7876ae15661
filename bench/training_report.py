"""`make reproduce-training`: measure what is not there yet, and write one page of all that is."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from csaud_runs.words import duration
from csaud_topologies.report.html import page_environment
from rich.console import Console

from bench import training_figures
from bench.results import Result, number, save, show
from bench.training_parts import NotMeasured, Part

COMMAND = "make reproduce-training"
_TEMPLATE = Path(__file__).with_name("training_report.html.j2")


class NoSuchPart(ValueError):
    """The message names the part that was asked for, and those that there are."""


@dataclass(frozen=True)
class Section:
    """A part's on the page.

    Attributes:
        failed: why nothing was measured; "" otherwise.
    """

    part: Part
    rows: Sequence[Result]
    circumstances: dict[str, str]
    failed: str = ""


class Progress:
    """Says what is over and how long the rest will take: of a part, from how long things of it took beside
    what was expected; of parts that follow, as expected.

    Args:
        clock: the time in seconds.
    """

    def __init__(self, say: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._say, self._clock = say, clock
        self.begin(0.0, 0.0)

    def begin(self, seconds: float, later: float) -> None:
        """A part, and those that follow it, are expected to take so long."""
        self._rest, self._later = seconds, later
        self._expected = self._took = 0.0  # of what was done now
        self._last = self._clock()

    def over(self, what: str, seconds: float, now: bool) -> None:
        """Something of the part that was expected to take so long; `now`: it was not there already."""
        at = self._clock()
        self._rest = max(0.0, self._rest - seconds)
        if now:
            self._expected, self._took = self._expected + seconds, self._took + at - self._last
        self._last = at
        pace = self._took / self._expected if self._expected else 1.0
        there = "" if now else " (there already)"
        self._say(f"{what}{there} · {duration(self._rest * pace + self._later)} left")


def chosen(parts: Sequence[Part], names: Sequence[str]) -> list[Part]:
    """Those that are named, or all; NoSuchPart where there is none of a name."""
    known = {part.name for part in parts}
    for name in names:
        if name not in known:
            words = ", ".join(part.name for part in parts)
            raise NoSuchPart(f"--only {name}: no such part; expected one of {words}")
    return [part for part in parts if not names or part.name in names]


def command(
    parts: Sequence[Part], console: Console, out: Path, jobs: int, described: Callable[[], dict[str, str]]
) -> bool:
    """Measure, show, and write OUT/report.html and a file of figures for each part.

    Returns whether all parts were measured, whatever became of their goals.

    Args:
        described: what goes beside all figures: the machine, versions.
    """
    begun = time.monotonic()
    progress = Progress(lambda text: console.print(text, markup=False, highlight=False))
    sections = []
    for at, part in enumerate(parts):
        progress.begin(part.seconds, sum(each.seconds for each in parts[at + 1 :]))
        try:
            section = _measured(part, out, jobs, progress, described)
        except NotMeasured as failure:
            section = Section(part, [], {}, str(failure))
            console.print(f"{part.name}: not measured: {failure}", style="red", markup=False)
        sections.append(section)
    for section in sections:
        if not section.failed:
            show(section.rows, console, {}, section.part.title)
    page = write_page(sections, out)
    console.print(
        f"{goals_in_words(sections)}\n{page}, after {duration(time.monotonic() - begun)}", markup=False
    )
    return not any(section.failed for section in sections)


def _measured(
    part: Part, out: Path, jobs: int, progress: Progress, described: Callable[[], dict[str, str]]
) -> Section:
    """Circumstances of what was there already are those of when it was measured."""
    done: list[bool] = []
    here = described()

    def told(what: str, seconds: float, now: bool) -> None:
        done.append(now)
        progress.over(f"{part.name}: {what}", seconds, now)

    rows, beside = part.measure(out / part.name, jobs, told)
    path = out / f"{part.name}.json"
    known = path.with_suffix(".machine.json")
    if not any(done) and known.exists():
        here = {key: text for key, text in json.loads(known.read_text()).items() if key in here}
    save(rows, here | beside, path)
    return Section(part, rows, here | beside)


def write_page(sections: Sequence[Section], out: Path) -> Path:
    """OUT/report.html: one file, nothing to load; and OUT/losses.csv, .svg and .pdf of its figure, where
    there is one."""
    environment = page_environment()
    environment.filters["number"] = number
    out.mkdir(parents=True, exist_ok=True)
    page = out / "report.html"
    drawn = training_figures.losses(row for section in sections for row in section.rows)
    if drawn is not None:
        drawn.write(out / "losses")
    page.write_text(
        environment.from_string(_TEMPLATE.read_text()).render(
            sections=sections,
            said=goals_in_words(sections),
            good=not missed(sections),
            command=COMMAND,
            figure="" if drawn is None else drawn.inline(),
            caption=training_figures.CAPTION,
        )
    )
    return page


def missed(sections: Sequence[Section]) -> list[str]:
    """Figures whose goal was missed, and parts that have none."""
    rows = [row.name for section in sections for row in section.rows if row.holds is False]
    return rows + [section.part.name for section in sections if section.failed]


def goals_in_words(sections: Sequence[Section]) -> str:
    """How many goals hold, how many do not."""
    judged = [row.holds for section in sections for row in section.rows if row.holds is not None]
    held = sum(judged)
    words = [f"{held} of {len(judged)} goals hold, {len(judged) - held} missed"]
    if failed := [section.part.name for section in sections if section.failed]:
        words.append(f"not measured: {', '.join(failed)}")
    return "; ".join(words)
