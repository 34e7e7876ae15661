"""`csaud net compare`: two reports side by side."""

from __future__ import annotations

import json

import pytest
from csaud_topologies.cli import app
from csaud_topologies.record.model import SCHEMA
from typer.testing import CliRunner

from tests.topologies.test_report import report


@pytest.fixture
def runs(tmp_path):
    first = report()
    second = report()
    second.run.spray = "ecmp"
    second.run.workload["batch"] = 64
    second.all_reduce.p99_s = 2 * first.all_reduce.p99_s
    second.flows = None
    folders = []
    for name, made in (("old", first), ("new", second)):
        folders.append(tmp_path / name)
        folders[-1].mkdir()
        (folders[-1] / "report.json").write_text(made.model_dump_json())
    return folders


def compare(*words):
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, ["compare", *map(str, words)])


def test_what_differs_and_by_how_much(runs):
    result = compare(runs[0], runs[1] / "report.json", "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["settings"] == {"spray": ["host", "ecmp"], "workload.batch": ["-", "64"]}
    figures = {line["name"]: line for line in found["figures"]}
    assert figures["all-reduce p99"]["ratio"] == 2.0
    assert figures["lost"]["values"] == [48.0, 48.0]
    assert figures["message completion p50"]["values"][1] is None
    assert figures["message completion p50"]["ratio"] is None
    text = compare(*runs).output
    assert "ecmp" in text
    assert "2.00" in text


def test_runs_alike_are_called_so(runs):
    assert "both were run alike" in compare(runs[0], runs[0]).output


def test_what_is_no_report_is_named(runs, tmp_path):
    result = compare(runs[0], tmp_path)
    assert result.exit_code == 1
    assert f"{tmp_path}/report.json: No such file" in result.output
    (tmp_path / "report.json").write_text("{}")
    assert f"not a report.json of schema {SCHEMA}" in compare(tmp_path, runs[0]).output
