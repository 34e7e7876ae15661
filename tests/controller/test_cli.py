"""The commands: tables for people, JSON for programs."""

import inspect
import io
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest
from csaud_controller.cli import link, top
from csaud_controller.control.here import Here
from csaud_controller.inventory import leaf_spine
from csaud_controller.links.damping import DampingSettings
from csaud_controller.links.grey import GreySettings
from csaud_controller.policy.spray import MODES
from csaud_controller.run.directory import RunDir
from rich.console import Console
from typer.testing import CliRunner

from tests.controller.commands import APPS, as_json, csaud
from tests.controller.soft import programmed_run


@pytest.fixture(scope="module")
def run() -> Iterator[RunDir]:
    with programmed_run() as made:
        yield made


@pytest.mark.parametrize("name", APPS)
def test_commands_speak_to_people_unless_asked_for_json(name: str) -> None:
    for command in APPS[name].registered_commands:
        assert command.callback is not None
        asked = inspect.signature(command.callback).parameters.get("as_json")
        assert asked is None or asked.default is False, command.callback.__name__


def test_fabric_show(run: RunDir) -> None:
    result = csaud(run, "fabric", "show")
    assert result.exit_code == 0, result.output
    assert "leaf-spine-2x2 on soft, pipeline" in result.output
    assert result.output.count("in sync") == 4
    shown = as_json(run, "fabric", "show")
    assert isinstance(shown, dict)
    assert list(shown["switches"]) == ["l1", "l2", "s1", "s2"]
    assert len(shown["pipeline"]["digest"]) == 64
    assert {link["up"] for link in shown["links"]} == {True}
    assert shown["miswired"] == {}


def test_policy_set_and_show(run: RunDir) -> None:
    result = csaud(run, "policy", "set", "--spray", "flowlet", "--gap", "2ms", "--seed", "7")
    assert result.exit_code == 0, result.output
    assert "applied on all switches" in result.output
    shown = as_json(run, "policy", "show")
    assert isinstance(shown, dict)
    assert (shown["spray"], shown["flowlet_gap"], shown["seed"]) == ("flowlet", "2ms", 7)
    assert "flowlet, a pause of 2ms" in csaud(run, "policy", "show").output
    for mode in MODES:
        assert csaud(run, "policy", "set", "--spray", mode).exit_code == 0


def test_what_hosts_ask_for_is_granted_or_not_whatever_else_is_set(run: RunDir) -> None:
    try:
        for words, granted in (
            (("--no-honour-hosts",), False),
            (("--honour-hosts", "--spray", "random"), True),
            (("--no-honour-hosts", "--spray", "ecmp", "--cls", "0"), False),
            (("--spray", "host"), False),
        ):
            shown = as_json(run, "policy", "set", *words)
            assert isinstance(shown, dict)
            assert shown["policy"]["honour_hosts"] is granted, words
        assert [each["spray"] for each in shown["policy"]["overrides"]] == ["ecmp"]
    finally:
        assert csaud(run, "policy", "set", "--honour-hosts").exit_code == 0
        assert csaud(run, "policy", "clear").exit_code == 0


def test_exceptions_to_the_spray_mode(run: RunDir) -> None:
    csaud(run, "policy", "set", "--spray", "ecmp", "--cls", "0")
    csaud(run, "policy", "set", "--spray", "host", "--cls", "1", "--comm", "7", "--to", "l2")
    csaud(run, "policy", "set", "--spray", "random", "--kind", "data", "--asked", "entropy")
    shown = as_json(run, "policy", "set", "--spray", "weighted", "--cls", "0")
    assert isinstance(shown, dict)
    keys = ("spray", "to", "kind", "cls", "comm", "asked")
    assert [tuple(o[key] for key in keys) for o in shown["policy"]["overrides"]] == [
        ("weighted", None, None, 0, None, None),
        ("random", None, "data", None, None, "entropy"),
        ("host", "l2", None, 1, 7, None),
    ]
    assert "spray of to=l2 cls=1 comm=7" in csaud(run, "policy", "show").output
    shown = as_json(run, "policy", "clear", "--cls", "0")
    assert isinstance(shown, dict)
    assert len(shown["policy"]["overrides"]) == 2
    result = csaud(run, "policy", "clear", "--cls", "5")
    assert result.exit_code == 0
    assert "those set: kind=data asked=entropy; to=l2 cls=1 comm=7" in " ".join(result.output.split())
    assert csaud(run, "policy", "clear").exit_code == 0
    shown = as_json(run, "policy", "show")
    assert isinstance(shown, dict)
    assert shown["overrides"] == []


