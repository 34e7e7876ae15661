"""Cables out of a NetBox that answers page by page."""

import json
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from csaud_controller.cli import fabric as fabric_command
from csaud_controller.inventory import Fabric
from csaud_controller.inventory.imports import netbox_rest
from typer.testing import CliRunner, Result

from tests.controller.test_tls import certificates

TOKEN = "0123456789abcdef0123456789abcdef01234567"


def cable(number: int, site: str = "pod1") -> dict[str, Any]:
    """Of a leaf and a spine, or of a leaf and a host."""

    def end(device: str, interface: str) -> list[dict[str, Any]]:
        at = {"name": interface, "device": {"id": 1, "name": device}}
        return [{"object_type": "dcim.interface", "object_id": 1, "object": at}]

    leaf, way = divmod(number, 3)
    other = ("spine1", f"swp{leaf}") if way < 2 else (f"gpu{leaf}", "eth0")
    if way == 1:
        other = ("spine2", f"swp{leaf}")
    return {
        "id": number, "type": "", "status": {"value": "connected"}, "length": 2,
        "length_unit": {"value": "m"},
        "a_terminations": end(f"leaf{leaf}", f"swp{way}"), "b_terminations": end(*other), "site": site,
    }  # fmt: skip


@dataclass
class NetBox:
    """As its documentation has it: `limit` up to MAX_PAGE_SIZE, `next` an absolute URL, 403 without token."""

    cables: list[dict[str, Any]]
    most: int = 4
    token: str = f"Token {TOKEN}"
    believes_it_is: str = ""
    """Scheme and host of its links; empty: what it was asked as."""
    asked: list[str] = field(default_factory=list)
    url: str = ""

    def answer(self, target: str, headers: Any) -> tuple[int, Any]:
        self.asked.append(target)
        if headers.get("Authorization") != self.token:
            return 403, {"detail": "Authentication credentials were not provided."}
        parts = urlsplit(target)
        if parts.path != "/api/dcim/cables/":
            return 404, {"detail": "Not found."}
        query = {key: values[-1] for key, values in parse_qs(parts.query).items()}
        chosen = [each for each in self.cables if query.get("site", each["site"]) == each["site"]]
        limit = min(int(query.get("limit", 50)) or self.most, self.most)
        offset = int(query.get("offset", 0))
        following = None
        if offset + limit < len(chosen):
            rest = f"site={query['site']}&" if "site" in query else ""
            base = self.believes_it_is or self.url
            following = f"{base}/api/dcim/cables/?{rest}limit={limit}&offset={offset + limit}"
        shown = chosen[offset : offset + limit]
        return 200, {"count": len(chosen), "next": following, "previous": None, "results": shown}


@contextmanager
def serving(netbox: NetBox, tls: ssl.SSLContext | None = None) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            status, answer = netbox.answer(self.path, self.headers)
            body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        netbox.url = f"{'http' if tls is None else 'https'}://localhost:{server.server_port}"
        try:
            yield netbox.url
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def token(tmp_path: Path) -> Path:
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    return tmp_path / "token"


def imported(*words: str | Path) -> Result:
    return CliRunner().invoke(fabric_command.app, ["import", "netbox", *map(str, words), "--json"])


def test_all_pages_are_read_and_make_one_fabric(token: Path) -> None:
    netbox = NetBox([cable(number) for number in range(3, 15)], believes_it_is="http://netbox.internal")
    with serving(netbox) as url:
        result = imported(url, "--token-file", token, "--switch", "leaf*", "--switch", "spine*")
    assert result.exit_code == 0, result.output
    fabric = Fabric.model_validate(json.loads(result.stdout)["fabric"])
    assert len(fabric.edges) == 12
    assert {*fabric.hosts} == {"gpu1", "gpu2", "gpu3", "gpu4"}
    assert [urlsplit(each).query for each in netbox.asked] == [
        "limit=1000", "limit=4&offset=4", "limit=4&offset=8",
    ]  # fmt: skip


