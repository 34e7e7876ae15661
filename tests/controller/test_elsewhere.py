"""Commands that ask a controller elsewhere, by the REST interface of its service: the same as beside it."""

import json
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest
import yaml
from csaud_controller.cli import service as service_command
from csaud_controller.control import elsewhere as elsewhere_module
from csaud_controller.control.client import ConflictError, ControlError, RefusedError
from csaud_controller.control.elsewhere import Credentials, Elsewhere
from csaud_controller.control.rest import all_routes
from csaud_controller.inventory import leaf_spine
from typer.testing import CliRunner, Result

from tests.controller.commands import APPS
from tests.controller.service_process import Asking, Served, certificate, served_run, serving


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with served_run() as made:
        for name, who in (("viewer", made.viewer), ("operator", made.operator)):
            (made.run.path / name).write_text(who.token + "\n")
        (made.run.path / "stranger").write_text("no-token-of-anybody")
        yield made


@contextmanager
def answering(status: int, body: bytes) -> Iterator[str]:
    """A server that answers one request so, whatever it is."""

    class Service(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Service) as server:
        serving_one = Thread(target=server.handle_request)
        serving_one.start()
        yield f"http://127.0.0.1:{server.server_port}"
        serving_one.join()


def here(served: Served, *words: str) -> Result:
    return CliRunner(env={"CSAUD_RUN": str(served.run.path)}).invoke(APPS[words[0]], list(words[1:]))


def elsewhere(served: Served, who: str, *words: str) -> Result:
    environ = {"CSAUD_RUN": "/nowhere", "CSAUD_REST_URL": served.url}
    options = ["--token-file", str(served.run.path / who)]
    return CliRunner(env=environ).invoke(APPS[words[0]], [*words[1:], *options])


def test_every_route_of_the_commands_is_in_the_description() -> None:
    described = json.loads(CliRunner().invoke(service_command.app, ["openapi"]).stdout)["paths"]
    for route in all_routes():
        operation = described[route.path][route.method.lower()]
        known = {each["name"] for each in operation.get("parameters", ()) if each["in"] == "query"}
        assert set(route.query) <= known, route
        assert bool(route.body) == ("requestBody" in operation), route


@pytest.mark.parametrize(
    "words",
    [
        ("fabric", "show"),
        ("policy", "show"),
        ("policy", "weights"),
        ("policy", "history"),
        ("path", "history"),
        ("fabric", "export", "containerlab"),
        ("signal", "show"),
        ("limit", "show"),
        ("ecn", "show", "l1"),
        ("link", "show"),
        ("link", "damping"),
        ("drain", "show"),
        ("fault", "show"),
        ("alarm", "show"),
        ("path", "show", "h1", "h2", "--why"),
        ("path", "stats"),
        ("counter", "show", "l1"),
    ],
    ids=" ".join,
)
def test_what_is_told_is_the_same(served: Served, words: tuple[str, ...]) -> None:
    near, far = here(served, *words, "--json"), elsewhere(served, "viewer", *words, "--json")
    assert (near.exit_code, far.exit_code) == (0, 0), far.output
    counts = ("probes", "events")  # go on meanwhile
    one, other = (json.loads(each.stdout) for each in (near, far))
    if isinstance(one, dict):
        one, other = ({k: v for k, v in each.items() if k not in counts} for each in (one, other))
    if words[0] == "counter":
        one, other = (list(each["l1"]["egress_kind"]) for each in (one, other))
    assert one == other


def test_an_operator_changes_what_they_would_beside_it(served: Served, tmp_path: Path) -> None:
    file = tmp_path / "night.yaml"
    file.write_text("description: at night\nspray: random\n")
    wider = tmp_path / "wider.json"
    fabric = leaf_spine(2, 2).model_dump(mode="json", exclude_none=True)
    for edge in fabric["edges"]:
        edge["delay"] = "2us"
    wider.write_text(yaml.safe_dump(fabric))
    for words in (
        ("policy", "set", "--spray", "flowlet"),
        ("policy", "apply", str(file), "--for", "1min"),
        ("policy", "rollback"),
        ("fault", "set", "0.01"),
        ("fault", "clear"),
        ("drain", "l1-s1"),
        ("undrain", "--all"),
        ("path", "trace", "h1", "h2", "--packets", "5"),
        ("path", "deny", "3"),
        ("top", "--once", "--interval", "0.1"),
        ("fabric", "apply", str(wider)),
        ("controller", "wait"),
        ("controller", "status"),
    ):
        found = elsewhere(served, "operator", *words, "--json")
        assert found.exit_code == 0, (words, found.output)
        json.loads(found.stdout)
    rows = json.loads(here(served, "policy", "history", "--json").stdout)
    assert all(row["who"].startswith("bob by ") for row in rows[:-1])
    assert json.loads(here(served, "policy", "show", "--json").stdout)["spray"] == "flowlet"
    late = elsewhere(served, "operator", "policy", "apply", str(file), "--revision", "1")
    assert late.exit_code == 1 and "it was changed meanwhile" in late.stderr


@pytest.mark.parametrize(
    ("who", "words", "status", "said"),
    [
        ("viewer", ("policy", "set", "--spray", "ecmp"), 1, "ann is a viewer and may change nothing"),
        ("operator", ("policy", "set", "--to", "l9", "--spray", "ecmp"), 2, "l9"),
        ("operator", ("counter", "show", "l9"), 2, "unknown switch 'l9'"),
        ("stranger", ("link", "show"), 1, "this token is nobody's"),
        ("tokens.yaml", ("link", "show"), 2, "expected a token, which is one word"),
        ("nobody", ("link", "show"), 2, "--token-file "),
    ],
)  # fmt: skip
def test_a_refusal_is_one_line(
    served: Served, who: str, words: tuple[str, ...], status: int, said: str
) -> None:
    found = elsewhere(served, who, *words)
    assert found.exit_code == status and said in found.stderr and found.stderr.count("\n") == 1, found.output