def test_weights(run: RunDir) -> None:
    assert as_json(run, "policy", "weights", "l1", "l2") == {"l1": {"l2": {"1": 1, "2": 1}}}
    shown = as_json(run, "policy", "weights", "l1", "l2", "1=30", "2=10")
    assert isinstance(shown, dict)
    assert shown["policy"]["weights"] == {"l1": {"l2": {"1": 30, "2": 10}}}
    assert as_json(run, "policy", "weights", "l1") == {"l1": {"l2": {"1": 3, "2": 1}}}
    assert "1=3 (s1)  2=1 (s2)" in csaud(run, "policy", "weights").output
    csaud(run, "policy", "weights", "l2", "all", "1=1", "2=0")
    assert as_json(run, "policy", "weights", "l2", "l1") == {"l2": {"l1": {"1": 1, "2": 0}}}
    for switch in ("l1", "l2"):
        assert csaud(run, "policy", "weights", switch, "--derived").exit_code == 0
    assert "by the rates of links" in csaud(run, "policy", "show").output


def test_weights_that_no_packet_is_sprayed_by_are_told_of(run: RunDir) -> None:
    told = "weights are set, and have no effect but where a host asks for it: only `weighted` takes them"
    words = ("policy", "weights", "l1", "l2", "1=3", "2=1")
    try:
        csaud(run, "policy", "set", "--spray", "host")
        assert f"{told}, and the policy sprays by `host`" in csaud(run, *words).stderr
        for mode in sorted(MODES.keys() - {"weighted"}):
            assert f"the policy sprays by `{mode}`" in csaud(run, "policy", "set", "--spray", mode).stderr
        assert told not in csaud(run, "limit", "set", "--alarm-interval", "2s").stderr
        assert told in csaud(run, "policy", "show").stderr
        assert told in csaud(run, "policy", "weights", "l1", "--json").stderr
        assert csaud(run, "policy", "set", "--spray", "weighted").stderr == ""
        assert csaud(run, "policy", "show").stderr == ""
    finally:
        csaud(run, "limit", "set", "--alarm-interval", "1s")
        csaud(run, "policy", "weights", "l1", "--derived")


def test_signal_set_show_and_clear(run: RunDir) -> None:
    shown = as_json(run, "signal", "set", "bounce", "--size", "200", "--dscp", "9", "--priority", "5")
    assert isinstance(shown, dict)
    policy = shown["policy"]
    assert [policy[key] for key in ("loss_signal", "trim_size", "trim_dscp", "trim_priority")] == [
        "bounce", 200, 9, 5,
    ]  # fmt: skip
    csaud(run, "signal", "set", "both", "--at", "spine")
    csaud(run, "signal", "set", "drop", "--at", "l1:3", "--cls", "2")
    csaud(run, "signal", "set", "--icrc", "--at", "spine")
    shown = as_json(run, "signal", "show")
    assert isinstance(shown, dict)
    assert shown["exceptions"] == [
        {"where": "l1:3", "cls": 2, "signal": "drop"},
        {"where": "spine", "signal": "both", "icrc": True},
    ]
    assert "headers and iCRC, 98 bytes" in csaud(run, "signal", "show").output
    ports = as_json(run, "signal", "show", "l1", "s1")
    assert isinstance(ports, dict)
    assert [(each["cls"], each["signal"]) for each in ports["l1:3"]] == [(None, "bounce"), (2, "drop")]
    assert [(each["signal"], each["icrc"]) for each in ports["s1:1"]] == [("both", True)]
    assert "l1:3" in csaud(run, "signal", "show", "l1").output
    assert csaud(run, "signal", "clear", "--at", "spine").exit_code == 0
    assert csaud(run, "signal", "clear").exit_code == 0
    assert csaud(run, "signal", "set", "--size", "4214").exit_code == 0
    csaud(run, "signal", "set", "trim", "--no-icrc", "--size", "94", "--dscp", "8", "--priority", "7")


