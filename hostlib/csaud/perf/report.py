"""Rows as lines on the terminal, JSON, CSV and a picture."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import os
from collections.abc import Sequence
from pathlib import Path

from csaud.errors import ConfigError, CsaudError
from csaud.perf.plan import Plan, Test
from csaud.perf.row import Row

_TAILS = [("min", "t_min"), ("p50", "p50"), ("p99", "p99"), ("p99.9", "p99_9"), ("p99.99", "p99_99"),
          ("max", "t_max")]  # fmt: skip
_COLUMNS: dict[Test, list[tuple[str, str]]] = {
    "bandwidth": [("size (B)", "size"), ("iterations", "iterations"), ("BW (GB/s)", "algbw"),
                  ("msg/s", "rate"), ("time (us)", "time"), *_TAILS],
    "latency": [("size (B)", "size"), ("iterations", "iterations"), ("time (us)", "time"), *_TAILS],
}  # fmt: skip
_COLLECTIVE = [("size (B)", "size"), ("count", "count"), ("type", "type"), ("redop", "op"),
               ("time (us)", "time"), ("algbw", "algbw"), ("busbw", "busbw"), *_TAILS,
               ("#wrong", "wrong")]  # fmt: skip


def _columns(test: Test) -> list[tuple[str, str]]:
    return _COLUMNS.get(test, _COLLECTIVE)


def heading(plan: Plan, ranks: int, mode: str, memory: bool = False) -> str:
    """What is measured, and the names of the columns; `memory`: some ranks share memory."""
    what = {
        "bandwidth": "messages from client to server; times from a message's post to its acknowledgement",
        "latency": "half a round trip",
        "incast": "all ranks to rank 0",
        "permutation": "each rank to the one half the ranks further on",
    }.get(plan.test, f"{plan.test}, GB/s are 10^9 bytes/s")
    names = "".join(f"{name:>{_width(field)}}" for name, field in _columns(plan.test))
    device = (
        "verbs device" if mode == "verbs" else f"soft device ({mode}{', shared memory' if memory else ''})"
    )
    return f"# {plan.test}: {ranks} ranks, {device}; {what}\n#{names[1:]}"


def line(row: Row) -> str:
    """One row below the heading."""
    return "".join(f"{_text(getattr(row, field)):>{_width(field)}}" for _, field in _columns(row.test))


def _width(field: str) -> int:
    return 12 if field in ("size", "count", "iterations", "rate") else 11


def _text(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.0f}" if value >= 10_000 else f"{value:.2f}"
    return str(value)


def save_json(rows: Sequence[Row], path: Path) -> None:
    """A list of objects, one a row."""
    _write(path, json.dumps([dataclasses.asdict(row) for row in rows], indent=1) + "\n")


def save_csv(rows: Sequence[Row], path: Path) -> None:
    """One line a row below a line of names."""
    names = [field.name for field in dataclasses.fields(Row)]
    out = io.StringIO()
    writer = csv.DictWriter(out, names)
    writer.writeheader()
    writer.writerows(dataclasses.asdict(row) for row in rows)
    _write(path, out.getvalue())


def _write(path: Path, contents: str | bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(contents.encode() if isinstance(contents, str) else contents)
    except OSError as error:
        raise CsaudError(f"cannot write {path}: {error.strerror}") from None


def check_place(option: str, path: Path) -> None:
    """What would keep a file from being written at `path`, before anything is measured.

    Raises:
        ConfigError: it is a folder, lies below what is none, or may not be written; `option` is named.
    """
    try:
        there = next(place for place in (path, *path.absolute().parents) if place.exists())
        folder = there.is_dir()
    except OSError as error:
        raise ConfigError(f"{option} {path}: {error.strerror}") from None
    if folder == (there == path):
        raise ConfigError(
            f"{option} {path}: " + ("is a folder, expected a file" if folder else f"{there} is no folder")
        )
    if not os.access(there, os.W_OK):
        raise ConfigError(f"{option} {path}: {there} may not be written")


def check_plot(path: Path) -> None:
    """What would keep `draw` from it, before anything is measured.

    Raises:
        ConfigError: there is no such format.
        CsaudError: matplotlib is missing.
    """
    try:
        from matplotlib.backend_bases import FigureCanvasBase
    except ImportError:
        raise CsaudError("--plot needs matplotlib (pip install matplotlib)") from None
    known = FigureCanvasBase.get_supported_filetypes()
    if _format(path) not in known:
        raise ConfigError(f"--plot {path}: expected a name that ends in .{', .'.join(sorted(known))}")


def _format(path: Path) -> str:
    return path.suffix[1:].lower() or "png"


def draw(rows: Sequence[Row], path: Path) -> None:
    """Time and bandwidth over size, in the format that the file's name asks for.

    Raises:
        CsaudError: the file cannot be written.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    sizes = [row.size for row in rows]
    for name, field in (("mean", "time"), ("p50", "p50"), ("p99", "p99"), ("p99.9", "p99_9")):
        points = [(row.size, getattr(row, field)) for row in rows if getattr(row, field) is not None]
        if points:
            left.plot(*zip(*points, strict=True), marker="o", label=name)
    left.set_ylabel("us")
    left.set_yscale("log")
    right.plot(sizes, [row.algbw for row in rows], marker="o", label="algbw")
    if any(row.busbw != row.algbw for row in rows):
        right.plot(sizes, [row.busbw for row in rows], marker="o", label="busbw")
    right.set_ylabel("GB/s")
    right.set_ylim(bottom=0)
    for axes in (left, right):
        axes.set_xscale("log", base=2)
        axes.set_xlabel("bytes")
        axes.grid(visible=True, alpha=0.3)
        axes.legend()
    figure.suptitle(f"{rows[0].test}, {rows[0].ranks} ranks")
    try:
        made = io.BytesIO()  # what matplotlib raises where the disk is full is not always an OSError
        figure.savefig(made, format=_format(path))
        _write(path, made.getvalue())
    finally:
        pyplot.close(figure)
