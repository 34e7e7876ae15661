"""The report of a synthetic run: its figures, its files, and that every key is documented."""

from __future__ import annotations

import errno
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from csaud_controller.inventory import fat_tree
from csaud_controller.policy.faults import FaultRule, Faults
from csaud_controller.policy.intent import Intent
from csaud_controller.policy.model import Policy
from csaud_controller.switches.counters import BY_PATH
from csaud_runs.directory import RunDir
from csaud_topologies.job.in_force import Demands
from csaud_topologies.record import model
from csaud_topologies.record.assemble import Collected, build_report, distribution
from csaud_topologies.record.books import SwitchCounts
from csaud_topologies.report.figures import all_figures
from csaud_topologies.report.html import page_environment, render_html
from csaud_topologies.report.names import FORMATS, NAMES
from csaud_topologies.report.terminal import print_summary
from csaud_topologies.report.write import clear_report, write_or_say_why_not, write_report
from csaud_topologies.run import runner
from csaud_topologies.scenario.model import Scenario
from csaud_topologies.scenario.options import RunOptions
from pydantic import BaseModel
from rich.console import Console

from tests.topologies import worlds

SCENARIO = Scenario(
    name="synthetic",
    workload={"name": "train_digits", "steps": 3},
    events=[{"at_step": 1, "link": ("l1", "s1"), "do": "down"}],
)
DOCS = Path(__file__).parents[2] / "docs" / "report.md"


UNIFORM = Intent()


def in_force(intent: Intent = UNIFORM, **fields) -> model.InForce:
    """Of a job whose scenario is UNIFORM."""
    return Demands(intent, 0, frozenset(), 0.0).record(SCENARIO).model_copy(update=fields)


def change(at_s: float, intent: Intent, what: str) -> model.ChangeRecord:
    asked = intent.model_dump(mode="json")
    return model.ChangeRecord(
        at_s=at_s, in_force_s=at_s + 0.25, step=2, what=[what],
        policy=asked["policy"], faults=asked["faults"]["rules"],
    )  # fmt: skip


def span(number: int, started: float, ended: float) -> dict[str, Any]:
    """A collective that the program waited for all the time."""
    times = {"started": started, "ended": ended, "waited": [[started, ended]]}
    return {"communicator": 0, "number": number, "peer": -1, **times}


def collected(**changes) -> Collected:
    switches, hosts = worlds.world()
    reports = [
        {"stats": dict(vars(hosts[host])), "flow_times": [0.001, 0.002, 0.010], "digest": "d1g357"}
        | {"spans": spans}
        for host, spans in (("h1", [span(0, 1.0, 2.0)]), ("h2", [span(0, 1.5, 2.0)]))
    ]
    steps = [
        {
            rank: {
                "step": step,
                "all_reduce_s": 0.1 * (step + 1) + rank / 100,
                "bytes": 4096,
                "loss": 1.0 + rank,
            }
            for rank in range(2)
        }
        for step in range(3)
    ]
    for step, ranks in enumerate(steps):
        ranks[0]["accuracy"] = 0.5 + step / 10
    values = {
        "scenario": SCENARIO,
        "in_force": in_force(),
        "fabric": worlds.fabric(),
        "hosts": ["h1", "h2"],
        "steps": steps,
        "reports": reports,
        "reference": {"digest": "d1g357", "parameters": 1000, "accuracy": 0.7, "weights_sha256": "ff00"},
        "switches": switches,
        "paths": {
            name: {key: {port: list(range(16)) for port in (1, 2)} for key in BY_PATH} for name in switches
        },
        "failed_links": {worlds.FAILED},
        "hidden_drops": {},
        "events": [model.EventRecord(at_s=1.5, step=1, what="link l1-s1 down")],
        "background": [model.Background(to="h1", sources=["h2"], packets_sent=77)],
    }
    return Collected(**{**values, **changes})


def run_part() -> model.Run:
    return model.Run(
        scenario="synthetic",
        about="of a <test>",
        target="soft",
        fabric="leaf-spine-2x2x1",
        seed=1,
        spray="host",
        loss_signal="both",
        loss_icrc=False,
        ecn=True,
        injected_probability=0.01,
        workload={"name": "train_digits"},
        ranks=["h1", "h2"],
        link_rate_bps=200_000_000,
        command="csaud net run",
        started="2026-01-01T00:00:00+00:00",
        duration_s=3.0,
        job_s=2.0,
        versions={"softswitch": "0.1.0"},
    )


