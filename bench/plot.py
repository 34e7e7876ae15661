"""The curves of a run as one picture: over frame size and over table size."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from bench.results import Result

Curves = dict[str, list[tuple[float, float]]]


def draw(results: Iterable[Result], path: Path) -> None:
    """Write an SVG. Needs matplotlib."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    sizes, tables = curves(results)
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    for axes, found, label in ((left, sizes, "bytes of a frame"), (right, tables, "entries in the table")):
        for name, points in found.items():
            axes.plot(*zip(*points, strict=True), marker="o", label=name)
        axes.set_xlabel(label)
        axes.set_ylabel("packets/s")
        axes.grid(visible=True, alpha=0.3)
        if found:
            axes.legend()
    left.set_yscale("log")
    left.set_title("through veth ports, one core")
    right.set_xscale("log")
    right.set_ylim(bottom=0)
    right.set_title("embedded switch in process, one core")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
    pyplot.close(figure)


def curves(results: Iterable[Result]) -> tuple[Curves, Curves]:
    """Points by curve: over frame size, and over table size."""
    sizes: Curves = defaultdict(list)
    tables: Curves = defaultdict(list)
    for row in results:
        curve = row.at.get("curve")
        if curve is None:
            continue
        if curve.startswith("table "):
            tables[curve.removeprefix("table ")].append((row.at["x"], row.value))
        else:
            value = row.value if row.peer_value is None else row.peer_value
            sizes[curve if curve == "embedded" else f"simple_switch_grpc, {curve}"].append(
                (row.at["x"], value)
            )
    return sizes, tables