def test_limit_set_show_and_clear(run: RunDir) -> None:
    csaud(run, "limit", "set", "--trim-at", "10", "--drop-at", "20", "--alarm-interval", "50ms")
    csaud(run, "limit", "set", "--no-trim-at", "12", "--other-at", "7", "--loss-share", "0.25")
    csaud(run, "limit", "set", "--alarm-at", "11", "--at", "l1:3")
    csaud(run, "limit", "set", "--trim-at", "5", "--at", "l1:3")
    shown = as_json(run, "limit", "show")
    assert shown == {
        "limits": {"trim_at": 10, "no_trim_at": 12, "other_at": 7, "drop_at": 20},
        "limits_at": {"l1:3": {"alarm_at": 11, "trim_at": 5}},
        "alarm_interval": "50ms",
        "loss_share": 0.25,
    }
    assert "up to 25% of a link" in csaud(run, "limit", "show").output
    assert "at most one a port in 50ms" in csaud(run, "limit", "show").output
    ports = as_json(run, "limit", "show", "l1")
    assert isinstance(ports, dict)
    assert ports["l1:1"] == {
        "trim_at": 10, "no_trim_at": 12, "other_at": 7, "drop_at": 20, "alarm_at": 19,
    }  # fmt: skip
    assert ports["l1:3"] == {
        "trim_at": 5, "no_trim_at": 122, "other_at": 32, "drop_at": 240, "alarm_at": 11,
    }  # fmt: skip
    rows = [line.split() for line in csaud(run, "limit", "show", "l1").output.splitlines()]
    assert ["l1:1", "10", "12", "7", "20", "19"] in rows
    assert ["l1:3", "5", "122", "32", "240", "11"] in rows
    assert csaud(run, "limit", "clear", "--at", "l1:3").exit_code == 0
    assert csaud(run, "limit", "clear").exit_code == 0
    ports = as_json(run, "limit", "show", "l1")
    assert isinstance(ports, dict)
    assert ports["l1:3"]["trim_at"] == 64


def test_ecn_set_show_and_clear(run: RunDir) -> None:
    csaud(run, "ecn", "set", "4", "40")
    csaud(run, "ecn", "set", "--off", "--at", "hosts")
    assert as_json(run, "ecn", "show") == {"ecn": {"low": 4, "high": 40}, "ecn_at": {"hosts": False}}
    ports = as_json(run, "ecn", "show", "l1")
    assert ports == {
        "l1:1": {"low": 4, "high": 40}, "l1:2": {"low": 4, "high": 40}, "l1:3": None, "l1:4": None,
    }  # fmt: skip
    assert "off" in csaud(run, "ecn", "show").output
    assert csaud(run, "ecn", "clear", "--at", "hosts").exit_code == 0
    assert csaud(run, "ecn", "clear").exit_code == 0
    assert as_json(run, "ecn", "show") == {"ecn": True, "ecn_at": {}}
    assert "half of trim-at" in csaud(run, "ecn", "show").output


def test_what_holds_of_grey_links_is_shown_and_set(run: RunDir) -> None:
    def shown() -> object:
        return as_json(run, "link", "grey")

    try:
        assert shown() == {"grey": GreySettings().model_dump(mode="json")}
        assert csaud(run, "link", "grey", "--hosts", "5", "--every", "20s").exit_code == 0
        assert shown() == {"grey": GreySettings(hosts=5, every=20 * 10**9).model_dump(mode="json")}
        assert "where 5 hosts complain" in csaud(run, "link", "grey").output
        assert csaud(run, "link", "grey", "--off").exit_code == 0
        assert shown() == {"grey": None}
        assert "links that lose packets are not looked for" in csaud(run, "link", "grey").output
    finally:
        assert csaud(run, "link", "grey", "--default").exit_code == 0


def test_alarm_show(run: RunDir) -> None:
    assert as_json(run, "alarm", "show") == {"total": 0, "by_port": {}, "alarms": []}
    assert "no alarms" in csaud(run, "alarm", "show").output


