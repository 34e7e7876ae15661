"""The commands of paths: which there are and why, what each hop loses, what hosts say, what links carry."""

import io
import json
import re
import socket
from collections.abc import Iterator

import pytest
from csaud_controller.cli import top
from csaud_controller.cli.path_why import render_trace
from csaud_controller.control.client import RefusedError, ask, wait_served
from csaud_controller.control.here import Here
from csaud_controller.inventory import End, leaf_spine
from csaud_controller.run.directory import RunDir
from rich.console import Console

from tests.controller.commands import as_json, csaud
from tests.controller.soft import PATIENCE_S, controller_process, programmed_run, run_directory


@pytest.fixture(scope="module")
def run() -> Iterator[RunDir]:
    with programmed_run() as made:
        yield made


def test_path_show(run: RunDir) -> None:
    shown = as_json(run, "path", "show", "h1", "h4")
    assert isinstance(shown, dict)
    assert [[(hop["switch"], hop["port"], hop["to"]) for hop in hops] for hops in shown["paths"]] == [
        [("l1", 1, "s1"), ("s1", 2, "l2"), ("l2", 4, "h4")],
        [("l1", 2, "s2"), ("s2", 2, "l2"), ("l2", 4, "h4")],
    ]
    result = csaud(run, "path", "show", "h1", "h2")
    assert "h1 -> h2: 1 path, spray" in result.output


def test_hosts_that_were_cut_off_and_no_others_are_told_to_be_unreachable(run: RunDir) -> None:
    assert "unreachable" not in csaud(run, "path", "show", "h1", "h3").output
    assert csaud(run, "drain", "l1", "--force").exit_code == 0
    try:
        cut_off = csaud(run, "path", "show", "h1", "h3").output
        assert re.search(r"h1 -> h3: 0 paths.*\n +unreachable\n", cut_off)
    finally:
        csaud(run, "undrain", "--all")


def test_path_show_says_why_and_trace_what_each_hop_loses(run: RunDir) -> None:
    assert csaud(run, "drain", "l1-s1").exit_code == 0
    assert csaud(run, "fault", "set", "1.0", "--where", "s2:2", "--kinds", "other").exit_code == 0
    try:
        assert re.findall(r"what|links|down", csaud(run, "drain", "show").output) == ["what", "links", "down"]
        shown = csaud(run, "path", "show", "h1", "h3", "--why")
        assert "unless a host asks for another" in shown.output
        assert "not taken l1:1 -> s1:2 -> l2:3: l1-s1: drained: l1-s1" in shown.output
        result = csaud(run, "path", "trace", "h1", "h3", "--packets", "20", "--json")
        assert result.exit_code == 1, result.output
        (way,) = json.loads(result.stdout)["paths"]
        assert [(hop["from"], hop["sent"], hop["loss"]) for hop in way] == [
            ("l1:2", 20, 0.0), ("s2:2", 20, 1.0), ("l2:3", None, None),
        ]  # fmt: skip
        assert way[0]["delay_us"] > 0
        sent = top._read(Here(run), run.fabric())[End("l1", 2)]
        assert sent["octets"] >= 60 * sent["packets"] >= 60 * 20
        told = csaud(run, "path", "trace", "h1", "h3", "--packets", "20")
        assert "s2:2 -> l2:2: 100.0% lost (0 of 20 arrived)" in told.output
        assert csaud(run, "path", "trace", "h1", "h9").exit_code == 2
    finally:
        csaud(run, "fault", "clear")
        csaud(run, "undrain", "--all")


def test_a_trace_has_one_line_a_hop_however_narrow_the_terminal() -> None:
    unknown = {"sent": None, "arrived": None, "loss": None, "delay_us": None}
    hops = [
        {"from": "l1:2", "to": "s2:1", "sent": 20, "arrived": 20, "loss": 0.0, "delay_us": 1_234_560.0},
        {"from": "s2:2", "to": "l2:2", "sent": 20, "arrived": 5, "loss": 0.75, "delay_us": None},
        {"from": "l2:3", "to": "h3:0", **unknown},
    ]
    out = io.StringIO()
    render_trace(Console(file=out, width=30), {"src": "h1", "dst": "h3", "paths": [hops, hops[2:]]})
    assert out.getvalue().splitlines() == [
        "h1 -> h3: 2 paths",
        "path 1",
        "  l1:2 -> s2:1: 0.0% lost (20 of 20 arrived), at most 1,234.6 ms",
        "  s2:2 -> l2:2: 75.0% lost (5 of 20 arrived)",
        "  l2:3 -> h3:0: not measured",
        "path 2",
        "  l2:3 -> h3:0: not measured",
    ]


