"""`csaud service` in a process of its own, and whoever asks it."""

from __future__ import annotations

import json
import re
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from csaud_controller.cli import service
from csaud_controller.run.directory import RunDir
from csaud_controller.service.principals import Role, add_token
from typer.testing import CliRunner, Result

from tests.controller.soft import PATIENCE_S, Process, programmed_run

SERVICE = (sys.executable, "-c", "from csaud_controller.cli.service import app; app()", "run")


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


@contextmanager
def served_run() -> Iterator[Served]:
    """Ann may look, Bob may change."""
    with programmed_run() as run:
        tokens = run.path / "tokens.yaml"
        viewers, operators = add_token(tokens, "ann", Role.VIEWER), add_token(tokens, "bob", Role.OPERATOR)
        assert tokens.stat().st_mode & 0o777 == 0o600
        assert viewers not in tokens.read_text()
        with serving(run, "--tokens", str(tokens)) as (_, url):
            yield Served(run, url, Asking(url, viewers), Asking(url, operators), operators)


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


def command(*words: str) -> Result:
    return CliRunner(env={"COLUMNS": "160"}).invoke(service.app, list(words))
