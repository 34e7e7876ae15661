"""Asks the controller of a fabric elsewhere, over the REST interface of `csaud service`."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from csaud_controller.base.http_peers import UNREACHABLE, is_loopback, reason, split_url
from csaud_controller.base.why import why
from csaud_controller.control.client import (
    APPLY_TIMEOUT_S,
    Answer,
    ConflictError,
    ControlError,
    RefusedError,
    plain,
)
from csaud_controller.control.rest import Arguments, Route, route_of
from csaud_controller.inventory import Fabric

_MARGIN_S = 10.0
_LONGEST = 1 << 28
"""Bytes of an answer."""
_ERRORS = {400: RefusedError, 404: RefusedError, 412: ConflictError, 422: RefusedError}
"""By status; others are failures."""


@dataclass(frozen=True)
class Credentials:
    """Who asks, and whom they trust. RefusedError of whatever uses them names the file that does not do."""

    token: str = field(default="", repr=False)
    cacert: Path | None = None
    """Authorities of the service's certificate; None: those of this machine."""
    cert: Path | None = None
    key: Path | None = None

    def context(self) -> ssl.SSLContext:
        """For connections of TLS."""
        try:
            made = ssl.create_default_context(cafile=None if self.cacert is None else str(self.cacert))
            if self.cert is not None:
                made.load_cert_chain(self.cert, self.key)
        except (OSError, ssl.SSLError) as error:
            files = ", ".join(str(each) for each in (self.cacert, self.cert, self.key) if each is not None)
            raise RefusedError(f"{files}: {why(error)}") from None
        return made


class Elsewhere:
    """One controller by its URL; RefusedError: it is none, or the credentials would go there in the clear."""

    def __init__(self, url: str, credentials: Credentials) -> None:
        self.where = url
        parts, port = split_url(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/") or port == 0:
            raise RefusedError(
                f"--controller: expected a URL such as https://fabric.example:8443, got {url!r}"
            )
        self._is_tls, self._host = parts.scheme == "https", parts.hostname
        self._port = port or (443 if self._is_tls else 80)
        if not self._is_tls and credentials.token and not is_loopback(self._host):
            raise RefusedError(f"--controller {url}: the token would go there in the clear; use https://")
        self._token, self._context = credentials.token, credentials.context() if self._is_tls else None

    def ask(self, op: str, *, timeout_s: float = APPLY_TIMEOUT_S, **arguments: Any) -> Answer:
        """As `client.ask`, with its errors."""
        if (route := route_of(op, arguments)) is None:
            raise RefusedError(f"{op} is not for other machines: ask for it where the controller runs")
        return self._call(route, {"timeout_s": timeout_s, **arguments}, timeout_s + _MARGIN_S)

    def fabric(self) -> Fabric:
        """The inventory as it runs."""
        return Fabric.model_validate(self.ask("fabric")["fabric"])

    def counters(
        self, fabric: Fabric, *, switches: Iterable[str] | None, counters: Iterable[str] | None, unit: str
    ) -> dict[str, Any]:
        """As `read_counters`: the service reads them."""
        names = None if switches is None else [*switches]
        wanted = None if counters is None else [*counters]
        found = self.ask("counters", switches=names, counters=wanted, unit=unit)["switches"]
        return {
            name: {key: _by_number(cells) for key, cells in counted.items()}
            for name, counted in found.items()
        }

    def _call(self, route: Route, arguments: Arguments, patience_s: float) -> Answer:
        headers = {"Accept": "application/json"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        if arguments.get("revision") is not None:
            headers["If-Match"] = f'"{arguments["revision"]}"'
        body = None
        if route.method not in ("GET", "DELETE"):
            headers["Content-Type"] = "application/json"
            body = json.dumps(arguments[route.body], default=plain) if route.body else "{}"
        connection = self._connection(patience_s)
        try:
            connection.request(route.method, route.target(arguments), body, headers)
            response = connection.getresponse()
            status, text = response.status, response.read(_LONGEST)
        except TimeoutError:
            raise ControlError(f"{self.where} gave no answer within {patience_s:g} s") from None
        except UNREACHABLE as error:
            raise ControlError(f"{self.where} cannot be reached: {reason(error)}") from None
        finally:
            connection.close()
        return self._answer(status, text)

    def _answer(self, status: int, text: bytes) -> Answer:
        try:
            answer = json.loads(text)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise ControlError(f"{self.where} is no controller's: it answered {status} {text[:60]!r}")
        if status not in (200, 202):
            said = answer.get("error") or answer.get("detail") or text[:200].decode(errors="replace")
            raise _ERRORS.get(status, ControlError)(f"{self.where}: {said}" if status < 412 else str(said))
        return answer

    def _connection(self, patience_s: float) -> http.client.HTTPConnection:
        if self._context is None:
            return http.client.HTTPConnection(self._host, self._port, timeout=patience_s)
        return http.client.HTTPSConnection(self._host, self._port, timeout=patience_s, context=self._context)


def _by_number(cells: Any) -> Any:
    """Ports are numbers, which JSON's keys cannot be."""
    if isinstance(cells, dict):
        return {int(key) if key.isdecimal() else key: value for key, value in cells.items()}
    return cells
