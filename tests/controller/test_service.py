"""`csaud service`: a controller over HTTP, in processes of their own: who may do what, what a change leads
to, metrics, and the page in a real browser."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import re
import resource
import shutil
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from csaud_controller.cli import service
from csaud_controller.control.client import ask, wait_programmed
from csaud_controller.inventory import leaf_spine
from csaud_controller.run.directory import RunDir
from csaud_controller.service import sampling
from csaud_controller.service import serving as serving_module
from csaud_controller.service.audit import Audit
from csaud_controller.service.principals import Principal, Role, add_token
from csaud_controller.service.sampling import PACKETS, Sample, Sampler
from csaud_controller.service.view import moment
from csaud_controller.switches.counters import read_counters
from csaud_controller.switches.errors import CountersError
from pydantic import ValidationError
from typer.testing import CliRunner, Result

from tests.controller.soft import (
    PATIENCE_S,
    Process,
    controller_process,
    programmed_run,
    run_directory,
    switch_process,
)

SERVICE = (sys.executable, "-c", "from csaud_controller.cli.service import app; app()", "run")
DOCS = Path(__file__).parents[2] / "docs" / "service.md"


@dataclass
class Answer:
    status: int
    body: Any
    etag: str | None = None


@dataclass
class Asking:
    """Somebody with a token, or without."""

    url: str
    token: str = ""
    context: ssl.SSLContext | None = None
    headers: dict[str, str] = field(default_factory=dict)

    def __call__(self, method: str, path: str, body: object = None, **headers: str) -> Answer:
        said = {**self.headers, **{name.replace("_", "-"): value for name, value in headers.items()}}
        if self.token:
            said["Authorization"] = f"Bearer {self.token}"
        data = None
        if body is not None:
            data, said["Content-Type"] = json.dumps(body).encode(), "application/json"
        request = urllib.request.Request(self.url + path, data, said, method=method)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_S, context=self.context) as answer:
                return self._read(answer.status, answer)
        except urllib.error.HTTPError as error:
            return self._read(error.code, error)

    @staticmethod
    def _read(status: int, answer: Any) -> Answer:
        text = answer.read().decode()
        is_json = answer.headers.get_content_type() == "application/json"
        return Answer(status, json.loads(text) if is_json else text, answer.headers.get("ETag"))


def until(reached: Any) -> Any:
    """What `reached` gives as soon as that is true."""
    end = time.monotonic() + PATIENCE_S
    while not (found := reached()):
        assert time.monotonic() < end
        time.sleep(0.02)
    return found


@contextmanager
def serving(run: RunDir, *options: str) -> Iterator[tuple[Process, str]]:
    """The process, and where it listens."""
    log = run.path / f"service{len(list(run.path.glob('service*.log')))}.log"
    command = (*SERVICE, "--run", str(run.path), "--listen", "127.0.0.1:0", *options)
    with Process(*command, log=log) as process:
        found = until(lambda: re.search(r"listening at (\S+)", process.log))
        yield process, found[1]


@dataclass
class Served:
    run: RunDir
    url: str
    viewer: Asking
    operator: Asking
    operators_token: str


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with programmed_run() as run:
        tokens = run.path / "tokens.yaml"
        viewers, operators = add_token(tokens, "ann", Role.VIEWER), add_token(tokens, "bob", Role.OPERATOR)
        assert tokens.stat().st_mode & 0o777 == 0o600
        assert viewers not in tokens.read_text()
        with serving(run, "--tokens", str(tokens)) as (_, url):
            yield Served(run, url, Asking(url, viewers), Asking(url, operators), operators)


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


@pytest.mark.parametrize(
    ("header", "value", "status"),
    [("Content-Length", str((1 << 22) + 1), 413), ("Transfer-Encoding", "chunked", 411)],
)
def test_a_body_of_unknown_or_great_length_is_not_read(
    served: Served, header: str, value: str, status: int
) -> None:
    connection = http.client.HTTPConnection(served.url.removeprefix("http://"), timeout=PATIENCE_S)
    connection.putrequest("PATCH", "/v1/policy")
    connection.putheader("Authorization", f"Bearer {served.operators_token}")
    connection.putheader(header, value)
    connection.endheaders()
    assert connection.getresponse().status == status
    connection.close()


def test_a_controller_that_is_away_is_told_of_and_the_service_goes_on() -> None:
    with run_directory(leaf_spine(1, 1)) as run, switch_process(run), serving(run) as (process, url):
        anybody = Asking(url)
        with controller_process(run):
            wait_programmed(run.control_socket, PATIENCE_S)
            assert anybody("GET", "/readyz").body == {"ready": True, "pending": {}}
        gone = anybody("GET", "/readyz")
        assert gone.status == 503 and "no controller runs" in gone.body["error"]
        assert anybody("GET", "/v1/status").status == 503
        shown = anybody("GET", "/v1/moment").body
        assert [why for why in shown["missing"] if "no controller runs" in why]
        assert {end for link in shown["links"] for end in link["ends"]} == {None}
        assert "csaud_controller_up 0.0" in anybody("GET", "/v1/metrics").body
        assert anybody("GET", "/healthz").status == 200
        assert anybody("PATCH", "/v1/policy", {}).body == {
            "error": "anybody is a viewer and may change nothing"
        }
        by_another = Asking(url, headers={"Host": "elsewhere.example:80"})("GET", "/v1/status")
        assert by_another.status == 400 and "'elsewhere.example'" in by_another.body["error"]
        process._child.terminate()
        assert process.wait() == 0


def test_whoever_waits_keeps_nobody_else_from_an_answer(served: Served) -> None:
    """As many requests as there are threads: health is told, those who do not wait are answered."""
    with serving(served.run) as (_, url), contextlib.ExitStack() as open_connections:
        waiting = [http.client.HTTPConnection(url.removeprefix("http://"), timeout=2) for _ in range(40)]
        for each in waiting:
            open_connections.callback(each.close)
            each.request("GET", "/v1/alarms?wait=true&timeout_s=300&since=1000000")
        anybody = Asking(url)
        for path in ("/healthz", "/readyz", "/v1/whoami", "/v1/status", "/page/page.css", "/"):
            assert anybody("GET", path).status == 200, path
        until(lambda: anybody("GET", "/v1/wait").status == 503)
        assert anybody("GET", "/v1/alarms?wait=true").body == {
            "error": "16 requests wait already: ask later, or without waiting"
        }


def certificate(folder: Path, common_name: str) -> tuple[str, str]:
    """Signed by itself."""
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", "key.pem")
    whose = ("-subj", f"/CN={common_name}", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2")
    subprocess.run(
        ["openssl", "req", "-x509", *key, *whose, "-out", "cert.pem"],
        cwd=folder,
        check=True,
        capture_output=True,
    )
    return str(folder / "cert.pem"), str(folder / "key.pem")


@pytest.mark.thorough
def test_a_certificate_that_does_not_fit_is_told_of_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class Enough(Exception):
        pass

    versions = iter([(1,), (2,), (2,), (2,), (3,), (3,)])

    class Broken(serving_module.Tls):
        def version(self) -> Any:
            if (found := next(versions, None)) is None:
                raise Enough
            return found

        def context(self) -> ssl.SSLContext:
            raise serving_module.ListenError("cert.pem, key.pem: key values mismatch")

    monkeypatch.setattr(serving_module, "_LOOK_S", 0)
    files = Broken(Path("cert.pem"), Path("key.pem"))
    with pytest.raises(Enough):
        asyncio.run(serving_module._renew(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), files))
    assert caplog.messages == [
        "the certificate stays as it was: cert.pem, key.pem: key values mismatch"
    ] * 2  # fmt: skip


def test_certificates_may_be_replaced_and_clients_may_need_one(served: Served, tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    client_cert, client_key = certificate(theirs, "a client")
    cert, key = certificate(tmp_path, "before")

    def asking(url: str, with_certificate: bool = True) -> Asking:
        context = ssl.create_default_context(cafile=cert)
        if with_certificate:
            context.load_cert_chain(client_cert, client_key)
        return Asking(url, served.operators_token, context)

    options = ("--tokens", str(served.run.path / "tokens.yaml"), "--tls-cert", cert, "--tls-key", key)
    with serving(served.run, *options, "--tls-client-ca", client_cert) as (process, url):
        assert asking(url)("GET", "/v1/whoami").status == 200
        with pytest.raises((urllib.error.URLError, ConnectionError)):
            asking(url, with_certificate=False)("GET", "/v1/whoami")
        certificate(tmp_path, "after")
        until(lambda: f"{cert}: taken" in process.log)
        assert asking(url)("GET", "/v1/whoami").status == 200  # which trusts the new one alone


def command(*words: str) -> Result:
    return CliRunner(env={"COLUMNS": "160"}).invoke(service.app, list(words))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--listen", "0.0.0.0:8443"),
         "--listen 0.0.0.0: others reach it, so it needs --tokens (csaud service token add)"),
        (("--listen", "0.0.0.0:8443", "--tokens", "tokens.yaml"),
         "--listen 0.0.0.0: tokens would go there in the clear, so it needs --tls-cert and --tls-key"),
        (("--listen", "8443"), "--listen: expected an address and a port such as 127.0.0.1:8443, got '8443'"),
        (("--listen", "somewhere:1"),
         "--listen: expected an address and a port such as 127.0.0.1:8443, got 'somewhere'"),
        (("--tls-cert", "cert.pem"), "--tls-cert and --tls-key belong together"),
        (("--tls-cert", "no.pem", "--tls-key", "no.key"), "no.pem, no.key: No such file or directory"),
        (("--tokens", "no.yaml"), "no.yaml: no such file"),
        (("--interval", "0s"), "--interval: expected more than nothing, got 0s"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_said_in_one_line(served: Served, words: tuple[str, ...], said: str) -> None:
    result = command("run", "--run", str(served.run.path), *words)
    assert result.exit_code == 2
    assert result.stderr.strip() == f"csaud: {said}"


def test_tokens_are_made_once_and_taken_away(tmp_path: Path) -> None:
    file = ("--tokens", str(tmp_path / "tokens.yaml"))
    first = command("token", "add", "ann", "--role", "operator", *file)
    assert first.exit_code == 0 and len(first.stdout.strip()) > 40
    again = command("token", "add", "ann", *file)
    assert again.exit_code == 2 and f"ann has a token already in {file[1]}" in again.stderr
    assert command("token", "add", "bob", "--role", "king", *file).exit_code == 2
    for name in ("", "b" * 65):
        with pytest.raises(ValidationError, match="name"):  # as a file of one's own may have it
            Principal(name=name, role=Role.VIEWER, sha256="0" * 64)
    assert command("token", "remove", "ann", *file).exit_code == 0
    none = command("token", "remove", "ann", *file)
    assert none.exit_code == 2 and "there is nobody" in none.stderr
    nowhere = command("token", "add", "ann", "--tokens", "/proc/none/tokens.yaml")
    assert nowhere.exit_code == 1
    assert nowhere.stderr == "csaud: /proc/none/tokens.yaml: No such file or directory\n"


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


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/v1/nothing", None, 404),
        ("POST", "/v1/policy", None, 405),
        ("PATCH", "/v1/policy", b"[" * 200_000, 400),
    ],
    ids=["no such path", "no such method", "nested too deep"],
)
def test_every_error_is_told_in_the_same_words(
    served: Served, method: str, path: str, body: bytes | None, status: int
) -> None:
    connection = http.client.HTTPConnection(served.url.removeprefix("http://"), timeout=PATIENCE_S)
    with contextlib.closing(connection):
        token = {"Authorization": f"Bearer {served.operators_token}", "Content-Type": "application/json"}
        connection.request(method, path, body, token)
        answer = connection.getresponse()
        assert answer.status == status
        assert list(json.loads(answer.read())) == ["error"]