def test_a_trace_tells_of_the_directions_on_the_ways_and_of_no_others(run: RunDir) -> None:
    traced = ask(run.control_socket, "path.trace", src="h1", dst="h3", packets=5)
    assert {end: hop["sent"] for end, hop in traced["hops"].items()} == {
        "l1:1": 5, "s1:2": 5, "l1:2": 5, "s2:2": 5,
    }  # fmt: skip


def test_the_history_of_paths_is_told_newest_first(run: RunDir) -> None:
    for words in (("drain", "l2-s1"), ("undrain", "l2-s1"), ("drain", "l1-s2"), ("undrain", "l1-s2")):
        assert csaud(run, *words).exit_code == 0
    told = csaud(run, "path", "history", "l2-s1", "-n", "2").output.splitlines()
    assert [re.search(r"drain \S+: \S+ -> \S+", line)[0] for line in told[1:]] == [
        "drain l2-s1: yes -> none", "drain l2-s1: none -> yes",
    ]  # fmt: skip
    newest = as_json(run, "path", "history", "-n", "1")
    assert [(row["what"], row["bad"]) for row in newest] == [("drain l1-s2: yes -> none", False)]
    unknown = csaud(run, "path", "history", "l9")
    assert unknown.exit_code == 2
    assert "unknown link, switch or host 'l9'" in unknown.output
    with run_directory() as empty:
        assert csaud(empty, "path", "history").exit_code == 1


def test_only_exceptions_that_are_about_packets_between_both_hosts_are_told(run: RunDir) -> None:
    try:
        for mode, where in (("ecmp", ("--dst", "10.0.1.0/24")), ("random", ("--src", "10.0.2.0/24"))):
            assert csaud(run, "policy", "set", "--spray", mode, *where).exit_code == 0
        assert "but " not in csaud(run, "path", "show", "h1", "h3", "--why").output
        back = csaud(run, "path", "show", "h3", "h1", "--why").output
        assert "but random: src 10.0.2.0/24" in back
        assert "but ecmp: dst 10.0.1.0/24" in back
    finally:
        csaud(run, "policy", "clear")


def test_top_shows_each_direction_of_each_link_once(run: RunDir) -> None:
    rows = as_json(run, "top", "--once", "--interval", "0.1")["links"]
    assert sorted(row["from"] for row in rows) == sorted(
        f"{name}:{port}" for name in ("l1", "l2", "s1", "s2") for port in (1, 2)
    )
    assert all(row["load"] >= 0 and row["dropped"] == 0 for row in rows)
    assert "imbalance" in csaud(run, "top", "--once", "--interval", "0.1").output


def test_rates_are_a_second_and_the_fullest_link_comes_first() -> None:
    wired = leaf_spine(2, 2)
    before = {
        End(name, port): dict.fromkeys(("octets", "packets", "marked", "cut", "dropped"), 0)
        for name in wired.switches
        for port in wired.uplinks(name)
    }
    after = {end: dict(each) for end, each in before.items()}
    after[End("l1", 2)] |= {"octets": 25_000_000, "packets": 6000, "cut": 20}
    first = top.rates(wired, before, after, 2.0)[0]
    assert (first["from"], first["to"], first["load"], first["imbalance"]) == ("l1:2", "s2:1", 0.5, 1.0)
    assert (first["packets"], first["cut"]) == (3000, 10)


@pytest.mark.parametrize("width", [25, 40, 60, 90, 120])
def test_top_leaves_columns_out_where_they_have_no_room_and_cuts_no_figure(width: int) -> None:
    row = {
        "from": "leaf-01:12", "to": "s1:1", "bits": 98_765_400_000, "load": 0.9877, "packets": 2_962_962.0,
        "marked": 51_234.0, "cut": 7_341.0, "dropped": 8_123.0, "imbalance": 0.123,
    }  # fmt: skip
    told = io.StringIO()
    Console(file=told, width=width).print(top._table([row, row], None))
    *note, head, first, _ = told.getvalue().splitlines()
    assert {"from", "load"} <= set(head.split())
    left_out = " ".join(" ".join(note).split()).removeprefix("no room for ").split(", ")
    shown = dict(zip(head.split(), first.split(), strict=True))
    everything = {
        "from": "leaf-01:12", "to": "s1:1", "Mbit/s": "98,765.4", "load": "99%", "packets/s": "2,962,962",
        "ECN/s": "51,234", "cut/s": "7,341", "dropped/s": "8,123", "imbalance": "+12%",
    }  # fmt: skip
    assert shown == {key: text for key, text in everything.items() if key not in left_out}
    assert (width >= 90) == (left_out == [""])