def report(**changes) -> model.Report:
    return build_report(collected(**changes), run_part())


def page_of(made: model.Report, times=(0.1,)) -> str:
    return render_html(made, all_figures(made, times))


def timeline(queues=((3, 0), (0, 7))) -> model.Timeline:
    links = [
        model.LinkSeries(
            switch="l1", port=port, peer=peer, goodput_bps=[1e6 * port, 5e5], queue_packets=queue
        )
        for (port, peer), queue in zip(((1, "s1"), (2, "s2")), queues, strict=True)
    ]
    return model.Timeline(at_s=[1.0, 2.5], links=links)


def test_consistent_run_passes_and_its_figures_are_right():
    made = report()
    assert made.passed, [check for check in made.checks if not check.passed]
    assert made.recovery.model_dump() == {
        "sent": 1000,
        "received": 952,
        "lost": 48,
        "retransmitted": 53,
        "found_by": {"loss": 10, "gap": 0, "interval": 41, "probe": 2, "parity": 0},
        "spurious": 5,
        "duplicates": 5,
        "told": {"receivers": 22, "senders": 10},
        "control": 50,
        "parity": {"sent": 0, "lost": 0},
    }
    assert made.switches.model_dump() == {
        "injected": 10, "trimmed": 24, "bounced": 11, "both": 4, "congestion_dropped": 0,
        "trim_sent": 23, "trim_dropped": 1, "bounce_sent": 10, "bounce_dropped": 1,
        "ecn_marked": 4 * 2 * 120, "ecn_seen": 0, "overflow": 4 * 2 * 120,
    }  # fmt: skip
    assert made.all_reduce.count == 3
    assert made.all_reduce.max_s == pytest.approx(0.31)
    assert made.flows.p50_s == pytest.approx(0.002)
    assert made.training.loss == [1.5, 1.5, 1.5]
    assert made.training.final_accuracy == pytest.approx(0.7)
    assert [port.data for port in made.uplinks if port.switch == "l1"] == [490, 500]


def failed(made: model.Report) -> set[str]:
    assert not made.passed
    return {check.name for check in made.checks if not check.passed}


def test_each_kind_of_failure_fails_the_run_by_name():
    wrong = collected()
    wrong.reports[1]["digest"] = "0ther"
    assert failed(build_report(wrong, run_part())) == {"results bit-equal"}
    assert failed(report(hidden_drops={"l1:1 rx_ring_drops": 1})) == {"hidden drops"}
    assert failed(report(events=[])) == {"events"}
    assert failed(report(steps=collected().steps[:2])) == {"steps finished"}
    assert "books: links" in failed(report(failed_links=set()))
    unmarked = collected()
    unmarked.reports[0]["stats"]["rx_ecn"] = 1000
    assert failed(build_report(unmarked, run_part())) == {"ECN marks"}
    unbalanced = collected()
    unbalanced.switches["l1"].injected[(1, 1)] += 1
    assert "books: lost DATA copies" in failed(build_report(unbalanced, run_part()))


def test_page_tells_what_was_in_force_and_what_became_of_it():
    start = Intent(
        policy=Policy(spray="ecmp", trim_dscp=12), faults=Faults(rules=(FaultRule(probability=0.05),))
    )
    later = Intent(policy=Policy(spray="flowlet"), faults=Faults(rules=(FaultRule(probability=0.2),)))
    made = report(
        in_force=in_force(start, links_down=["l2-s2"]),
        changes=[change(0.5, later, "policy.spray: ecmp -> flowlet"), change(0.9, later, "another")],
    )
    made.run.spray, made.run.injected_probability = "ecmp", 0.05
    assert set(made.in_force.unlike_scenario) == {
        "policy.spray: host -> ecmp",
        "policy.trim_dscp: 48 -> 12",
        "fault uplinks: none -> 0.05 of data+control, silent, seed 1",
    }
    page = " ".join(render_html(made, {}).split())
    assert "spray ecmp, then flowlet ·" in page
    assert "injected loss 5 %, then 20 % ·" in page
    assert "policy.spray: host -&gt; ecmp" in page
    assert "trim_dscp</td><td><code>12" in page
    assert "were down by then: l2-s2" in page
    at = [page.index(what) for what in ("ecmp -&gt; flowlet (on every switch 250 ms", "link l1-s1 down</td>")]
    assert at == sorted(at), "by time, together with the scenario's events"


