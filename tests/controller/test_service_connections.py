"""Connections to `csaud service`: certificates, requests that are not read or that wait; where it cannot
listen, and what it answers while its controller is away."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import socket
import ssl
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from csaud_controller.control.client import wait_programmed
from csaud_controller.inventory import leaf_spine
from csaud_controller.service import serving as serving_module

from tests.controller.service_process import Asking, Served, certificate, command, served_run, serving, until
from tests.controller.soft import PATIENCE_S, controller_process, run_directory, switch_process


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with served_run() as made:
        yield made


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
        assert "/healthz" not in process.log, "of requests nothing is told there"


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


def test_who_shows_a_certificate_and_no_token_is_whom_the_file_names(served: Served, tmp_path: Path) -> None:
    shown: dict[str, tuple[str, str]] = {}
    for name in ("eve", "mallory"):
        (folder := tmp_path / name).mkdir()
        shown[name] = certificate(folder, name)
    (both := tmp_path / "both.pem").write_text("".join(Path(cert).read_text() for cert, _ in shown.values()))
    cert, key = certificate(tmp_path, "localhost")
    named = (served.run.path / "tokens.yaml").read_text()
    assert "certificates: []" in named
    (file := tmp_path / "tokens.yaml").write_text(
        named.replace("certificates: []", "certificates: [{name: eve, role: viewer}]")
    )

    def asking(url: str, name: str) -> Asking:
        context = ssl.create_default_context(cafile=cert)
        context.load_cert_chain(*shown[name])
        return Asking(url, "", context)

    options = ("--tokens", str(file), "--tls-cert", cert, "--tls-key", key, "--tls-client-ca", str(both))
    with serving(served.run, *options) as (_, url):
        assert asking(url, "eve")("GET", "/v1/whoami").body == {"name": "eve", "role": "viewer"}
        assert asking(url, "eve")("DELETE", "/v1/drains").status == 403
        stranger = asking(url, "mallory")("GET", "/v1/whoami")
        assert stranger.status == 401 and "mallory" in str(stranger.body)


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
        (("--listen", "127.0.0.1:65536"),
         "--listen: expected an address and a port such as 127.0.0.1:8443, got '127.0.0.1:65536'"),
        (("--listen", "127.0.0.1:\u00b2"),
         "--listen: expected an address and a port such as 127.0.0.1:8443, got '127.0.0.1:\u00b2'"),
        (("--tls-cert", "cert.pem"), "--tls-cert and --tls-key belong together"),
        (("--tls-cert", "no.pem", "--tls-key", "no.key"), "no.pem, no.key: No such file or directory"),
        (("--tokens", "no.yaml"), "no.yaml: no such file"),
        (("--interval", "soon"), "--interval: expected a duration such as 10us, 5ms or 2s, got 'soon'"),
        (("--interval", "0s"), "--interval: expected more than nothing, got 0s"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_said_in_one_line(served: Served, words: tuple[str, ...], said: str) -> None:
    result = command("run", "--run", str(served.run.path), *words)
    assert result.exit_code == 2
    assert result.stderr.strip() == f"csaud: {said}"


def test_files_of_no_use_are_named_and_a_key_with_a_password_asks_for_none(
    served: Served, tmp_path: Path
) -> None:
    cert, key = certificate(tmp_path, "localhost")
    locked = tmp_path / "locked.pem"
    subprocess.run(["openssl", "ec", "-aes128", "-passout", "pass:secret", "-in", key, "-out", locked],
                   check=True, capture_output=True)  # fmt: skip
    (broken := tmp_path / "broken.pem").write_text("no certificate\n")
    for files, said in (
        (("--tls-key", locked), f"{cert}, {locked}: the key has a password"),
        (("--tls-key", key, "--tls-client-ca", "no.pem"), "no.pem: No such file or directory"),
        (("--tls-key", key, "--tls-client-ca", broken), f"{broken}: [X509: NO_CERTIFICATE_OR_CRL_FOUND]"),
    ):
        result = command("run", "--run", str(served.run.path), "--tls-cert", cert, *map(str, files))
        assert result.exit_code == 2
        assert result.stderr.startswith(f"csaud: {said}"), result.stderr
        assert result.stderr.count("\n") == 1


def test_a_port_that_another_listens_at_is_told(served: Served) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        place = f"127.0.0.1:{other.getsockname()[1]}"
        result = command("run", "--run", str(served.run.path), "--listen", place)
    assert result.exit_code == 1
    assert f"csaud: --listen: cannot listen at {place}: see above\n" in result.stderr


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
