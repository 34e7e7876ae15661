"""`csaud service`: a controller over HTTP, in processes of their own: who may do what, what a change leads
to, metrics, and the page in a real browser."""

from __future__ import annotations

import json
import re
import resource
import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from csaud_controller.control.client import ask
from csaud_controller.inventory import leaf_spine
from csaud_controller.service import sampling
from csaud_controller.service.audit import Audit
from csaud_controller.service.metrics import exposition
from csaud_controller.service.principals import Principal, Role, add_token, load_principals
from csaud_controller.service.sampling import PACKETS, Sample, Sampler
from csaud_controller.service.view import moment
from csaud_controller.switches.counters import read_counters
from csaud_controller.switches.errors import CountersError
from pydantic import ValidationError

from tests.controller.service_process import Asking, Served, command, served_run, serving

DOCS = Path(__file__).parents[2] / "docs" / "service.md"


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with served_run() as made:
        yield made


def revision(served: Served) -> int:
    return int(ask(served.run.control_socket, "intent")["revision"])


def test_without_a_token_there_is_the_page_and_nothing_of_the_fabric(served: Served) -> None:
    stranger = Asking(served.url)
    assert stranger("GET", "/").status == 200
    assert stranger("GET", "/page/page.js").status == 200
    assert stranger("GET", "/healthz").body == {"alive": True}
    described = served.viewer("GET", "/v1/openapi.json").body
    for path in described["paths"]:
        if path.startswith("/v1"):
            assert stranger("GET", path).status == 401, path
    wrong = Asking(served.url, served.operators_token[:-1] + "x")
    assert wrong("GET", "/v1/status").body["error"].startswith("this token is nobody's")
    assert stranger("GET", "/v1/status").body == {"error": "a token is needed: Authorization: Bearer TOKEN"}


def test_a_viewer_sees_everything_and_changes_nothing(served: Served) -> None:
    before = revision(served)
    assert served.viewer("GET", "/v1/whoami").body == {"name": "ann", "role": "viewer"}
    described = served.viewer("GET", "/v1/openapi.json").body["paths"]
    assert described == json.loads(command("openapi").stdout)["paths"]
    for path, methods in described.items():
        if "get" in methods and path != "/v1/stream":
            assert served.viewer("GET", path.replace("{revision}", str(before))).status == 200, path
        if path.endswith("/plan"):
            continue  # it changes nothing
        for method in methods.keys() - {"get"}:
            refused = served.viewer(method.upper(), path.replace("{what}", "l1-s1"), {"spray": "ecmp"})
            assert refused.status == 403, (method, path)
            assert refused.body == {"error": "ann is a viewer and may change nothing"}
    planned = served.viewer("POST", "/v1/policy/plan", {"spray": "ecmp"})
    assert planned.status == 200 and planned.body["revision"] == before
    tables = planned.body["plan"]["tables"]
    assert [tables[name]["modify"] for name in ("l1", "l2", "s1", "s2")] == [{"spray.policy": 3}] * 4
    assert revision(served) == before


def test_an_operator_changes_the_policy_as_it_was_read(served: Served) -> None:
    read = served.operator("GET", "/v1/policy")
    assert read.etag == f'"{read.body["revision"]}"'
    changed = served.operator("PATCH", "/v1/policy", {"spray": "random"}, If_Match=read.etag)
    assert changed.status == 200 and changed.body["pending"] == {}
    assert changed.body["intent"]["policy"]["spray"] == "random"
    late = served.operator("PATCH", "/v1/policy", {"spray": "ecmp"}, If_Match=read.etag)
    assert late.status == 412 and "it was changed meanwhile" in late.body["error"]
    wrong = served.operator("PATCH", "/v1/policy", {"spray": "sideways"})
    assert wrong.status == 422 and "spray" in wrong.body["error"]
    assert served.operator("PATCH", "/v1/policy", {"spray": "ecmp"}, If_Match="x").status == 422
    assert served.operator("PATCH", "/v1/policy", ["no", "object"]).status == 422
    assert ask(served.run.control_socket, "intent")["intent"]["policy"]["spray"] == "random"
    last = served.viewer("GET", "/v1/changes").body["changes"][-1]
    assert last["what"] == ["policy.spray: host -> random"]
    later = f"/v1/changes?since={last['number'] - 1}"
    assert served.viewer("GET", later).body["changes"] == [last]
    for since in ("-1", "x"):
        assert served.viewer("GET", f"/v1/changes?since={since}").status == 422
    for timeout_s in ("-1", "300.5"):
        for place in ("wait?", "alarms?wait=true&"):
            refused = served.viewer("GET", f"/v1/{place}timeout_s={timeout_s}")
            assert refused.status == 422 and "timeout_s" in refused.body["error"]