def test_what_is_expected_follows_what_was_in_force():
    """A fault that was cleared takes nothing; one that came or went meanwhile may or may not have."""
    faulty = SCENARIO.model_copy(update={"faults": [FaultRule(probability=0.9)]})
    name = "packets injected as lost"

    def planned(**changes) -> list[str]:
        return [check.name for check in report(**changes).checks]

    assert name not in planned()
    assert name in planned(scenario=faulty)
    gone = change(0.5, UNIFORM, "fault uplinks: 0.9 -> none")
    assert name not in planned(scenario=faulty, changes=[gone])


def test_report_json_reads_back_as_the_same_report(tmp_path):
    made = report()
    page = write_report(made, tmp_path, [0.1, 0.2, 0.3])
    assert model.Report.model_validate_json((tmp_path / "report.json").read_text()) == made
    assert json.loads((tmp_path / "report.json").read_text())["schema_version"] == model.SCHEMA
    assert page == tmp_path / "report.html"


def test_a_page_tells_what_became_of_tcp_beside_the_job():
    bulk = model.Bulk(
        seconds=20, received=50_000_000, csa=60_000_000, other=52_000_000, link_rate_bps=50_000_000
    )
    beside = model.Background(to="h3", sources=["h2"], packets_sent=None, kind="bulk", bulk=bulk)
    made = report().model_copy(update={"background": [beside]})
    page = " ".join(render_html(made, {}).split())
    assert "Background: TCP from h2 to h3, 20.0 Mbit/s over a link of 50 for 20.0 s." in page
    assert "Of what left for h3 meanwhile, 54 % was the job's." in page
    assert "plain UDP" not in page


@pytest.mark.parametrize("ports", [4, 8])
def test_the_picture_of_a_large_fabric_is_scrolled_and_not_shrunk(ports):
    made = report().model_copy(update={"fabric": json.loads(fat_tree(ports).to_json())})
    page = render_html(made, {})
    wide, least = re.search(r'viewBox="0 0 (\d+) \d+" style="max-width:\1px;min-width:(\d+)px', page).groups()
    assert int(least) >= 0.7 * int(wide)
    assert int(wide) >= 50 * len(made.fabric["hosts"]), "boxes of hosts are 48 wide"


def test_no_line_of_a_page_ends_within_a_number():
    assert page_environment().filters["count"](1234567) == "1\u202f234\u202f567"


def test_page_is_self_contained_and_has_every_figure():
    page = page_of(report(timeline=timeline()), [0.1, 0.2, 0.3])
    assert page.count("<svg") == 1 + len(NAMES)  # the fabric and the plots
    assert "<script" not in page
    loaded = re.findall(r"""(?:src|href)\s*=\s*["'](?!#)([^"']+)|url\((?!#)([^)]+)\)|@import""", page)
    assert loaded == []
    assert "of a &lt;test&gt;" in page  # text is escaped
    assert re.search(r"All \d+ checks held", page)


def test_figures_are_files_for_a_paper_in_one_font_size(tmp_path):
    other = tmp_path / "figures" / "mine.svg"
    other.parent.mkdir()
    other.write_text("keep me")
    write_report(report(timeline=timeline()), tmp_path, [0.1, 0.2, 0.3])
    folder = tmp_path / "figures"
    written = {f"{name}.{ending}" for name in NAMES for ending in FORMATS}
    assert {path.name for path in folder.iterdir()} == written | {"mine.svg"}
    for name in NAMES:
        sizes = set(re.findall(r"font(?:-size)?:[^;\"']*?([\d.]+)px", (folder / f"{name}.svg").read_text()))
        assert sizes == {"8"}, name
        assert (folder / f"{name}.pdf").read_bytes().startswith(b"%PDF")
    assert (folder / "goodput.csv").read_text().splitlines() == [
        '"time, s","l1>s1 (port 1), Mbit/s","l1>s2 (port 2), Mbit/s"',
        "1.0,1.0,2.0",
        "2.5,0.5,0.5",
    ]
    assert (folder / "queues.csv").read_text().splitlines()[1:] == ["1.0,3.0,0.0", "2.5,0.0,7.0"]
    clear_report(tmp_path)
    assert list(folder.iterdir()) == [other]
    assert not (tmp_path / "report.html").exists()


