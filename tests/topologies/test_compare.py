"""`csaud net compare`: two reports side by side."""

from __future__ import annotations

import json

import pytest
from csaud_controller.inventory import leaf_spine
from csaud_controller.policy.faults import FaultRule
from csaud_topologies.cli import app
from csaud_topologies.record.describe import describe_run
from csaud_topologies.record.model import SCHEMA
from csaud_topologies.scenario.model import Scenario
from typer.testing import CliRunner

from tests.topologies.test_report import collected, in_force, program, report

REST = {"target": "soft", "started": "", "duration_s": 3.0, "job_s": 2.0, "versions": {}}


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


@pytest.mark.parametrize(
    ("change", "key", "told"),
    [
        ({"rule": {"kinds": ("loss",)}}, "faults", ["uplinks 0.01", "uplinks 0.01, kinds loss"]),
        ({"rule": {"signalled": True}}, "faults", ["uplinks 0.01", "uplinks 0.01, signalled True"]),
        ({"rule": {"seed": 7}}, "faults", ["uplinks 0.01", "uplinks 0.01, seed 7"]),
        ({"host": {"window": 8}}, "host.window", ["-", "8"]),
        (
            {"background": [{"to": "h1", "sources": 2, "load": 0.7}]},
            "background",
            ["", "to h1, sources 2, load 0.7"],
        ),
        (
            {"events": [{"at_step": 1, "link": "l1-s1", "do": "down"}]},
            "events",
            ["", "at_step 1, link l1-s1, do down"],
        ),
    ],
)
def test_whatever_a_scenario_asks_for_makes_runs_differ(tmp_path, change, key, told):
    for name, asked in (("old", {}), ("new", change)):
        rule = FaultRule(probability=0.01, **asked.get("rule", {}))
        keys = {key: value for key, value in asked.items() if key != "rule"}
        scenario = Scenario.model_validate({"name": "x", "faults": [rule.model_dump()], **keys})
        made = report(in_force=in_force(scenario.intent()))
        made.run = describe_run(scenario, leaf_spine(2, 2, 2), ["h1", "h2"], ["csaud"], **REST)
        (tmp_path / f"{name}.json").write_text(made.model_dump_json())
    found = json.loads(compare(tmp_path / "old.json", tmp_path / "new.json", "--json").stdout)
    assert {key: pair for key, pair in found["settings"].items() if not key.startswith("run.")} == {key: told}


def test_reports_that_do_not_tell_what_was_asked_for_are_compared_by_what_was_sent_beside(tmp_path):
    first, second = report(), report()
    second.background[0].sources.append("h3")
    second.events.clear()
    for name, made in (("old", first), ("new", second)):
        (tmp_path / f"{name}.json").write_text(made.model_dump_json())
    found = json.loads(compare(tmp_path / "old.json", tmp_path / "new.json", "--json").stdout)
    assert found["settings"] == {
        "background": ["to h1, sources h2", "to h1, sources h2 h3"],
        "events": ["link l1-s1 down", ""],
    }


def test_what_a_rank_without_counters_has_sent_is_in_no_figure(tmp_path):
    partial = report(reference=None, program=program(137, 0), steps=[], reports=[{}, collected().reports[1]])
    for name, made in (("whole", report()), ("partial", partial)):
        (tmp_path / f"{name}.json").write_text(made.model_dump_json())
    found = json.loads(compare(tmp_path / "whole.json", tmp_path / "partial.json", "--json").stdout)
    figures = {line["name"]: line["values"] for line in found["figures"]}
    of_hosts = {
        "DATA copies sent": 1000,
        "lost": 48,
        "retransmitted": 53,
        "spurious": 5,
        "control packets": 50,
    }
    assert {name: figures[name] for name in of_hosts} == {
        name: [sum_, None] for name, sum_ in of_hosts.items()
    }
    assert figures["trimmed"] == [24, 24]


def test_runs_alike_are_called_so(runs):
    assert "both were run alike" in compare(runs[0], runs[0]).output


def test_what_is_no_report_is_named(runs, tmp_path):
    result = compare(runs[0], tmp_path)
    assert result.exit_code == 2
    assert f"{tmp_path}/report.json: No such file" in result.output
    (tmp_path / "report.json").write_text("{}")
    assert f"not a report.json of schema {SCHEMA}" in compare(tmp_path, runs[0]).output


def test_a_report_of_another_schema_is_refused_whatever_else_fits(runs):
    file = runs[1] / "report.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"schema_version": SCHEMA + 1}))
    result = compare(*runs, "--json")
    assert result.exit_code == 2
    assert f"{file}: not a report.json of schema {SCHEMA}" in result.output
