"""What `csaud counter show` prints of a reading, on terminals of several sizes."""

from __future__ import annotations

import itertools
import re
from types import SimpleNamespace

import pytest
from csaud_controller.cli import counter as counter_command
from csaud_controller.cli.counter_tables import CounterTables, Shown
from csaud_controller.cli.fitting import Fitted
from csaud_controller.inventory import leaf_spine
from csaud_controller.program.packets import KINDS
from csaud_controller.switches.counters import BY_KIND, BY_PATH, BY_PORT, DISCARDED, REFUSED
from rich.console import Console

from tests.support.marks import thorough

FABRIC = leaf_spine(4, 4)
LARGE = 9_876_543


def reading(egress=LARGE):
    """Every counter of every port is LARGE; s4 counted nothing."""

    def of(switch):
        count = 0 if switch == "s4" else LARGE
        ports = FABRIC.peers[switch]
        kinds = dict.fromkeys(KINDS, count)
        return {
            **{name: {port: kinds for port in ports} for name in BY_KIND},
            "egress_kind": {port: dict.fromkeys(KINDS, count and egress) for port in ports},
            **{name: dict.fromkeys(ports, count) for name in BY_PORT},
            **{name: {port: [count] * 16 for port in ports} for name in BY_PATH},
            "refused": {port: dict.fromkeys(REFUSED, count) for port in ports},
            "held_back": dict.fromkeys(ports, count),
            "no_path": kinds,
            "discarded": dict.fromkeys(DISCARDED, count),
        }

    return {switch: of(switch) for switch in FABRIC.switches}


def shown(width, *, paths=True, nonzero=False, **options):
    console = Console(width=width, record=True, highlight=False, file=None, force_terminal=False)
    with console.capture() as text:
        console.print(CounterTables(FABRIC, reading(), Shown(paths, nonzero), **options))
    return text.get().splitlines()


@pytest.mark.parametrize("width", [80, thorough(100), thorough(220)])
def test_no_number_and_no_heading_is_cut(width):
    lines = shown(width)
    assert not [line for line in lines if "\u2026" in line]
    assert max(map(len, lines)) <= width
    by_port = [line.split() for line in lines if line.startswith("l2:3 ")]
    cells = [cell for line in by_port for cell in line if cell.isdigit()]
    # 12 of the port, 4 of its LOSS, 16 of each of seven counters by path
    assert len(cells) == 12 + 4 + 7 * 16
    assert set(cells) == {str(LARGE), str(4 * LARGE)}  # by kind, and all kinds


def test_why_packets_went_no_further_is_said_over_their_number():
    counts = reading()
    numbers = iter(range(101, 200))
    wanted = {}
    for counter, words in (("no_path", KINDS), ("discarded", DISCARDED)):
        counts["l1"][counter] = {why: next(numbers) for why in words}
    wanted |= {f"no path {kind}": n for kind, n in counts["l1"]["no_path"].items()}
    wanted |= {why.replace("_", " "): n for why, n in counts["l1"]["discarded"].items()}
    none = {port: dict.fromkeys(REFUSED, 0) for port in FABRIC.peers["l1"]}
    counts["l1"]["refused"] = {**none, 1: {why: next(numbers) for why in REFUSED}}
    wanted |= {f"refused {why}": n for why, n in counts["l1"]["refused"][1].items()}
    counts["l1"]["held_back"] = {**dict.fromkeys(FABRIC.peers["l1"], 0), 1: next(numbers)}
    wanted["held back"] = counts["l1"]["held_back"][1]
    console = Console(width=220, highlight=False, force_terminal=False)
    with console.capture() as text:
        console.print(CounterTables(FABRIC, counts, Shown(False, False)))
    lines = text.get().splitlines()
    title = next(n for n, line in enumerate(lines) if line.startswith("Packets that went no further"))
    row = next(line for line in lines[title:] if line.startswith("l1 "))
    ends = [len("switch"), *[cell.end() for cell in re.finditer(r"\S+", row)][1:]]
    read = {
        " ".join(line[a:b].strip() for line in lines[title + 1 : title + 3]).strip(): row[a:b].strip()
        for a, b in itertools.pairwise(ends)
    }
    assert read == {why: str(n) for why, n in wanted.items()}


