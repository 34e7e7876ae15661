"""What the user sees while a job runs: one live line with a bar, or a line now and then where there is no
terminal.
"""

from __future__ import annotations

import time
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

_LINE_EVERY_S = 5.0


class JobProgress:
    """Shows steps, loss, accuracy, all-reduce time and a few counters."""

    def __init__(self, console: Console, steps: int) -> None:
        self._console = console
        self._steps = steps
        self._bar = Progress(
            TextColumn("step"),
            BarColumn(bar_width=18),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[figures]}"),
            console=console,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("", total=steps, figures="")
        self._figures: dict[str, str] = {}
        self._last_line = time.monotonic()

    def __enter__(self) -> JobProgress:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def update(self, done: int, **figures: Any) -> None:
        """Show the number of finished steps and these figures; None leaves a figure as it was."""
        self._figures |= {name: str(value) for name, value in figures.items() if value is not None}
        text = "  ".join(f"{name.replace('_', ' ')} {value}" for name, value in self._figures.items())
        self._bar.update(self._task, completed=done, figures=text)
        if not self._console.is_terminal and time.monotonic() - self._last_line >= _LINE_EVERY_S:
            self._last_line = time.monotonic()
            self.say(f"step {done}/{self._steps}  {text}")

    def say(self, text: str) -> None:
        """A line that stays, above the bar."""
        self._bar.console.print(text, markup=False, soft_wrap=True)