def test_fault_set_show_and_clear(run: RunDir) -> None:
    changed = as_json(
        run, "fault", "set", "0.01", "--where", "l1-s2", "--signalled", "--kinds", "data, data", "--seed", "3"
    )
    rule = {"where": "l1-s2", "probability": 0.01, "kinds": ["data"], "signalled": True, "seed": 3}
    assert changed == {"faults": [rule], "pending": {}, "changed": True}
    assert as_json(run, "fault", "show") == [rule]
    assert "l1-s2" in csaud(run, "fault", "show").output
    assert as_json(run, "fault", "clear", "--where", "l1-s2") == {
        "faults": [], "pending": {}, "changed": True,
    }  # fmt: skip
    assert "no faults" in csaud(run, "fault", "show").output


def test_counter_show(run: RunDir) -> None:
    shown = as_json(run, "counter", "show", "l1", "--switch", "s2")
    assert isinstance(shown, dict)
    assert list(shown) == ["l1", "s2"]
    assert shown["l1"]["ingress_kind"]["1"].keys() == {"other", "data", "control", "loss"}
    result = csaud(run, "counter", "show", "--paths")
    assert result.exit_code == 0
    assert "s2:2" in result.output


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_counter_watch_goes_on_until_it_is_interrupted(run: RunDir, options: tuple[str, ...]) -> None:
    command = [sys.executable, "-c", "from csaud_controller.cli.counter import app; app()"]
    command += ["show", "l1", "--watch", "--interval", "0.1", "--run", str(run.path), *options]
    small = {**os.environ, "LINES": "4"}  # of a terminal; into a pipe all of it goes
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=small
    ) as child:
        assert child.stdout is not None
        lines = []
        while len(lines) < 3 or (not options and "out" not in " ".join(lines)):
            lines.append(child.stdout.readline())
            assert lines[-1], "it ended by itself"
        child.send_signal(signal.SIGINT)
        rest = child.stdout.read()
        assert child.wait() == 0
    assert "Traceback" not in rest
    assert "no room for all" not in "".join([*lines, rest])
    if options:
        assert [list(json.loads(line)["switches"]) for line in lines] == [["l1"]] * 3


def test_controller_status_and_wait(run: RunDir) -> None:
    shown = as_json(run, "controller", "status")
    assert isinstance(shown, dict)
    assert shown["switches"] == 4
    assert shown["pid"] > 0
    assert csaud(run, "controller", "wait", "--timeout", "5s").exit_code == 0
    assert csaud(run, "controller", "status").stdout.endswith(": 4 switches, all tables in sync\n")


def test_a_link_is_undrained_by_any_of_its_names_and_not_said_to_be_used_while_its_switch_is_drained(
    run: RunDir,
) -> None:
    try:
        for words in (("drain", "l1:1"), ("drain", "l1-s1"), ("drain", "s1")):
            assert csaud(run, *words).exit_code == 0
        still = csaud(run, "undrain", "s1-l1")
        assert still.exit_code == 0
        assert "s1-l1 is still not used: s1 is drained; drained: s1" in still.output
        refused = csaud(run, "undrain", "l1-s1")
        assert refused.exit_code == 2
        assert "l1-s1 is drained with s1: undrain that" in refused.output
        assert "s1 is used again; drained: nothing" in csaud(run, "undrain", "s1").output
    finally:
        csaud(run, "undrain", "--all")


def test_marks_and_queues_are_shown_to_people(run: RunDir) -> None:
    def rows(*words: str) -> list[str]:
        return [" ".join(line.split()) for line in csaud(run, *words).output.splitlines()]

    try:
        assert "l1:1 32 64" in rows("ecn", "show", "l1"), "half of trim-at, and trim-at"
        assert csaud(run, "ecn", "set", "3", "5").exit_code == 0
        assert rows("ecn", "show", "l1") == [
            "port marks from all from", *(f"l1:{port} 3 5" for port in range(1, 5)),
        ]  # fmt: skip
        assert "ECN marks between 3 and 5 packets" in rows("policy", "show")
        assert csaud(run, "policy", "queues", "46=5", "26=3").exit_code == 0
        assert rows("policy", "queues") == ["DSCP queue", "26 3", "46 5", "others 0"]
    finally:
        csaud(run, "ecn", "clear")
        csaud(run, "policy", "queues", "--clear")
    assert rows("policy", "queues") == ["DSCP queue", "all 0"]