def test_what_a_program_does_not_count_is_a_dash():
    """As on Tofino."""
    counts = {name: dict(each) for name, each in reading().items()}
    for lacking in ("both", "trim_dropped", "held_back", "overflow", "injected"):
        del counts["l1"][lacking]
    console = Console(width=220, highlight=False, force_terminal=False)
    with console.capture() as text:
        console.print(CounterTables(FABRIC, counts, Shown(True, False)))
    lines = [line.split() for line in text.get().splitlines()]
    of_l1 = [line for line in lines if line[:1] == ["l1"]]
    assert [line.count("-") for line in of_l1] == [1, 1], "lost by fault, and held back"
    assert "-" not in next(line for line in lines if line[:1] == ["all"])
    assert next(line for line in lines if line[:1] == ["l1:1"] and len(line) == 5)[2] == "-"


def test_a_row_of_more_cells_than_columns_is_no_table():
    with pytest.raises(ValueError, match="By port: a row of 3 cells for 2 columns"):
        Fitted("By port", ["port"], [["in#"]], [["l1:1", "1", "2"]])


def test_totals_are_of_all_ports():
    lines = [line.split() for line in shown(220)]
    ports = len(FABRIC.peers["l1"])
    first = next(line for line in lines if line[:1] == ["l1"])
    assert first[1:3] == [str(4 * ports * LARGE)] * 2
    every = sum(len(FABRIC.peers[name]) for name in FABRIC.switches if name != "s4")
    assert next(line for line in lines if line[:1] == ["all"])[1:3] == [str(4 * every * LARGE)] * 2


def test_nonzero_leaves_out_what_counted_nothing():
    assert any(line.startswith("s4") for line in shown(120))
    assert not any(line.startswith("s4") for line in shown(120, nonzero=True))


def test_nonzero_keeps_a_switch_that_only_took_packets_in():
    counts = reading()
    port = min(counts["s4"]["ingress_kind"])
    counts["s4"]["ingress_kind"][port] = {**counts["s4"]["ingress_kind"][port], next(iter(KINDS)): 1}
    console = Console(width=120, highlight=False, force_terminal=False)
    with console.capture() as text:
        console.print(CounterTables(FABRIC, counts, Shown(False, True)))
    by_switch = [line.split() for line in text.get().splitlines() if line.startswith("s4 ")]
    assert by_switch[0][:3] == ["s4", "1", "0"]


def test_watching_reaches_every_switch_on_a_small_terminal():
    lines = shown(80, before=reading(egress=LARGE - 50), interval=0.5, height=23)
    assert len(lines) <= 23
    assert {line.split()[0] for line in lines if line} >= set(FABRIC.switches)
    assert "no room for all" in lines[-1]
    rates = next(line.split() for line in lines if line.startswith("l1 "))
    assert rates[-1] == str(4 * len(FABRIC.peers["l1"]) * 100)


def test_rates_are_of_the_time_between_two_readings():
    before = reading(egress=LARGE - 50)
    lines = [line.split() for line in shown(220, before=before, interval=2.0, height=1000)]
    by_port = [line for line in lines if line[:2] == ["l2:3", "s3"]]
    assert [line[-1] for line in by_port] == [str(4 * 50 // 2)]
    assert not any("no room for all" in " ".join(line) for line in lines)


def test_readings_are_an_interval_apart_however_long_each_takes(monkeypatch):
    """After one that takes longer than that the next ones follow at once, until they are on time again."""
    now, began, takes = [100.0], [], iter((0.25, 2.5, 0.25, 0.25, 0.25))

    def passes(seconds):
        now[0] += seconds

    def counters(fabric, **_):
        began.append(now[0])
        passes(next(takes))
        return {}

    monkeypatch.setattr(counter_command, "time", SimpleNamespace(monotonic=lambda: now[0], sleep=passes))
    readings = counter_command._readings(SimpleNamespace(counters=counters), FABRIC, [], 1.0)
    assert [next(readings) for _ in range(5)] == [{}] * 5
    assert began == [100.0, 101.0, 103.5, 103.75, 104.0]