def test_every_change_is_in_the_audit_log_before_it_is_made(served: Served) -> None:
    served.operator("PUT", "/v1/faults", {"where": "uplinks", "probability": 0.01})
    served.operator("PUT", "/v1/faults", {"where": "nowhere", "probability": 0.01})
    served.operator("DELETE", "/v1/faults")
    lines = [json.loads(line) for line in (served.run.path / "audit.jsonl").read_text().splitlines()]
    asked = [line for line in lines if "who" in line][-3:]
    assert [(line["who"], line["address"], line["op"]) for line in asked] == [
        ("bob", "127.0.0.1", "fault.set"),
        ("bob", "127.0.0.1", "fault.set"),
        ("bob", "127.0.0.1", "fault.clear"),
    ]
    outcomes = {line["asked"]: line["outcome"] for line in lines if "asked" in line}
    good, bad, cleared = (outcomes[line["time"]] for line in asked)
    assert good == cleared == "in force"
    assert bad.startswith("failed: ") and "nowhere" in bad


def test_a_line_of_the_audit_is_whole_or_not_there(tmp_path: Path) -> None:
    audit = Audit(tmp_path / "audit.jsonl")
    asked = audit.asked("ann", "::1", "drain.set", {"what": "l1-s1"})
    noted = (tmp_path / "audit.jsonl").read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(noted) + 20, limits[1]))  # as if the disk were full
    try:
        with pytest.raises(OSError, match=re.escape(str(tmp_path / "audit.jsonl"))):
            audit.asked("ann", "::1", "drain.clear", {"what": "l1-s1"})
        audit.answered(asked, "in force")  # it is, whether that can be noted or not
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert (tmp_path / "audit.jsonl").read_bytes() == noted


def test_a_change_that_cannot_be_noted_is_not_made(served: Served, tmp_path: Path) -> None:
    before = revision(served)
    tokens = served.run.path / "tokens.yaml"
    with serving(served.run, "--tokens", str(tokens), "--audit", str(tmp_path)) as (_, url):
        refused = Asking(url, served.operators_token)("PATCH", "/v1/policy", {"spray": "flowlet"})
    assert refused.status == 503 and str(tmp_path) in refused.body["error"]
    assert revision(served) == before


def test_counters_that_there_are_not_are_named(served: Served) -> None:
    refused = served.viewer("GET", "/v1/counters?counters=marked,egress_knd")
    assert refused.status == 422 and "unknown counter 'egress_knd'; expected one of " in refused.body["error"]


def test_a_link_is_drained_and_used_again(served: Served) -> None:
    assert served.operator("PUT", "/v1/drains/l1-s1").body["pending"] == {}
    links = {(each["a"], each["b"]): each for each in served.viewer("GET", "/v1/links").body["links"]}
    assert [ends for ends, each in links.items() if each["drained"]] == [("l1:1", "s1:1")]
    assert served.operator("PUT", "/v1/drains/l9").status == 422
    assert served.operator("DELETE", "/v1/drains/l1-s1").body["changed"] is True
    again = served.operator("DELETE", "/v1/drains/l1-s1")
    assert (again.status, again.body["changed"]) == (200, False)
    assert served.operator("DELETE", "/v1/drains/l9").status == 422
    assert served.viewer("GET", "/v1/links").body["drains"] == []


def test_metrics_are_those_that_are_documented(served: Served) -> None:
    text = served.viewer("GET", "/v1/metrics").body
    names = set(re.findall(r"^# TYPE (\w+)", text, re.MULTILINE))
    asked = set(re.findall(r"csaud_\w+", (DOCS.parent / "grafana-dashboard.json").read_text()))
    assert asked <= names
    assert names == set(re.findall(r"^\| `(csaud_\w+)`", DOCS.read_text(), re.MULTILINE))
    assert "csaud_controller_up 1.0" in text and "csaud_controller_kept 1.0" in text
    assert 'csaud_link_used{a="l1:1",b="s1:1"} 1.0' in text
    assert re.search(r'csaud_port_packets_total\{kind="data",peer="s1:1",port="1",switch="l1"\} 0\.0', text)


