"""etcd (3.4 or newer) by the JSON gateway of its client port: keys, transactions, leases. It blocks.

Source: https://etcd.io/docs/v3.5/dev-guide/api_grpc_gateway/
"""

from __future__ import annotations

import base64
import http.client
import json
import ssl
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_TIMEOUT_S = 2.0
"""That one answer may take."""
_LONGEST = 64 << 20
"""Bytes of an answer."""

Operation = dict[str, Any]


class StoreError(OSError):
    """The store does not answer, or not as one."""


@dataclass(frozen=True)
class Place:
    """Where a store is: any of these `endpoints` answers, and all keys begin with `prefix`."""

    endpoints: tuple[tuple[str, int], ...]
    prefix: str

    def __str__(self) -> str:
        return f"etcd at {', '.join(f'{host}:{port}' for host, port in self.endpoints)}"


def parse_place(text: str, prefix: str) -> Place:
    """`etcd://host:2379,other:2379/prefix`; `prefix` where it names none. ValueError."""
    kind, separator, rest = text.partition("://")
    hosts, _, path = rest.partition("/")
    endpoints = []
    for each in hosts.split(","):
        host, _, port = each.rpartition(":")
        if kind != "etcd" or not separator or not host or not port.isdecimal() or not 0 < int(port) < 1 << 16:
            raise ValueError(f"expected etcd://HOST:PORT[,HOST:PORT]...[/PREFIX], got {text!r}")
        endpoints.append((host.strip("[]"), int(port)))
    return Place(tuple(endpoints), path.strip("/") or prefix)


def tls_context(cacert: Path, cert: Path | None, key: Path | None) -> ssl.SSLContext:
    """For servers that `cacert` has signed, with a certificate of our own where there is one. StoreError."""
    with _named(f"{cacert}: not a certificate in PEM format"):
        cacert.open().close()  # what is missing has a name here
        made = ssl.create_default_context(cafile=str(cacert))
    if cert is not None and key is not None:
        with _named(f"{cert}, {key}: not a certificate and its key in PEM format"):
            for file in (cert, key):
                file.open().close()
            made.load_cert_chain(cert, key, password=_no_password)
    return made


class TlsFiles:
    """Contexts of what is in these files by now: they may be replaced. While they do not fit together, as
    when one of two files is new, that of what was there before. StoreError: they never did."""

    def __init__(self, cacert: Path, cert: Path | None, key: Path | None) -> None:
        self._files = cacert, cert, key
        self._version = self._found()
        self._context = tls_context(*self._files)

    def context(self) -> ssl.SSLContext:
        """For the next connection."""
        if (found := self._found()) != self._version:
            with suppress(StoreError):
                self._context = tls_context(*self._files)
            self._version = found
        return self._context

    def _found(self) -> list[tuple[int, int, int]]:
        """Differs when a file was replaced."""
        found = []
        for file in filter(None, self._files):
            with suppress(OSError):
                status = file.stat()
                found.append((status.st_mtime_ns, status.st_size, status.st_ino))
        return found


@contextmanager
def _named(what: str) -> Iterator[None]:
    """Errors of TLS, which know no files, as this, and others by their file."""
    try:
        yield
    except (ssl.SSLError, ValueError) as error:
        raise StoreError(f"TLS of the store: {what}: {error}") from None
    except OSError as error:
        raise StoreError(f"TLS of the store: {error.filename}: {error.strerror}") from None


def _no_password() -> str:
    """Rather an error than a prompt that nobody answers."""
    raise ValueError("the key has a password")


