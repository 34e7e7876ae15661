"""Stores that outlive ranks, as arbiters: torchrun's TCPStore, etcd's JSON gateway."""

import base64
import binascii
import datetime
import http.client
import json
from collections.abc import Callable, Mapping
from typing import Any

from csaud.errors import ConfigError
from csaud.membership.arbiter import Arbiter, ByStore, Majority, StoreError

_TIMEOUT = 5.0  # s that one answer may take
_ANSWER = 64 << 20  # bytes that one may have


class Etcd:
    """etcd 3.4 or newer, by the JSON gateway of its client port."""

    def __init__(self, host: str, port: int) -> None:
        self._host, self._port = host, port

    def check(self) -> None:
        """Raises:
        StoreError: nobody answers there, or not as etcd does.
        """
        self._post("/v3/kv/range", {"key": _encode("csaud")})

    def put_if_absent(self, key: str, value: str) -> str:
        name = _encode(key)
        answer = self._post(
            "/v3/kv/txn",
            {
                "compare": [{"key": name, "target": "CREATE", "result": "EQUAL", "create_revision": "0"}],
                "success": [{"request_put": {"key": name, "value": _encode(value)}}],
                "failure": [{"request_range": {"key": name}}],
            },
        )
        if answer.get("succeeded"):
            return value
        try:
            held = answer["responses"][0]["response_range"]["kvs"][0]["value"]
            return base64.b64decode(held, validate=True).decode()
        except (KeyError, IndexError, TypeError, ValueError, binascii.Error) as error:
            raise StoreError(
                f"etcd at {self._host}:{self._port} sent what cannot be read: {error!r}"
            ) from None

    def _post(self, path: str, request: dict[str, Any]) -> dict[str, Any]:
        where = f"etcd at {self._host}:{self._port}"
        connection = http.client.HTTPConnection(self._host, self._port, timeout=_TIMEOUT)
        try:
            connection.request("POST", path, json.dumps(request), {"Content-Type": "application/json"})
            response = connection.getresponse()
            body = response.read(_ANSWER)
            answer = json.loads(body)
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise StoreError(f"{where}: {error}") from None
        finally:
            connection.close()
        if response.status != 200 or not isinstance(answer, dict):
            raise StoreError(f"{where} answered {response.status}: {body[:200]!r}")
        return answer


class TcpStore:
    """PyTorch's TCPStore, hosted by torchrun's agent or anybody but a rank."""

    def __init__(self, host: str, port: int) -> None:
        try:
            from torch.distributed import TCPStore
        except ImportError:
            raise ConfigError(
                "arbiter=tcpstore:// needs PyTorch, which is not installed: pip install torch, or take "
                "arbiter=majority"
            ) from None
        self._where = f"TCPStore at {host}:{port}"
        wait = datetime.timedelta(seconds=_TIMEOUT)
        connect: Any = TCPStore
        self._open: Callable[[], Any] = lambda: connect(
            host, port, is_master=False, wait_for_workers=False, timeout=wait
        )
        self._store: Any = None

    def check(self) -> None:
        """Raises:
        StoreError: nobody answers there.
        """
        self._ask("csaud/here", "yes")

    def put_if_absent(self, key: str, value: str) -> str:
        return self._ask(key, value)

    def _ask(self, key: str, value: str) -> str:
        try:
            if self._store is None:
                self._store = self._open()
            # A key that does not exist is compared as "".
            held: bytes = self._store.compare_set(key, "", value)
            return held.decode()
        except (RuntimeError, UnicodeDecodeError) as error:  # torch.distributed's errors are RuntimeErrors
            self._store = None
            raise StoreError(f"{self._where}: {str(error).splitlines()[0]}") from None


def _encode(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def open_arbiter(setting: str, environ: Mapping[str, str]) -> Arbiter:
    """What the setting `arbiter` names; a store is asked once, so that it is known to be there.

    Raises:
        ConfigError: there is no such arbiter, or its store does not answer.
    """
    if setting == "majority":
        return Majority()
    kind, _, place = setting.partition("://")
    if kind == "tcpstore" and not place:
        if environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True":
            raise ConfigError(
                "arbiter=tcpstore://: torchrun's agent keeps no store here "
                "(TORCHELASTIC_USE_AGENT_STORE is not True): name one, tcpstore://host:port"
            )
        place = f"{environ.get('MASTER_ADDR', '')}:{environ.get('MASTER_PORT', '')}"
    host, _, port = place.rpartition(":")
    if kind not in ("tcpstore", "etcd") or not host or not port.isascii() or not port.isdigit():
        raise ConfigError(f"arbiter={setting!r}: expected majority, tcpstore://host:port or etcd://host:port")
    store = Etcd(host, int(port)) if kind == "etcd" else TcpStore(host, int(port))
    try:
        store.check()
    except StoreError as error:
        raise ConfigError(f"arbiter={setting}: {error}") from None
    return ByStore(store)