def test_links_and_drains_are_shown_to_people(run: RunDir) -> None:
    assert csaud(run, "drain", "show").output == "nothing is drained\n"
    try:
        assert csaud(run, "drain", "l1-s1").exit_code == 0
        lines = [" ".join(line.split()) for line in csaud(run, "link", "show").output.splitlines()]
        assert lines[0] == "link from to state failed penalty why it is not used"
        assert lines[1] == "l1-s1 l1:1 s1:1 not used drained: l1-s1"
        assert lines[2] == "l1-s2 l1:2 s2:1 up"
        assert len(lines) == 5, "links to hosts are not told of while nothing is wrong with them"
        named = csaud(run, "link", "show", "h1").output.splitlines()
        assert " ".join(named[1].split()) in ("l1-h1 l1:3 h1 up", "l1-h1 l1:3 h1 not known")
        assert "l1-s1  l1-s1" in csaud(run, "drain", "show").output
    finally:
        csaud(run, "undrain", "--all")


def test_links_that_fail_and_hosts_that_are_silent_are_shown_to_people() -> None:
    fine = {"a": "l1:1", "b": "s1:1", "up": True, "out": [], "failures": 0, "penalty": 0.4}
    links = [
        {"link": "l1-s1", **fine},
        {"link": "l1-s2", **fine, "up": False, "failures": 3, "penalty": 2499.6, "out": ["failed", "[x]"]},
    ]
    host = {"at": "l1:3", "host": "h1", "failures": 0, "penalty": 0.0, "damped": False, "reused_in_s": 7.4}
    hosts = [
        {"link": "h1-l1", **host, "up": True},
        {"link": "h2-l1", **host, "up": None},
        {"link": "h3-l1", **host, "up": False},
        {
            "link": "h4-l1",
            **host,
            "up": True,
            "failures": 2,
            "penalty": 1.0,
            "damped": True,
            "reused_in_s": 7.4,
        },
    ]
    out = io.StringIO()
    link._render(Console(file=out, width=200), links, hosts, False)
    assert [" ".join(line.split()) for line in out.getvalue().splitlines()[1:]] == [
        "l1-s1 l1:1 s1:1 up",
        "l1-s2 l1:1 s1:1 down 3 2,500 failed; [x]",
        "h3-l1 l1:3 h1 silent",
        "h4-l1 l1:3 h1 up 2 1 flaps: told of again in 7 s",
    ]


def test_what_holds_of_damping_is_shown_and_set(run: RunDir) -> None:
    try:
        assert csaud(run, "link", "damping", "--off").exit_code == 0
        assert csaud(run, "link", "damping").output == "links are not damped\n"
        assert as_json(run, "link", "damping") == {"damping": None}
        set_one = csaud(run, "link", "damping", "--half-life", "9s")  # the others are the defaults again
        assert "from a penalty of 2500 on (1000 a failure, halved every 9s)" in set_one.output
        assert csaud(run, "link", "damping", "--reuse", "2499").exit_code == 0
        expected = DampingSettings(half_life=9 * 10**9, reuse=2499).model_dump(mode="json")
        assert as_json(run, "link", "damping") == {"damping": expected}
    finally:
        assert csaud(run, "link", "damping", "--default").exit_code == 0