class Etcd:
    """One cluster. Each request opens a connection of its own, over TLS by the context that `tls` gives, to
    the endpoint that answered last; each endpoint may take `timeout_s` to answer."""

    def __init__(
        self, place: Place, tls: Callable[[], ssl.SSLContext] | None = None, timeout_s: float = _TIMEOUT_S
    ) -> None:
        self._place, self._tls, self._timeout_s = place, tls, timeout_s
        self._first = 0

    def range(
        self, key: str, end: str | None = None, *, newest_first: bool = False, limit: int = 0
    ) -> list[tuple[str, str]]:
        """Keys from `key` up to but without `end`, or `key` alone, and their values."""
        request: dict[str, Any] = {"key": _encode(key), "limit": limit}
        if end is not None:
            request["range_end"] = _encode(end)
        if newest_first:
            request |= {"sort_order": "DESCEND", "sort_target": "KEY"}
        return pairs(self._call("kv/range", request))

    def transaction(
        self,
        unless_other: Mapping[str, str | None],
        operations: Iterable[Operation] = (),
        otherwise: Iterable[Operation] = (),
    ) -> tuple[bool, list[dict[str, Any]]]:
        """Make these operations at once where each of these keys has its value (None: is not there), the
        others where not; whether it was so, and what the operations answered."""
        answer = self._call(
            "kv/txn",
            {
                "compare": [_compare(key, value) for key, value in unless_other.items()],
                "success": [*operations],
                "failure": [*otherwise],
            },
        )
        return bool(answer.get("succeeded")), [
            next(iter(each.values())) for each in answer.get("responses", ())
        ]

    def grant(self, ttl_s: int) -> str:
        """A lease; what is put with it goes when it is not kept alive for so long."""
        return str(self._call("lease/grant", {"TTL": ttl_s})["ID"])

    def keep_alive(self, lease: str) -> bool:
        """False: it has ended."""
        return int(self._call("lease/keepalive", {"ID": lease}).get("result", {}).get("TTL", 0)) > 0

    def revoke(self, lease: str, within_s: float) -> None:
        """End it now, or not at all where no endpoint answers so soon."""
        self._call("lease/revoke", {"ID": lease}, time.monotonic() + within_s)

    def _call(self, path: str, request: dict[str, Any], until: float | None = None) -> dict[str, Any]:
        count, body, failures = len(self._place.endpoints), json.dumps(request), []
        for number in range(self._first, self._first + count):
            host, port = self._place.endpoints[number % count]
            patience_s = self._timeout_s if until is None else min(self._timeout_s, until - time.monotonic())
            if patience_s <= 0:
                failures.append(f"{host}:{port}: there was no time left to ask it")
                continue
            try:
                answer = self._post(host, port, f"/v3/{path}", body, patience_s)
            except (OSError, http.client.HTTPException, ValueError) as error:
                failures.append(f"{host}:{port}: {error or type(error).__name__}")
                continue
            self._first = number % count
            return answer
        raise StoreError(f"etcd at {'; '.join(failures)}")

    def _post(self, host: str, port: int, path: str, body: str, timeout_s: float) -> dict[str, Any]:
        connection = (
            http.client.HTTPConnection(host, port, timeout=timeout_s)
            if self._tls is None
            else http.client.HTTPSConnection(host, port, timeout=timeout_s, context=self._tls())
        )
        try:
            connection.request("POST", path, body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            text = response.read(_LONGEST)
        finally:
            connection.close()
        answer = json.loads(text) if text else None
        if response.status != 200 or not isinstance(answer, dict):
            raise ValueError(f"answered {response.status}: {text[:200].decode(errors='replace')}")
        return answer


def put(key: str, value: str, lease: str | None = None) -> Operation:
    """Of a transaction."""
    return {
        "request_put": {"key": _encode(key), "value": _encode(value), **({"lease": lease} if lease else {})}
    }


def delete(key: str, end: str | None = None) -> Operation:
    """Of a transaction: a key, or all from it up to but without `end`."""
    return {"request_delete_range": {"key": _encode(key), **({"range_end": _encode(end)} if end else {})}}


def get(key: str) -> Operation:
    """Of a transaction."""
    return {"request_range": {"key": _encode(key)}}


def pairs(answer: dict[str, Any]) -> list[tuple[str, str]]:
    """Keys and values of what a range answered."""
    try:
        return [(_decode(kv["key"]), _decode(kv.get("value", ""))) for kv in answer.get("kvs", ())]
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(f"etcd sent what cannot be read: {error!r}") from None


def _compare(key: str, value: str | None) -> dict[str, Any]:
    if value is None:
        return {"key": _encode(key), "target": "CREATE", "result": "EQUAL", "create_revision": "0"}
    return {"key": _encode(key), "target": "VALUE", "result": "EQUAL", "value": _encode(value)}


def _encode(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _decode(text: str) -> str:
    return base64.b64decode(text, validate=True).decode()
