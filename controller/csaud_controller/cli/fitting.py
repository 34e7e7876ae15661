"""Tables that stay readable on the terminal they are shown on: side by side what fits, the rest below."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from csaud_controller.cli.common import table

Columns = Sequence[str]


class Fitted:
    """Rows whose columns come in groups. A group that finds no room beside the others starts a table of its
    own under the same keys, so that no number is ever cut.

    Args:
        title: of the first table.
        keys: columns that every table begins with.
        groups: columns that stay together; a # at a column's end aligns it to the right.
        rows: cells of all keys and then of all groups' columns.
        total: a last row of the same length, set apart; None for none.

    Raises:
        ValueError: a row has another number of cells than there are columns.
    """

    def __init__(
        self,
        title: str,
        keys: Columns,
        groups: Sequence[Columns],
        rows: Sequence[Sequence[str]],
        total: Sequence[str] | None = None,
    ) -> None:
        self._title, self._keys, self._groups = title, keys, groups
        self._rows, self._total = rows, total
        columns = len(keys) + sum(map(len, groups))
        for row in (*rows, *(() if total is None else (total,))):
            if len(row) != columns:
                raise ValueError(f"{title.strip()}: a row of {len(row)} cells for {columns} columns")

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        chosen: list[int] = []
        for group in range(len(self._groups)):
            if chosen and self._width([*chosen, group], console) > options.max_width:
                yield self._table(chosen)
                chosen = []
            chosen.append(group)
        yield self._table(chosen)

    def _width(self, groups: Sequence[int], console: Console) -> int:
        unlimited = console.options.update(width=1 << 16)
        return Measurement.get(console, unlimited, self._table(groups)).maximum

    def _table(self, groups: Sequence[int]) -> Table:
        columns = [*self._keys, *(column for group in groups for column in self._groups[group])]
        made = table(self._title if 0 in groups else "", *columns)
        for row in self._rows:
            made.add_row(*self._cells(row, groups))
        if self._total is not None:
            made.add_section()
            made.add_row(*self._cells(self._total, groups), style="bold")
        return made

    def _cells(self, row: Sequence[str], groups: Sequence[int]) -> list[str]:
        starts = [len(self._keys)]
        for group in self._groups:
            starts.append(starts[-1] + len(group))
        return [
            *row[: len(self._keys)],
            *(c for group in groups for c in row[starts[group] : starts[group + 1]]),
        ]


class Narrowed:
    """One table, without its columns of least importance where there is no room for all; a line above it
    names them.

    Args:
        columns: a # at a column's end aligns it to the right.
        rows: cells of all columns, and the style of each row.
        least: columns by name, those that are left out first before others; the rest stay, be they cut.
    """

    def __init__(self, columns: Columns, rows: Sequence[tuple[Sequence[str], str]], least: Columns) -> None:
        self._columns, self._rows, self._least = columns, rows, least

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        unlimited = console.options.update(width=1 << 16)
        for count in range(len(self._least) + 1):
            left_out = self._least[:count]
            made = self._table(left_out)
            if Measurement.get(console, unlimited, made).maximum <= options.max_width:
                break
        if left_out:
            yield Text(f"no room for {', '.join(name.rstrip('#') for name in left_out)}", style="dim")
        yield made

    def _table(self, left_out: Columns) -> Table:
        kept = [n for n, name in enumerate(self._columns) if name not in left_out]
        made = table("", *(self._columns[n] for n in kept))
        for cells, style in self._rows:
            made.add_row(*(cells[n] for n in kept), style=style)
        return made
