"""Stores that outlive ranks, as arbiters: torchrun's TCPStore, etcd's JSON gateway."""

import contextlib
import datetime
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from csaud_runs import etcd

from csaud.errors import ConfigError
from csaud.membership.arbiter import Store, StoreError
from csaud.network.addresses import split_port

_TIMEOUT = 5.0  # s that one answer may take


class Etcd:
    """etcd 3.4 or newer, by the JSON gateway of its client port."""

    def __init__(self, host: str, port: int) -> None:
        self._client = etcd.Etcd(etcd.Place(((host, port),), ""), timeout_s=_TIMEOUT)

    def check(self) -> None:
        """Raises:
        StoreError: nobody answers there, or not as etcd does.
        """
        with _told():
            self._client.range("csaud")

    def put_if_absent(self, key: str, value: str) -> str:
        with _told():
            is_new, found = self._client.transaction({key: None}, [etcd.put(key, value)], [etcd.get(key)])
            if is_new:
                return value
            held = etcd.pairs(found[0]) if found else []
        if not held:
            raise StoreError(f"etcd answered without {key}, which is there")
        return held[0][1]


@contextlib.contextmanager
def _told() -> Iterator[None]:
    """Errors of the client as the arbiter's."""
    try:
        yield
    except etcd.StoreError as error:
        raise StoreError(str(error)) from None


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


def open_store(setting: str, environ: Mapping[str, str]) -> Store:
    """The one that the setting `arbiter` names; it is asked once, so that it is known to be there.

    Raises:
        ConfigError: there is no such arbiter, or its store does not answer.
    """
    kind, _, place = setting.partition("://")
    if kind == "tcpstore" and not place:
        if environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True":
            raise ConfigError(
                "arbiter=tcpstore://: torchrun's agent keeps no store here "
                "(TORCHELASTIC_USE_AGENT_STORE is not True): name one, tcpstore://host:port"
            )
        place = f"{environ.get('MASTER_ADDR', '')}:{environ.get('MASTER_PORT', '')}"
    host, port = split_port(place)
    number = int(port) if port.isascii() and port.isdigit() else 0
    if kind not in ("tcpstore", "etcd") or not host or not 0 < number < 1 << 16:
        raise ConfigError(f"arbiter={setting!r}: expected majority, tcpstore://host:port or etcd://host:port")
    store = Etcd(host, number) if kind == "etcd" else TcpStore(host, number)
    try:
        store.check()
    except StoreError as error:
        raise ConfigError(f"arbiter={setting}: {error}") from None
    return store
