"""The comparison of `bench recovery` as a picture: p99 flow times and completion times over the loss rate."""

from __future__ import annotations

from pathlib import Path

from bench.recovery import DECIDE, MEASURES, Found
from bench.recovery_cases import ADAPTIVE, FIXED, ORACLE, Case


def draw(found: Found, path: Path) -> None:
    """Write an SVG; a column for each workload and kind of loss. Needs matplotlib."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    cases = list(dict.fromkeys(case for case, _ in found if not case.also))
    columns = list(dict.fromkeys((case.pattern, case.burst) for case in cases))
    figure, rows = pyplot.subplots(
        len(DECIDE), len(columns), figsize=(3.4 * len(columns), 6), layout="constrained", squeeze=False
    )
    for name, row in zip(DECIDE, rows, strict=True):
        for (pattern, burst), axes in zip(columns, row, strict=True):
            of_column = [case for case in cases if (case.pattern, case.burst) == (pattern, burst)]
            for by in (*FIXED, ORACLE, ADAPTIVE):
                thin = by in FIXED
                axes.plot(
                    [_place(case) for case in of_column],
                    [MEASURES[name](found[case, by.name]) for case in of_column],
                    marker="o", markersize=3, linewidth=0.8 if thin else 2,
                    linestyle="--" if by is ORACLE else "-", label=by.name,
                )  # fmt: skip
            axes.set_xscale("log")
            axes.set_yscale("log")
            axes.set_xlabel("loss (0 at the left edge)")
            kind = ", bursts" if burst > 1 else ""
            axes.set_title(f"{pattern.replace('_', '-')}{kind}: {name}", fontsize=9)
            axes.grid(visible=True, alpha=0.3)
    rows[0][0].set_ylabel("us")
    rows[-1][0].set_ylabel("us")
    rows[0][0].legend(fontsize=7)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
    pyplot.close(figure)


def _place(case: Case) -> float:
    return case.loss or 1e-5