def test_top_goes_on_until_it_is_interrupted(run: RunDir, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted_after(looks: int) -> None:
        now = itertools.count()

        def sleep(_: float) -> None:
            if next(now) >= looks:
                raise KeyboardInterrupt

        clock = SimpleNamespace(time=time.time, monotonic=itertools.count(1.0, 0.5).__next__, sleep=sleep)
        monkeypatch.setattr(top, "time", clock)

    interrupted_after(3)
    told = csaud(run, "top", "--json")
    assert told.exit_code == 0, told.output
    readings = [json.loads(line) for line in told.stdout.splitlines()]
    assert [len(each["links"]) for each in readings] == [8] * 3
    interrupted_after(2)
    lines = csaud(run, "top").output.splitlines()
    assert [line.split()[0] for line in lines].count("from") == 2
    assert len(lines) == 2 * (1 + 8)
    interrupted_after(1)
    terminal = {"COLUMNS": "160", "LINES": "6", "TERM": "xterm", "FORCE_COLOR": "1"}
    shown = CliRunner(env=terminal).invoke(APPS["top"], ["--run", str(run.path)])
    assert shown.exit_code == 0
    assert len(re.findall(r"\bl\d:\d +s\d:\d|\bs\d:\d +l\d:\d", shown.output)) == 6 - 3
    assert "\u2026" not in shown.output, "nothing is cut off"


def test_top_tells_what_came_since_the_last_look(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(monotonic=itertools.count(1.0, 0.5).__next__, sleep=lambda _: None)
    monkeypatch.setattr(top, "time", clock)
    counted = {
        "egress_kind": {"data": 0},
        "marked": [0],
        "trimmed": {},
        "bounced": {},
        "congestion_dropped": {},
    }
    looks = iter((0, 100, 400))

    class Fabric:
        """A controller whose every port has sent so much by each look."""

        def fabric(self) -> Any:
            return leaf_spine(1, 1)

        def counters(self, fabric: Any, *, unit: str, **_: Any) -> Any:
            if unit == "bytes":
                self.sent = next(looks)
            each = {**counted, "egress_kind": {"data": self.sent * (125 if unit == "bytes" else 1)}}
            ports = {name: dict.fromkeys(fabric.peers["l1"], value) for name, value in each.items()}
            return dict.fromkeys(fabric.switches, ports)

    readings = top._readings(cast(Here, Fabric()), 0.5)
    told = [(row["packets"], row["bits"]) for _ in range(2) for row in next(readings)]
    assert told == [(100, 100_000)] * 2 + [(300, 300_000)] * 2, "a second each"


def test_links_are_told_though_the_fabric_has_changed_meanwhile(
    run: RunDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The controller tells of its links, and then of its fabric, which has a link more by now."""
    asked = Here.ask

    def before(here: Here, op: str, **arguments: Any) -> Any:
        answer = asked(here, op, **arguments)
        if op == "links":
            del answer["links"][0]
        return answer

    monkeypatch.setattr(Here, "ask", before)
    told = as_json(run, "link", "show")
    assert isinstance(told, dict)
    assert [(link["link"], link["a"], link["b"]) for link in told["links"]] == [
        ("l1-s2", "l1:2", "s2:1"), ("l2-s1", "l2:1", "s1:2"), ("l2-s2", "l2:2", "s2:2"),
    ]  # fmt: skip


def test_drains_are_told_though_the_fabric_has_changed_meanwhile(
    run: RunDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The links of each are those of the fabric in which it was: others have come and these have gone."""
    assert csaud(run, "drain", "s1").exit_code == 0
    try:
        for other in (leaf_spine(2, 1), leaf_spine(3, 2)):
            monkeypatch.setattr(Here, "fabric", lambda here, other=other: other)
            told = as_json(run, "drain", "show")
            assert told == {
                "drains": [{"what": "s1", "force": False, "links": ["l1-s1", "l2-s1"], "down": []}]
            }
            shown = csaud(run, "drain", "show")
            assert "l1-s1, l2-s1" in shown.output
    finally:
        monkeypatch.undo()
        assert csaud(run, "undrain", "--all").exit_code == 0


def test_what_still_comes_over_drained_links_is_told_by_port(
    run: RunDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    came = itertools.count()

    def counters(here: Here, fabric: Any, *, switches: set[str], **_: object) -> dict[str, Any]:
        """One more packet each time, at the spine alone."""
        found = {name: {"ingress_kind": {port: {"data": 7} for port in range(1, 5)}} for name in switches}
        found["s1"]["ingress_kind"][1]["data"] = next(came)
        return found

    monkeypatch.setattr(Here, "counters", counters)
    try:
        busy = csaud(run, "drain", "l1-s1", "--wait", "0s")
        assert busy.exit_code == 1
        assert "l1-s1 is drained, but packets still come in at s1:1: there is no other way" in busy.output
        busy = csaud(run, "drain", "l1-s1", "--wait", "0s", "--json")
        assert (busy.exit_code, json.loads(busy.stdout)["still_used"]) == (1, ["s1:1"])
    finally:
        assert csaud(run, "undrain", "--all").exit_code == 0


@pytest.mark.parametrize("name", APPS)
def test_every_command_has_help(name: str) -> None:
    result = CliRunner().invoke(APPS[name], ["--help"])
    assert result.exit_code == 0
    is_group = len(APPS[name].registered_commands) > 1 or APPS[name].registered_callback is not None
    assert ("Commands" in result.output) == is_group