@pytest.mark.parametrize("ending", FORMATS)
def test_a_full_disk_is_told_as_what_it_is(tmp_path, ending):
    (tmp_path / f"figure.{ending}").symlink_to("/dev/full")
    drawn = next(iter(all_figures(report(), (0.1,)).values()))
    with pytest.raises(OSError, match="No space left on device"):
        drawn.write(tmp_path / "figure")


def test_of_a_report_that_finds_no_room_nothing_is_left(tmp_path, capsys):
    (tmp_path / "report.html").symlink_to("/dev/full")
    assert write_or_say_why_not(report(), tmp_path, [0.1]) is None
    said = capsys.readouterr().err
    assert said == f"csaud: {tmp_path}: the report cannot be written: No space left on device\n"
    assert list(tmp_path.rglob("*.*")) == []


def test_a_run_on_a_full_disk_says_so_in_one_line(tmp_path, monkeypatch, capsys):
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setenv("PATH", os.environ["PATH"])  # which is added to
    for part in ("_wait_recorded", "subprocess.run"):
        monkeypatch.setattr(f"{runner.__name__}.{part}", lambda *_, **__: None)
    monkeypatch.setattr(runner, "Runner", full)
    RunDir(tmp_path).options.write_text(RunOptions(out="here").model_dump_json())
    assert runner.run_session(tmp_path) == 1
    said = "csaud: No space left on device: of what belongs in here a part is missing\n"
    assert capsys.readouterr().out == said


def test_a_target_that_tells_no_queues_has_goodput_alone():
    figures = all_figures(report(timeline=timeline(queues=(None, None))), [0.1])
    assert "goodput" in figures
    assert "queues" not in figures


def test_page_of_a_failed_run_says_so():
    page = page_of(report(hidden_drops={"l1:1 rx_ring_drops": 3}))
    assert "1 of" in page
    assert "checks did not hold" in page


def test_page_without_training_leaves_its_plots_out():
    assert "test accuracy after" not in page_of(report(reference={"digest": "d1g357"}))


def test_summary_names_causes_and_the_verdict(tmp_path):
    console = Console(width=120, record=True, force_terminal=False)
    by_hand = in_force(Intent(policy=Policy(spray="ecmp")))
    made = report(in_force=by_hand, changes=[change(0.5, UNIFORM, "policy.spray: ecmp -> host")])
    print_summary(made, tmp_path / "report.html", console)
    text = console.export_text()
    assert "policy.spray: host -> ecmp" in text
    assert "policy.spray: ecmp -> host, 0.5 s into the job" in text
    assert "48 of 1,000 DATA copies: 10 injected, 5 link down, 1 no path, 1 discarded, 31 cut" in text
    assert "22 to receivers, 10 to senders (both)" in text
    assert "960 DATA marked, 0 seen by hosts" in text
    assert "0% computing, 0% computing beside communication, 67% communication, 33% waiting" in text
    assert "bit-equal" in text
    assert "passed: all" in text


def test_lost_parity_is_told_where_its_causes_are(tmp_path):
    console = Console(width=140, record=True, force_terminal=False)
    made = report()
    made.recovery.parity = {"sent": 9, "lost": 3}
    print_summary(made, tmp_path / "report.html", console)
    assert "48 of 1,000 DATA copies and 3 PARITY: 10 injected" in console.export_text()


def program(*statuses: int, deaths: int = 0) -> model.Program:
    ends = [
        model.RankEnd(rank=rank, host=f"h{rank + 1}", status=status, ended=f"status {status}", counters="")
        for rank, status in enumerate(statuses)
    ]
    return model.Program(command=["python", "train.py"], deaths=deaths, ranks=ends)


def test_a_program_of_ones_own_has_books_but_no_steps_and_no_reference():
    made = report(reference=None, program=program(0, 0), steps=[])
    assert made.passed and made.books.balanced and not made.books.without
    assert (made.equality, made.training, made.all_reduce) == (None, None, None)
    assert "books: lost DATA copies" in {check.name for check in made.checks}
    assert "python train.py" in page_of(made, ())


