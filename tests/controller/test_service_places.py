"""Requests of `csaud service` that take their time, and whoever asks meanwhile."""

from __future__ import annotations

import json
import socketserver
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager

import pytest
from csaud_controller.inventory import leaf_spine
from csaud_controller.run.directory import RunDir
from csaud_controller.service.principals import Role, add_token

from tests.controller.service_process import Answer, Asking, serving
from tests.controller.soft import run_directory

_THREADS = 40
"""That requests have."""
_PATIENCE_S = 20.0


class _Controller(socketserver.ThreadingUnixStreamServer):
    """Answers at once, but to what changes or takes time: to that when it may."""

    daemon_threads = True
    request_queue_size = 2 * _THREADS

    def __init__(self, run: RunDir) -> None:
        super().__init__(str(run.control_socket), _Request)
        self.may_answer = threading.Event()


class _Request(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        assert isinstance(self.server, _Controller)
        op = json.loads(self.rfile.readline())["op"]
        if op not in ("wait", "status"):
            self.server.may_answer.wait(_PATIENCE_S)
        self.wfile.write(b'{"ok": true, "pending": {}}\n')


@contextmanager
def _controller(run: RunDir) -> Iterator[_Controller]:
    with _Controller(run) as made:
        serving = threading.Thread(target=made.serve_forever)
        serving.start()
        try:
            yield made
        finally:
            made.may_answer.set()
            made.shutdown()
            serving.join()


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1/paths/trace?src=h1&dst=h3"),
        ("PATCH", "/v1/policy"),
        ("POST", "/v1/policy/plan"),
        ("POST", "/v1/fabric/plan"),
    ],
)
def test_operators_who_wait_for_the_controller_keep_nobody_else_from_an_answer(
    method: str, path: str
) -> None:
    """As many of their requests as there are threads: the rest is told so, and everybody else is answered."""
    with run_directory(leaf_spine(1, 1)) as run, _controller(run) as controller:
        tokens = run.path / "tokens.yaml"
        token = add_token(tokens, "bob", Role.OPERATOR)
        with serving(run, "--tokens", str(tokens)) as (_, url), ThreadPoolExecutor(_THREADS + 5) as people:
            asked = [people.submit(Asking(url, token), method, path, {}) for _ in range(_THREADS)]
            told = as_completed(asked, timeout=_PATIENCE_S)
            turned_away = [next(told).result() for _ in range(_THREADS - 16)]
            assert {answer.status for answer in turned_away} == {503}
            assert turned_away[0].body == {"error": "16 changes, plans and traces are under way: ask later"}
            seen = [
                people.submit(Asking(url, token), "GET", p) for p in ("/readyz", "/healthz", "/v1/status")
            ]
            assert [each.result(_PATIENCE_S).status for each in seen] == [200] * 3
            controller.may_answer.set()
            done: list[Answer] = [each.result(_PATIENCE_S) for each in asked]
        assert sorted(answer.status for answer in done) == [200] * 16 + [503] * (_THREADS - 16)
