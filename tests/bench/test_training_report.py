"""`make reproduce-training`: parts, what is done once, time left, a page with misses beside hits."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from bench import kept
from bench.results import Result, result
from bench.training_parts import Measured, NotMeasured, Part, Told
from bench.training_report import NoSuchPart, Progress, chosen, command

HIT = result("bytes", 1.0, "B", peer="dense", peer_value=8.0, bound="at most", limit=0.25)
MISS = result("steps a second", 3.0, "steps/s", peer="torchrun", peer_value=2.0, bound="at least", limit=3)


def part(name: str, row: Result, measured: list[str]) -> Part:
    """One that keeps what it has measured."""

    def measure(out: Path, jobs: int, told: Told) -> Measured:
        if found := kept.read(out / "kept.json"):
            told("both runs", 60.0, False)
            return [Result(**found)], {"job": "4 workers"}
        measured.append(name)
        kept.write(out / "kept.json", vars(row))
        told("first run", 20.0, True)
        told("second run", 40.0, True)
        return [row], {"job": "4 workers"}

    return Part(name, f"Title of {name}", f"About {name} <b>", 60.0, measure)


def fails(out: Path, jobs: int, told: Told) -> Measured:
    raise NotMeasured("a fabric needs root")


@pytest.fixture
def said() -> Console:
    return Console(record=True, width=160)


def described(load: str) -> Callable[[], Mapping[str, str]]:
    return lambda: {"load before": load}


def cells(page: str, name: str) -> list[str]:
    """Of a figure's row on the page."""
    row = next(row for row in re.findall(r"<tr>(.*?)</tr>", page, re.S) if f"<td>{name}</td>" in row)
    return [" ".join(cell.split()) for cell in re.findall(r"<td[^>]*>(.*?)</td>", row, re.S)]


def test_a_goal_that_is_missed_stands_beside_one_that_holds_and_is_no_failure(
    tmp_path: Path, said: Console
) -> None:
    parts = [part("one", HIT, []), part("two", MISS, [])]
    assert command(parts, said, tmp_path, 2, described("0.10"))
    page = (tmp_path / "report.html").read_text()
    assert cells(page, "bytes") == ["bytes", "1 B", "dense", "8", "0.125", "at most 0.25 x", "holds"]
    assert cells(page, "steps a second")[4:] == ["1.5", "at least 3 x", "missed"]
    assert '<div class="banner bad">1 of 2 goals hold, 1 missed.</div>' in page
    assert "About two &lt;b&gt;" in page and "make reproduce-training ONLY=two" in page
    assert "<td>4 workers</td>" in page and "<td>0.10</td>" in page
    assert json.loads((tmp_path / "two.json").read_text())[0]["holds"] is False
    text = said.export_text()
    assert "1 of 2 goals hold, 1 missed" in text and str(tmp_path / "report.html") in text.replace("\n", "")


def test_what_is_there_is_not_measured_again_and_keeps_its_circumstances(
    tmp_path: Path, said: Console
) -> None:
    measured: list[str] = []
    assert command([part("one", HIT, measured)], said, tmp_path, 2, described("0.10"))
    assert command(
        [part("one", HIT, measured), part("two", MISS, measured)], said, tmp_path, 2, described("9")
    )
    assert measured == ["one", "two"]
    page = (tmp_path / "report.html").read_text()
    assert page.count("<td>0.10</td>") == 1 and page.count("<td>9</td>") == 1
    assert "one: both runs (there already) · 1 min 0 s left" in said.export_text()


def test_a_part_that_did_not_run_is_told_of_and_the_others_run(tmp_path: Path, said: Console) -> None:
    parts = [Part("none", "Title of none", "", 5.0, fails), part("one", HIT, [])]
    assert not command(parts, said, tmp_path, 2, described("0.10"))
    page = (tmp_path / "report.html").read_text()
    assert "Not measured: a fabric needs root" in page and cells(page, "bytes")[-1] == "holds"
    assert "1 of 1 goals hold, 0 missed; not measured: none" in page and "banner good" not in page
    assert "none: not measured: a fabric needs root" in said.export_text()


def test_the_time_left_follows_from_what_was_done_now() -> None:
    now = iter([0.0, 0.0, 40.0, 41.0, 61.0, 61.0, 61.5])
    lines: list[str] = []
    progress = Progress(lines.append, lambda: next(now))
    progress.begin(100.0, 50.0)
    progress.over("a", 20.0, True)  # in 40 s
    progress.over("b", 30.0, False)
    progress.over("c", 40.0, True)  # in 20 s
    progress.begin(50.0, 0.0)
    progress.over("d", 20.0, False)
    assert lines == [
        "a · 3 min 30 s left",
        "b (there already) · 2 min 30 s left",
        "c · 1 min 0 s left",
        "d (there already) · 30 s left",
    ]


def test_losses_that_were_measured_are_a_figure_on_the_page_and_numbers_beside_it(
    tmp_path: Path, said: Console
) -> None:
    curve = {"step": [10.0, 20.0], "letters": [2560.0, 5120.0], "nats": [3.0, 2.5]}
    learnt = result("loss: one", 2.5, "nats", at={"method": "one", "curve": curve})
    step = result("step", 0.5, "s", at={"method": "one", "share": 0.5})
    parts = [part("learnt", learnt, []), part("steps", step, [])]
    assert command(parts, said, tmp_path, 2, described("0.10"))
    page = (tmp_path / "report.html").read_text()
    assert "<figure><svg" in page and "seconds, communication 50% of a dense step" in page
    assert (tmp_path / "losses.csv").read_text().splitlines() == [
        'method,step,letters,"loss, nats a letter","seconds, communication 50% of a dense step"',
        "one,10.0,2560.0,3.0,5.0",
        "one,20.0,5120.0,2.5,10.0",
    ]
    assert command(parts[1:], said, tmp_path, 2, described("0.10"))
    assert "<figure>" not in (tmp_path / "report.html").read_text()


def test_a_part_that_is_none_is_told() -> None:
    parts = [part("one", HIT, []), part("two", MISS, [])]
    assert [each.name for each in chosen(parts, ["two"])] == ["two"] and chosen(parts, []) == parts
    with pytest.raises(NoSuchPart, match="--only three: no such part; expected one of one, two"):
        chosen(parts, ["three"])


@pytest.mark.torch
def test_the_command_says_which_parts_there_are(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from bench.__main__ import app

    asked = CliRunner().invoke(app, ["training", "--help"])
    assert asked.exit_code == 0 and "Of its parts" in asked.output
    done = CliRunner().invoke(app, ["training", "--only", "losses", "--out", str(tmp_path)])
    assert done.exit_code == 2
    assert "no such part; expected one of recover, scape, steps" in " ".join(done.output.split())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.thorough
@pytest.mark.torch
@pytest.mark.root
def test_the_quick_form_measures_all_and_the_second_time_nothing(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from bench.__main__ import app

    arguments = ["training", "--quick", "--out", str(tmp_path)]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    before = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*/*.json")}
    assert {path.parent.name for path in before} == {"recover", "scape", "steps"}
    page = (tmp_path / "report.html").read_text()
    for name in ("effective throughput", "loss: SCAPE, 90 %", "step without computing: AdamS, dense"):
        assert len(cells(page, name)) == 7
    again = CliRunner().invoke(app, arguments)
    assert again.exit_code == 0, again.output
    assert before == {path: path.stat().st_mtime_ns for path in tmp_path.glob("*/*.json")}
    assert "(there already)" in again.output
