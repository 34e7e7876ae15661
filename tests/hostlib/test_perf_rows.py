"""Sizes as users write them, and what follows from times: percentiles, and bandwidths as in nccl-tests."""

import csv
import json
import re
from pathlib import Path

import pytest
from csaud.errors import ConfigError, CsaudError
from csaud.perf import report
from csaud.perf.plan import MOST_ITERATIONS, Plan, parse_sizes
from csaud.perf.row import bus_factor, make_row, percentile


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("64", (64,)),
        ("64,4K,1M", (64, 4096, 1 << 20)),
        ("1k:16K", (1024, 4096, 16384)),
        ("1:8:2", (1, 2, 4, 8)),
        ("3B", (3,)),
    ],
)
def test_sizes(text, sizes):
    assert parse_sizes(text) == sizes


@pytest.mark.parametrize("text", ["", "x", "4KK", "-4", "8:4", "0:4", "1:4:1", "1:2:3:4", "1T", "99G"])
def test_a_wrong_size_is_named(text):
    with pytest.raises(ConfigError, match="size"):
        parse_sizes(text)


def test_bus_bandwidth_is_what_a_link_carries():
    assert bus_factor("allreduce", 8) == 1.75
    assert bus_factor("alltoall", 8) == bus_factor("allgather", 8) == 0.875
    assert bus_factor("permutation", 8) == 1.0
    row = make_row("allreduce", 4, 8_000_000, [1000.0, 3000.0], 4000.0, type="float32", width=4)
    assert (row.time, row.algbw, row.busbw, row.count) == (2000.0, 4.0, 6.0, 2_000_000)
    assert make_row("incast", 4, 1000, [1.0], 1.0).algbw == 3.0  # three ranks' bytes reach rank 0


def test_a_percentile_needs_a_sample_beyond_it():
    assert percentile([1.0] * 99, 99.0) is None
    assert percentile([1.0] * 100, 99.0) == 1.0
    assert percentile([1.0] * 9_999, 99.99) is None
    assert percentile([1.0] * 10_000, 99.99) == 1.0
    assert MOST_ITERATIONS >= 10_000


def test_a_plan_survives_the_way_to_another_process():
    plan = Plan("allreduce", (64, 4096), 7, dtype="int32", op="max", check=False)
    assert Plan.from_json(plan.to_json()) == plan
    assert plan.iterations_for(100.0) == 7
    assert Plan("latency", (64,)).iterations_for(1e9) == 10
    assert Plan("latency", (64,)).iterations_for(0.0) == MOST_ITERATIONS


@pytest.mark.parametrize(
    ("mode", "memory", "said"),
    [
        ("raw", False, "2 ranks, soft device (raw); "),
        ("udp", True, "2 ranks, soft device (udp, shared memory); "),
        ("verbs", False, "2 ranks, verbs device; "),
    ],
)
def test_the_heading_names_the_device(mode, memory, said):
    assert said in report.heading(Plan("latency", (64,)), 2, mode, memory)


@pytest.mark.parametrize("test", ["bandwidth", "latency", "allreduce", "incast"])
def test_every_value_stands_below_its_name(test):
    names = report.heading(Plan(test, (64,)), 2, "raw").splitlines()[1]
    values = report.line(make_row(test, 2, 64, [1.0], 1.0))
    assert len(names) == len(values)


@pytest.mark.parametrize(("test", "curves"), [("allreduce", ["algbw", "busbw"]), ("incast", ["algbw"])])
def test_a_plot_has_the_bus_bandwidth_where_it_is_another(test, curves, tmp_path):
    pytest.importorskip("matplotlib")
    rows = [make_row(test, 4, size, [float(size)] * 100, 4000.0) for size in (64, 4096)]
    report.draw(rows, tmp_path / "plot.svg")
    words = re.findall(r"<!-- (\S+) -->", (tmp_path / "plot.svg").read_text())
    assert [word for word in words if word in ("algbw", "busbw")] == curves
    assert "mean" in words and "p50" in words and "p99.9" not in words, "of 100 there is no such percentile"


@pytest.mark.parametrize(
    "save", [report.save_json, report.save_csv, report.draw], ids=lambda save: save.__name__
)
def test_a_file_that_cannot_be_written_is_named(save, tmp_path):
    if save is report.draw:
        pytest.importorskip("matplotlib")
    with pytest.raises(CsaudError) as raised:
        save([make_row("incast", 4, 64, [5.0], 20.0)], tmp_path)
    assert str(raised.value) == f"cannot write {tmp_path}: Is a directory"


@pytest.mark.parametrize("name", ["plot", "plot.png", "plot.PDF", "plot.svg"])
def test_formats_of_plots(name):
    pytest.importorskip("matplotlib")
    report.check_plot(Path(name))


@pytest.mark.parametrize(
    ("save", "load"), [(report.save_json, json.load), (report.save_csv, csv.DictReader)], ids=["json", "csv"]
)
def test_rows_are_written_where_no_folder_is_yet(save, load, tmp_path):
    path = tmp_path / "here" / "and there" / "rows"
    save([make_row("incast", 4, size, [5.0], 20.0) for size in (64, 4096)], path)
    with path.open() as file:
        assert [(row["test"], int(row["size"])) for row in load(file)] == [("incast", 64), ("incast", 4096)]