def report(run: RunDir, **fields: object) -> dict:
    counts = {"tx": [100, 50, 0, 7], "lost": [1, 0, 0, 7], "ecn": [0, 25, 0, 0]}
    return ask(run.control_socket, "paths.report", **{"host": "10.0.1.1", "rank": 0, **counts, **fields})


def test_paths_as_hosts_see_them(run: RunDir) -> None:
    assert "no host has reported" in csaud(run, "path", "stats").output
    assert report(run)["denied"] == []
    report(run, rank=1, tx=[1], lost=[0], ecn=[0])
    report(run, host="192.0.2.9", tx=[0, 3], lost=[0, 0], ecn=[0, 0])
    shown = as_json(run, "path", "stats")
    assert shown == {
        "hosts": {
            "h1": {
                "0": {"tx": 101, "lost": 1, "ecn": 0},
                "1": {"tx": 50, "lost": 0, "ecn": 25},
                "3": {"tx": 7, "lost": 7, "ecn": 0},
            },
            "192.0.2.9": {"1": {"tx": 3, "lost": 0, "ecn": 0}},
        },
        "denied": [],
    }
    output = csaud(run, "path", "stats", "h1").output
    assert "100.00" in output
    assert "192.0.2.9" not in output
    rows = [line.split() for line in csaud(run, "path", "stats").output.splitlines()]
    assert ["h1", "3", "158", "8", "5.06", "25", "15.82"] in rows
    assert ["all", "161", "8", "4.97", "25", "15.53"] in rows
    wrong = csaud(run, "path", "stats", "h2")
    assert wrong.exit_code == 2
    assert "h2 has not reported; those that have: " in wrong.output


def test_denied_paths_are_told_to_hosts_and_kept(run: RunDir) -> None:
    assert "denied: 3, 7" in csaud(run, "path", "deny", "7", "3").output
    assert report(run)["denied"] == [3, 7]
    assert "denied" in csaud(run, "path", "stats", "h1").output
    assert csaud(run, "path", "allow", "7").exit_code == 0
    assert report(run)["denied"] == [3]
    assert as_json(run, "policy", "show")["denied_paths"] == [3]
    assert csaud(run, "path", "allow", "--all").exit_code == 0
    assert report(run)["denied"] == []
    for words in (["deny"], ["allow"], ["allow", "--all", "1"]):
        wrong = csaud(run, "path", *words)
        assert wrong.exit_code == 2
        assert "expected PATH..." in wrong.output
    assert csaud(run, "path", "deny", "16384").exit_code == 2


@pytest.mark.parametrize(
    "fields", [{"tx": [-1]}, {"tx": "x"}, {"rank": 1 << 20}, {"host": "x" * 100}, {"ecn": [0] * 20000}]
)
def test_a_report_that_cannot_be_is_refused(run: RunDir, fields: dict) -> None:
    with pytest.raises(RefusedError, match=next(iter(fields))):
        report(run, **fields)


def test_hosts_elsewhere_report_over_tcp_and_may_do_nothing_else() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]

    def tell(**request: object) -> dict:
        with socket.create_connection(("127.0.0.1", port), PATIENCE_S) as connection:
            connection.sendall(json.dumps(request).encode() + b"\n")
            return json.loads(connection.makefile("rb").readline())

    local = ("--reports-from", "127.0.0.0/8")
    with run_directory() as made, controller_process(made, "--reports", f"127.0.0.1:{port}", *local):
        wait_served(made.control_socket, PATIENCE_S)
        counts = {"tx": [5], "lost": [1], "ecn": [0]}
        assert tell(op="paths.report", host="10.0.2.1", rank=4, **counts) == {"ok": True, "denied": []}
        assert as_json(made, "path", "stats")["hosts"] == {"h3": {"0": {"tx": 5, "lost": 1, "ecn": 0}}}
        refused = tell(op="policy.set", policy={"spray": "random"})
        assert refused["error"] == "unknown op 'policy.set'; expected one of paths.report"
        assert not tell(op="stop")["ok"]
        unknown = tell(op="paths.report", host="192.0.2.9", rank=4, **counts)
        assert unknown["error"] == "host: 127.0.0.1 may not report for 192.0.2.9"
    with run_directory() as made, controller_process(made, "--reports", f"127.0.0.1:{port}"):
        wait_served(made.control_socket, PATIENCE_S)
        turned_away = tell(op="paths.report", host="10.0.2.1", rank=4, **counts)
        assert turned_away["error"] == "127.0.0.1 is no host of this fabric"
        assert as_json(made, "path", "stats")["hosts"] == {}
    wrong = csaud("/nowhere", "controller", "run", "--reports", "nonsense")
    assert wrong.exit_code != 0
