"""etcd as the arbiter of memberships: the first value of a key is everybody's, and what answers without one
is no etcd."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from csaud.membership.arbiter import StoreError
from csaud.membership.stores import Etcd, open_store

from tests.hostlib.test_membership_jobs import wait_for
from tests.support.etcd import HOST, etcd


@pytest.mark.etcd
def test_the_first_value_of_a_key_is_what_all_get(tmp_path: Path) -> None:
    with etcd(tmp_path / "store") as arbiter:
        wait_for(arbiter)
        one, other = open_store(arbiter, {}), open_store(arbiter, {})
        assert [one.put_if_absent("generation", "first"), other.put_if_absent("generation", "second")] == [
            "first", "first",
        ]  # fmt: skip
        assert other.put_if_absent("next", "second") == "second"


@contextmanager
def answering(answer: dict[str, Any]) -> Iterator[Etcd]:
    """What answers every question with this."""

    class Gateway(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(answer).encode())

        def log_message(self, *args: Any) -> None:
            pass

    with HTTPServer((HOST, 0), Gateway) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield Etcd(HOST, server.server_port)
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize("answer", [{}, {"responses": []}, {"responses": [{"response_range": {}}]}], ids=str)
def test_a_key_that_is_there_and_not_told_is_an_error_of_the_store(answer: dict[str, Any]) -> None:
    with answering(answer) as store, pytest.raises(StoreError, match="without generation, which is there"):
        store.put_if_absent("generation", "mine")