def test_a_query_chooses_cables_and_a_new_token_is_a_bearers(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("nbt_abcdef012345.secret")
    both = [cable(number, "pod1") for number in range(3, 9)] + [cable(n, "pod2") for n in range(9, 15)]
    with serving(NetBox(both, token="Bearer nbt_abcdef012345.secret")) as url:
        result = imported(f"{url}/api/dcim/cables/?site=pod2&limit=0", "--token-file", tmp_path / "token",
                          "--switch", "[ls]*")  # fmt: skip
    assert result.exit_code == 0, result.output
    assert {*json.loads(result.stdout)["fabric"]["hosts"]} == {"gpu3", "gpu4"}


def test_a_proxy_may_take_a_part_of_its_path_away(token: Path) -> None:
    """What NetBox then takes for its path leads nowhere."""

    class Behind(NetBox):
        def answer(self, target: str, headers: Any) -> tuple[int, dict[str, Any]]:
            if not target.startswith("/netbox/"):
                return 404, {"detail": "Not found."}
            return super().answer(target.removeprefix("/netbox"), headers)

    netbox = Behind([cable(number) for number in range(3, 15)])
    with serving(netbox) as url:
        result = imported(f"{url}/netbox/?site=pod1", "--token-file", token, "--switch", "[ls]*")
    assert result.exit_code == 0, result.output
    assert len(json.loads(result.stdout)["fabric"]["edges"]) == 12


def test_a_key_of_the_query_may_be_empty(token: Path) -> None:
    """Left out, it would choose other cables: more of them."""
    netbox = NetBox([cable(number) for number in range(3, 6)])
    with serving(netbox) as url:
        result = imported(f"{url}?tenant=&site=pod1", "--token-file", token, "--switch", "[ls]*")
    assert result.exit_code == 0, result.output
    assert [urlsplit(each).query for each in netbox.asked] == ["tenant=&site=pod1&limit=1000"]


def test_its_certificate_is_checked(token: Path, tmp_path: Path) -> None:
    made = certificates(tmp_path)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(made / "localhost.pem", made / "localhost.key")
    netbox = NetBox([cable(number) for number in range(3, 9)])
    with serving(netbox, tls) as url:
        refused = imported(url, "--token-file", token)
        assert (refused.exit_code, netbox.asked) == (1, []), "the token did not go there"
        assert "its certificate is not trusted" in refused.output
        result = imported(url, "--token-file", token, "--cacert", made / "ca.pem", "--switch", "[ls]*")
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "answered 403: Authentication credentials were not provided."),
        (("--token-file", "nowhere"), "--token-file nowhere: No such file"),
    ],
)
def test_what_is_wrong_is_one_line(words: tuple[str, ...], said: str) -> None:
    with serving(NetBox([])) as url:
        result = imported(url, *words)
    assert result.exit_code != 0
    assert said in result.output
    assert len(result.output.strip().splitlines()) == 1


def test_answers_that_cannot_be_relied_on_are_refused(token: Path) -> None:
    class Changing(NetBox):
        def answer(self, target: str, headers: Any) -> tuple[int, dict[str, Any]]:
            found = super().answer(target, headers)
            del self.cables[0]
            return found

    class Endless(NetBox):
        def answer(self, target: str, headers: Any) -> tuple[int, dict[str, Any]]:
            return 200, {"count": 1, "next": target, "results": []}

    class Other(NetBox):
        def answer(self, target: str, headers: Any) -> tuple[int, dict[str, Any]]:
            return 200, {"hello": "world"}

    class Lost(NetBox):
        def answer(self, target: str, headers: Any) -> tuple[int, dict[str, Any]]:
            return 200, {"count": 2, "next": self.believes_it_is, "results": [cable(3)]}

    class Page(NetBox):
        def answer(self, target: str, headers: Any) -> tuple[int, Any]:
            return int(self.token), b"<html>it works</html>"

    for netbox, said in (
        (Changing([cable(number) for number in range(3, 15)]), "cables came or went while they were read"),
        (Endless([]), "next: its pages have no end"),
        (Other([]), "results: missing: this is no NetBox's answer"),
        (Lost([], believes_it_is="http://[::1"), "next: expected the URL of a page, got 'http://[::1'"),
        (Lost([], believes_it_is="/api/dcim/cables/"), "next: expected the URL of a page, got '/api/dcim"),
        (Page([], token="200"), "results: missing: this is no NetBox's answer to /api/dcim/cables/"),
        (Page([], token="502"), "answered 502: Bad Gateway"),
    ):
        with serving(netbox) as url:
            result = imported(url, "--token-file", token)
        assert (result.exit_code, said in result.output) == (1, True), result.output
    with serving(Page([], token="302")) as url:  # not a failure: another URL does
        result = imported(url, "--token-file", token)
    assert (result.exit_code, result.output) == (
        2,
        f"csaud: {url}: answered 302, which sends elsewhere: name that URL\n",
    )
    result = imported("http://netbox.example", "--token-file", token)
    assert "the token would go there in the clear; use https://" in result.output
    result = CliRunner().invoke(fabric_command.app, ["import", "lldp", "https://netbox.example"])
    assert "only netbox is asked by URL" in result.output


@pytest.mark.parametrize(
    ("url", "status", "said"),
    [
        ("http://[::1", 2, "expected a URL such as https://netbox.example/?site=pod1"),
        ("http://127.0.0.1:65536", 2, "expected a URL such as https://netbox.example/?site=pod1"),
        ("http://127.0.0.1:65535", 1, "cannot be reached: Connection refused"),
        ("http://user@127.0.0.1", 2, "expected a URL such as https://netbox.example/?site=pod1"),
        ("http://netbox..example", 1, "cannot be reached: no machine can have this name"),
    ],
)
def test_a_url_that_leads_nowhere_is_told(url: str, status: int, said: str) -> None:
    result = imported(url)
    assert (result.exit_code, result.output) == (status, f"csaud: {url}: {said}\n")


def test_a_netbox_that_does_not_answer_is_not_waited_for_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(netbox_rest, "_PATIENCE_S", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        result = imported(url)
    assert (result.exit_code, result.output) == (1, f"csaud: {url}: no answer within 0.05 s\n")