def sample(at: float, counts: int) -> Sample:
    """One of a leaf and a spine; all that is counted at a port is `counts` each."""
    fabric = leaf_spine(1, 1)
    kinds = ("other", "data", "control", "loss")
    packets = {
        name: {
            counter: {
                port: [counts] * 16 if counter in ("marked", "path_tx") else dict.fromkeys(kinds, counts)
                for port in fabric.peers[name]
            }
            for counter in PACKETS
        }
        for name in fabric.switches
    }
    return Sample(at, 0.0, fabric, {}, packets, packets)


def test_what_a_link_carried_is_told_by_its_ends() -> None:
    fabric = leaf_spine(1, 1)
    (rate,) = {fabric.rate_at[end] for end in fabric.switch_ends[0]}
    link = moment(sample(10.0, 500), sample(12.0, 1500))["links"][0]
    for end in link["ends"]:
        assert end["bit_s"] == 8 * 4 * 1000 / 2
        assert end["load"] == end["bit_s"] / rate
        assert (end["trimmed"], end["injected"], end["marked"]) == (4000, 4000, 16_000)
        assert end["paths"] == [1000] * 16
    assert moment(None, sample(12.0, 1500))["links"][0]["ends"] == [None, None]
    unread = replace(sample(12.0, 1500), octets={})
    assert moment(sample(10.0, 500), unread)["links"][0]["ends"] == [None, None]
    wider = replace(sample(12.0, 1500), fabric=leaf_spine(1, 2))
    wider.packets["l1"]["path_tx"][2] = [1500] * 16
    assert moment(sample(10.0, 500), wider)["links"][0]["ends"][0] is not None
    reloaded = moment(sample(10.0, 500), sample(12.0, 100))["links"][0]["ends"][0]
    assert reloaded["trimmed"] == 400 and reloaded["paths"] == [0] * 16


def test_the_metrics_of_a_port_are_what_its_switch_has_counted() -> None:
    read = sample(12.0, 5)
    text = exposition(read).decode()
    for name, ports in read.fabric.peers.items():
        for port, peer in ports.items() if name in read.fabric.switches else ():
            labels = f'peer="{peer}",port="{port}",switch="{name}"'
            assert f'csaud_port_packets_total{{kind="data",{labels}}} 5.0\n' in text
            assert f"csaud_port_bytes_total{{{labels}}} 20.0\n" in text  # of four kinds
            assert f"csaud_port_ecn_marked_packets_total{{{labels}}} 80.0\n" in text  # on 16 paths