@pytest.mark.parametrize(
    ("options", "status", "said"),
    [
        (("--controller", "fabric.example:8443"), 2, "expected a URL such as https://fabric.example:8443"),
        (("--controller", "https://[::1"), 2, "expected a URL such as https://fabric.example:8443"),
        (("--controller", "https://127.0.0.1:0"), 2, "expected a URL such as https://fabric.example:8443"),
        (("--controller", "https://127.0.0.1:65536"), 2, "expected a URL such as https://fabric.exam"),
        (("--controller", "https://127.0.0.1:65535"), 1, "cannot be reached: Connection refused"),
        (("--controller", "https://fabric..example"), 1, "cannot be reached: no machine can have this name"),
        (("--controller", "http://192.0.2.1:80"), 2, "the token would go there in the clear"),
        (("--controller", "http://127.0.0.1:9"), 1, "cannot be reached: Connection refused"),
        (("--controller", "https://127.0.0.1:9", "--cacert", "/no/ca.pem"), 2, "/no/ca.pem: No such file"),
        (("--controller", "http://127.0.0.1:9", "--run", "/tmp"), 2, "expected one of them"),
    ],
)  # fmt: skip
def test_a_controller_that_cannot_be_asked(options: tuple[str, ...], status: int, said: str) -> None:
    found = CliRunner(env={"CSAUD_REST_TOKEN": "x", "COLUMNS": "200"}).invoke(
        APPS["link"], ["show", *options]
    )
    assert found.exit_code == status and said in found.stderr, found.output


@pytest.mark.parametrize("token", ["two words", "of\nlines", "\u00e4"])
def test_a_token_of_the_environment_that_cannot_be_one_is_named(token: str) -> None:
    environ = {"CSAUD_REST_TOKEN": token, "COLUMNS": "200"}
    found = CliRunner(env=environ).invoke(APPS["link"], ["show", "--controller", "http://127.0.0.1:9"])
    assert found.exit_code == 2, found.output
    assert found.stderr == "csaud: CSAUD_REST_TOKEN: expected a token, which is one word\n"


def test_what_only_the_machine_of_the_controller_is_asked_for_is_told() -> None:
    with pytest.raises(RefusedError, match="stop is not for other machines: ask for it where the controller"):
        Elsewhere("http://127.0.0.1:9", Credentials()).ask("stop")


def test_who_does_not_answer_is_not_waited_for_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elsewhere_module, "_MARGIN_S", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        asked = Elsewhere(f"http://127.0.0.1:{silent.getsockname()[1]}", Credentials())
        with pytest.raises(ControlError, match=r"^http://.* gave no answer within 0\.05 s$"):
            asked.ask("status", timeout_s=0)


@pytest.mark.parametrize(
    ("status", "kind", "said"),
    [
        (400, RefusedError, "http://.*: it has a reason"),
        (401, ControlError, "http://.*: it has a reason"),
        (404, RefusedError, "http://.*: it has a reason"),
        (412, ConflictError, "^it has a reason"),
        (422, RefusedError, "^it has a reason"),
        (503, ControlError, "^it has a reason"),
    ],
)
def test_what_answers_errors_is_told_from_what_failed(
    status: int, kind: type[ControlError], said: str
) -> None:
    with answering(status, json.dumps({"error": "it has a reason"}).encode()) as url:
        asked = Elsewhere(url, Credentials())
        with pytest.raises(ControlError, match=said) as raised:
            asked.ask("status")
    assert raised.type is kind


@pytest.mark.parametrize("body", [b"<html>it works</html>", b"[1]", b"\xff", b""])
def test_what_is_no_controllers_answer_is_told_as_it_is(body: bytes) -> None:
    with answering(200, body) as url, pytest.raises(ControlError) as raised:
        Elsewhere(url, Credentials()).ask("status")
    assert str(raised.value) == f"{url} is no controller's: it answered 200 {body!r}"


def test_a_client_certificate_says_who_asks(served: Served, tmp_path: Path) -> None:
    cert, key = certificate(tmp_path, "localhost")
    (client := tmp_path / "carol").mkdir()
    client_cert, client_key = certificate(client, "carol")
    tokens = tmp_path / "tokens.yaml"
    tokens.write_text("certificates: [{name: carol, role: operator}]\n")
    service = ("--tokens", str(tokens), "--tls-cert", cert, "--tls-key", key, "--tls-client-ca", client_cert)
    with serving(served.run, *service) as (_, url):
        options = ["--controller", url, "--cacert", cert, "--cert", client_cert, "--key", client_key]
        done = CliRunner().invoke(APPS["path"], ["deny", "4", *options])
        assert done.exit_code == 0, done.output
        context = ssl.create_default_context(cafile=cert)
        context.load_cert_chain(client_cert, client_key)
        assert Asking(url, context=context)("GET", "/v1/whoami").body == {"name": "carol", "role": "operator"}
        assert Asking(url, "forged", context)("GET", "/v1/whoami").status == 401
    untrusted = CliRunner(env={"COLUMNS": "200"}).invoke(APPS["link"], ["show", "--controller", url])
    assert untrusted.exit_code == 1
