"""etcd as the arbiter of memberships: the first value of a key is everybody's, and what answers without one
is no etcd."""

import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from csaud.errors import ConfigError
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


def test_an_ipv6_address_stands_in_brackets() -> None:
    with pytest.raises(ConfigError) as refused:
        open_store("etcd://[::1]:1", {})
    assert str(refused.value) == "arbiter=etcd://[::1]:1: etcd at ::1:1: [Errno 111] Connection refused"


@pytest.mark.parametrize(
    "setting",
    ["zookeeper://h:1", "etcd://", "etcd://:2379", "etcd://h", "etcd://h:x", "etcd://h:0", "etcd://h:65536",
     "etcd://h:\u0663", "tcpstore://h:65536"],
)  # fmt: skip
def test_what_names_no_store_is_told_with_what_does(setting: str) -> None:
    """Nobody is asked: a port beyond the last one would be another one to the system."""
    with pytest.raises(ConfigError) as refused:
        open_store(setting, {})
    expected = "expected majority, tcpstore://host:port or etcd://host:port"
    assert str(refused.value) == f"arbiter={setting!r}: {expected}"


def test_the_last_port_is_asked() -> None:
    with pytest.raises(ConfigError, match=r"arbiter=etcd://127\.0\.0\.1:65535: etcd at 127\.0\.0\.1:65535: "):
        open_store(f"etcd://{HOST}:65535", {})


def test_a_store_of_torchruns_agent_is_where_its_variables_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """And needs PyTorch, which may not be there."""
    for package in ("torch", "torch.distributed"):
        monkeypatch.setitem(sys.modules, package, None)
    agent = {"TORCHELASTIC_USE_AGENT_STORE": "True"}
    for environ, words in (
        ({}, "torchrun's agent keeps no store here"),
        ({**agent, "MASTER_ADDR": HOST}, "expected majority, tcpstore://host:port or etcd://host:port"),
        ({**agent, "MASTER_ADDR": HOST, "MASTER_PORT": "29500"}, "needs PyTorch, which is not installed"),
    ):
        with pytest.raises(ConfigError, match=words):
            open_store("tcpstore://", environ)