def test_a_switch_that_is_lost_between_two_readings_is_told_of(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Packets were read, and bytes cannot be."""

    def read(*given: Any, unit: str = "packets", **named: Any) -> Any:
        if unit == "bytes":
            raise CountersError("s1: went away")
        return read_counters(*given, unit=unit, **named)

    sampler = Sampler(served.run)
    assert sampler.sample().missing == ()
    monkeypatch.setattr(sampling, "read_counters", read)
    shown = moment(*sampler.pair(0.0))
    assert shown["missing"] == ["s1: went away"]
    assert {name for name, each in shown["switches"].items() if each["connected"]} == set(shown["switches"])
    assert {end for link in shown["links"] for end in link["ends"]} == {None}


def test_tokens_are_made_once_and_taken_away(tmp_path: Path) -> None:
    file = ("--tokens", str(tmp_path / "tokens.yaml"))
    first = command("token", "add", "ann", "--role", "operator", *file)
    assert first.exit_code == 0 and len(first.stdout.strip()) > 40
    again = command("token", "add", "ann", *file)
    assert again.exit_code == 2 and f"ann has a token already in {file[1]}" in again.stderr
    assert command("token", "add", "bob", "--role", "king", *file).exit_code == 2
    assert command("token", "add", "b" * 64, *file).exit_code == 0
    for name in ("", "b" * 65):
        refused = command("token", "add", name, *file)
        assert (refused.exit_code, refused.stderr) == (2, "csaud: NAME: expected 1 to 64 letters\n")
    assert command("token", "remove", "b" * 64, *file).exit_code == 0
    for name in ("", "b" * 65):
        with pytest.raises(ValidationError, match="name"):  # as a file of one's own may have it
            Principal(name=name, role=Role.VIEWER, sha256="0" * 64)
    assert command("token", "remove", "ann", *file).exit_code == 0
    none = command("token", "remove", "ann", *file)
    assert none.exit_code == 2 and "there is nobody" in none.stderr
    nowhere = command("token", "add", "ann", "--tokens", "/proc/none/tokens.yaml")
    assert nowhere.exit_code == 1
    assert nowhere.stderr == "csaud: /proc/none/tokens.yaml: No such file or directory\n"


def test_a_token_and_a_certificate_are_of_those_whom_the_file_names(tmp_path: Path) -> None:
    file = tmp_path / "tokens.yaml"
    tokens = {
        name: add_token(file, name, role) for name, role in (("ann", Role.VIEWER), ("bob", Role.OPERATOR))
    }
    holders = "certificates: [{name: eve, role: operator}]"
    file.write_text(file.read_text().replace("certificates: []", holders))
    known = load_principals(file)
    for name, token in tokens.items():
        who = known.of(token)
        assert who is not None and (who.name, who.role.allows(Role.OPERATOR)) == (name, name == "bob")
    for nobodys in ("", tokens["ann"][:-1], tokens["ann"] + "x", "\u00e4"):
        assert known.of(nobodys) is None
    eve = known.of_certificate("eve")
    assert eve is not None and eve.role is Role.OPERATOR
    assert known.of("") is None, "whose sha256 is that of no token"
    assert known.of_certificate("ann") is None, "who has a token, not a certificate"


def test_without_the_packages_of_the_extra_one_line_says_how_to_get_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(sys.modules, "csaud_controller.service.application", raising=False)
    monkeypatch.setitem(sys.modules, "fastapi", None)
    for words in (("openapi",), ("run",)):
        result = command(*words)
        assert result.exit_code == 1
        assert result.stderr == "csaud: csaud service needs fastapi: pip install 'csaud[service]'\n"


def test_the_history_of_a_path_has_what_concerns_it(served: Served) -> None:
    viewer, operator = served.viewer, served.operator
    for what in ("l1:1", "l2:2"):
        assert operator("PUT", f"/v1/drains/{what}").status == 200
        assert operator("DELETE", f"/v1/drains/{what}").status == 200

    def whats(query: str) -> list[str]:
        return [each["what"] for each in viewer("GET", f"/v1/paths/history{query}").body["history"]]

    assert whats("?limit=4") == [
        "drain l2:2: yes -> none",
        "drain l2:2: none -> yes",
        "drain l1:1: yes -> none",
        "drain l1:1: none -> yes",
    ]
    assert whats("?about=l1-s1&limit=2") == ["drain l1:1: yes -> none", "drain l1:1: none -> yes"]
    assert not [text for text in whats("?about=l1-s1") if "l2:2" in text]
    assert viewer("GET", "/v1/paths/history?about=x9").status == 422


@pytest.mark.browser
def test_the_page_shows_the_fabric_and_drains_a_link_for_an_operator(served: Served) -> None:
    from playwright.sync_api import expect, sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page()
        problems: list[str] = []
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.goto(served.url)
        expect(page.locator("#trouble")).to_have_text("a token is needed: Authorization: Bearer TOKEN")
        page.fill("#token", served.operators_token)
        page.click("#who button")
        expect(page.locator("#role")).to_have_text("bob, operator")
        expect(page.locator("#fabric rect")).to_have_count(4)
        expect(page.locator("#fabric line")).to_have_count(8)
        expect(page.locator("#summary")).to_contain_text("4 of 4 switches in hand, 0 links down, 0 left out")
        link = page.locator('[data-link="l1:1-s1:1"]')
        link.dispatch_event("click")
        expect(page.locator("#chosen-state")).to_have_text("used")
        page.click("#drain")
        expect(page.locator("#outcome")).to_have_text("in force on all switches")
        expect(link).to_have_class(re.compile("out"))
        expect(page.locator("#chosen-state")).to_contain_text("drained")
        expect(page.locator("#past-name")).to_have_text("Path history of l1:1 - s1:1")
        expect(page.locator("#past li").first).to_contain_text("drain l1:1: none -> yes, by bob")
        page.click("#drain")
        expect(link).not_to_have_class(re.compile("out"))
        page.select_option("#spray", "flowlet")
        page.click("#set")
        expect(page.locator("#changes li").first).to_contain_text("policy.spray")
        browser.close()
    assert problems == []
    assert ask(served.run.control_socket, "intent")["intent"]["policy"]["spray"] == "flowlet"
