"""`csaud perf ...`: the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from csaud.config.launch import DEFAULT_PORT
from csaud.errors import ConfigError
from csaud.perf.plan import Plan, Test, parse_sizes

app = typer.Typer(
    no_args_is_help=True,
    help="Measure bandwidth, latency and collectives, by message size.",
)

Sizes = Annotated[str, typer.Option(help="64,4K,1M, or FIRST:LAST:FACTOR (bytes).")]
Iterations = Annotated[int, typer.Option(min=0, help="Of each size; 0: by size.")]
Warmup = Annotated[int, typer.Option(min=0, help="Iterations that do not count.")]
Ranks = Annotated[
    int, typer.Option(help="Start that many ranks on this machine; 0: a launcher started them.")
]
Json = Annotated[Path | None, typer.Option("--json", help="Write the rows as JSON.")]
Csv = Annotated[Path | None, typer.Option("--csv", help="Write the rows as CSV.")]
Plot = Annotated[Path | None, typer.Option(help="Draw time and bandwidth over size (.svg, .png, .pdf).")]
Check = Annotated[bool, typer.Option(help="Compare results with what they must be.")]
Type = Annotated[
    str, typer.Option("--type", help="Elements: float16, bfloat16, float32, float64, int32, int64.")
]
Depth = Annotated[int, typer.Option(min=1, max=256, help="Messages under way at once.")]
Port = Annotated[int, typer.Option(min=1, max=65535, help="TCP port where the two meet.")]

_MESSAGES = "64:4M"
_ARRAYS = "1K:16M"


@app.command()
def server(
    bind: Annotated[str, typer.Option(help="Address of this end; the client connects to it.")] = "0.0.0.0",
    port: Port = DEFAULT_PORT,
) -> None:
    """The passive end of one `csaud perf client`."""
    from csaud.perf import run

    run.server(bind, port)


@app.command()
def client(
    host: Annotated[str, typer.Argument(help="Where `csaud perf server` runs.")],
    test: Annotated[str, typer.Option(help="bandwidth or latency.")] = "bandwidth",
    sizes: Sizes = _MESSAGES,
    iterations: Iterations = 0,
    warmup: Warmup = 5,
    depth: Depth = 4,
    check: Check = True,
    port: Port = DEFAULT_PORT,
    json: Json = None,
    csv: Csv = None,
    plot: Plot = None,
) -> None:
    """Measure messages to `csaud perf server`."""
    from csaud.perf import report, run

    if test not in ("bandwidth", "latency"):
        raise ConfigError(f"--test {test!r}: expected bandwidth or latency")
    plan = Plan(test, parse_sizes(sizes), iterations, warmup, depth=depth, check=check)  # type: ignore[arg-type]
    if plot is not None:
        report.check_plot(plot)
    _files(json, csv, plot)
    run.client(host, port, plan, run.Output(json, csv, plot))


@app.command()
def bandwidth(
    sizes: Sizes = _MESSAGES,
    iterations: Iterations = 0,
    warmup: Warmup = 5,
    depth: Depth = 4,
    check: Check = True,
    ranks: Ranks = 0,
    json: Json = None,
    csv: Csv = None,
    plot: Plot = None,
) -> None:
    """Messages from rank 1 to rank 0, several under way."""
    plan = Plan("bandwidth", parse_sizes(sizes), iterations, warmup, depth=depth, check=check)
    _run(plan, ranks, json, csv, plot)


@app.command()
def latency(
    sizes: Sizes = _MESSAGES,
    iterations: Iterations = 0,
    warmup: Warmup = 5,
    check: Check = True,
    ranks: Ranks = 0,
    json: Json = None,
    csv: Csv = None,
    plot: Plot = None,
) -> None:
    """A message and its answer between two ranks; half of the time is reported."""
    _run(Plan("latency", parse_sizes(sizes), iterations, warmup, check=check), ranks, json, csv, plot)


@app.command()
def allreduce(
    sizes: Sizes = _ARRAYS,
    iterations: Iterations = 0,
    warmup: Warmup = 5,
    dtype: Type = "float32",
    op: Annotated[str, typer.Option(help="sum, product, min, max, average, and, or, xor.")] = "sum",
    check: Check = True,
    ranks: Ranks = 0,
    json: Json = None,
    csv: Csv = None,
    plot: Plot = None,
) -> None:
    """All-reduce of arrays of that size; busbw is algbw times 2(n-1)/n."""
    _run(
        Plan("allreduce", parse_sizes(sizes), iterations, warmup, dtype, op, check=check),
        ranks,
        json,
        csv,
        plot,
    )


def _exchange(test: Test, text: str) -> None:
    """All but allreduce have the same options."""

    @app.command(name=test, help=text)
    def command(
        sizes: Sizes = _ARRAYS,
        iterations: Iterations = 0,
        warmup: Warmup = 5,
        dtype: Type = "float32",
        check: Check = True,
        ranks: Ranks = 0,
        json: Json = None,
        csv: Csv = None,
        plot: Plot = None,
    ) -> None:
        _run(Plan(test, parse_sizes(sizes), iterations, warmup, dtype, check=check), ranks, json, csv, plot)


_exchange("reducescatter", "Reduce-scatter (sum) of arrays of that size; busbw is algbw times (n-1)/n.")
_exchange(
    "allgather", "All-gather; the size is that of what each rank then has, busbw is algbw times (n-1)/n."
)
_exchange("broadcast", "Rank 0's array of that size to all.")
_exchange("alltoall", "All-to-all; the size is all that a rank sends, busbw is algbw times (n-1)/n.")
_exchange("incast", "All ranks send an array of that size to rank 0 at once.")
_exchange("permutation", "Each rank sends an array of that size to the one half the ranks further on.")


@app.command(hidden=True)
def work(plan: str, json: Json = None, csv: Csv = None, plot: Plot = None) -> None:
    """One rank of a job that `--ranks` starts."""
    from csaud.perf import run

    run.rank(Plan.from_json(plan), run.Output(json, csv, plot))


def _run(plan: Plan, ranks: int, json: Path | None, csv: Path | None, plot: Path | None) -> None:
    from csaud.perf import collective, local, report, run

    collective.check(plan)
    if plot is not None:
        report.check_plot(plot)
    if ranks == 0:
        run.rank(plan, run.Output(json, csv, plot))
        return
    words = ["perf", "work", plan.to_json(), *_files(json, csv, plot)]
    local.launch(ranks, words)


def _files(json: Path | None, csv: Path | None, plot: Path | None) -> list[str]:
    """The options that name files; ConfigError where one cannot be written, which is too late to learn
    when everything has been measured."""
    from csaud.perf import report

    words = []
    for option, path in (("--json", json), ("--csv", csv), ("--plot", plot)):
        if path is not None:
            report.check_place(option, path)
            words += [option, str(path)]
    return words