def test_a_rank_without_counters_leaves_the_books_incomplete():
    reports = [{}, collected().reports[1]]
    made = report(reference=None, program=program(137, 0), steps=[], reports=reports)
    assert failed(made) == {"ranks ended", "counters left"}
    assert made.books.without == [0] and not made.books.balanced and made.books.job == []
    assert {line.source for line in made.books.links} == {"l1", "l2", "s1", "s2", "h2"}
    assert (made.recovery.received, made.recovery.lost, made.recovery.spurious) == (952, None, None)
    assert "lost" not in made.recovery.parity
    console = Console(record=True, width=120)
    print_summary(made, Path("report.html"), console)
    assert "incomplete: rank 0 used the fabric and left no final counters" in console.export_text()
    assert "rank 0 left no final counters" in page_of(made, ())


@pytest.mark.parametrize(
    ("statuses", "missing", "wrong"),
    [
        ((137, 0), [0], set()),
        ((0, 0), [0], {"counters left"}),  # it lived
        ((137, 1), [0], {"ranks ended"}),
        ((1, 0), [], set()),  # by an error: it left some, and the others went on sending to it
    ],
    ids=str,
)
def test_of_a_rank_that_may_die_neither_a_status_nor_counters_are_expected(statuses, missing, wrong):
    reports = [{} if rank in missing else each for rank, each in enumerate(collected().reports)]
    if statuses[0] == 1:
        reports[0]["stats"]["rx_control"] -= 20
    made = report(reference=None, program=program(*statuses, deaths=1), steps=[], reports=reports)
    assert {check.name for check in made.checks if not check.passed} == wrong
    assert made.books.without == [rank for rank in (0, 1) if statuses[rank] or rank in missing]


@pytest.mark.parametrize(
    ("epochs", "counters", "wrong"),
    [(1, "closed", {"packets refused", "books: losses found"}),
     (2, "reformed, closed", {"books: losses found"}),
     (2, "failed, closed", set())],
)  # fmt: skip
def test_what_a_program_left_under_way_may_come_in_its_next_epoch(epochs, counters, wrong):
    """And nobody looks any more for what was lost of messages that were given up."""
    reports = collected().reports
    reports[0]["stats"]["rtx_interval"] -= 1
    reports[1]["stats"] |= {"rx_stale_epoch": 3, "rx_stale_data": 3}
    reports[1]["stats"]["rx_data"] -= 3
    reports[1]["stats"]["rx_duplicates"] -= 3
    made_of = program(0, 0)
    made_of.epochs = epochs
    for rank in made_of.ranks:
        rank.counters = counters
    made = report(reference=None, program=made_of, steps=[], reports=reports)
    assert {check.name for check in made.checks if not check.passed} == wrong


def test_a_program_that_sends_no_packet_of_ours_has_no_books():
    quiet = {name: SwitchCounts() for name in collected().switches}
    made = report(
        reference=None, program=program(0, 0), steps=[], reports=[{}, {}], switches=quiet, events=[]
    )
    assert made.passed and made.books.empty
    assert not any(check.name.startswith("books") for check in made.checks)
    assert "no books to balance" in page_of(made, ())
    lost = {"l1:3 rx_ring_drops": 7}
    made = report(
        reference=None, program=program(1, 0), steps=[], reports=[{}, {}], switches=quiet, events=[],
        hidden_drops=lost,
    )  # fmt: skip
    assert failed(made) == {"ranks ended", "hidden drops"}, "why it may have failed"


def test_every_key_is_documented():
    def keys(part: type[BaseModel]):
        for name, field in part.model_fields.items():
            yield name
            for kind in (field.annotation, *getattr(field.annotation, "__args__", ())):
                if isinstance(kind, type) and issubclass(kind, BaseModel):
                    yield from keys(kind)

    text = DOCS.read_text()
    missing = sorted({key for key in keys(model.Report) if not re.search(rf"`{key}(\[\])?`", text)})
    assert missing == []


def test_distribution_of_nothing_is_none_and_large_ones_are_thinned():
    assert distribution([]) is None
    made = distribution(float(value) for value in range(100_000))
    assert len(made["sample_s"]) == 2000
    assert (made["sample_s"][0], made["sample_s"][-1]) == (0.0, 99_999.0)
    assert made["p99_s"] == pytest.approx(98_999.01)
