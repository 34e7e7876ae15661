"""Who comes in: before more of a request is read than its head, it is known whose it is."""

from __future__ import annotations

from http import HTTPStatus
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from csaud_controller.service.principals import Principal, Principals, Role

_OPEN = ("/", "/healthz", "/readyz")
_OPEN_BELOW = "/page/"
"""The page itself says nothing of the fabric; what it shows it asks for, with a token."""
_READING = ("GET", "HEAD", "OPTIONS")
_CHANGES_NOTHING = ("/v1/fabric/plan", "/v1/policy/plan")
_LONGEST = 1 << 22
"""Bytes of a request's body."""

CERTIFICATE = "csaud.certificate"
"""Key of a request's scope: the common name of the client's certificate, which an authority has signed."""

ANYBODY = Principal(name="anybody", role=Role.VIEWER, sha256="0" * 64)
"""Who needs no token where there are none."""


class Gate:
    """Middleware. Without `principals` everybody may look, and nobody may change anything."""

    def __init__(self, app: ASGIApp, principals: Principals | None) -> None:
        self._app, self._principals = app, principals

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] == "http" and (refusal := self._refusal(scope)) is not None:
            await refusal(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _refusal(self, scope: Scope) -> JSONResponse | None:
        path, headers = scope["path"], Headers(scope=scope)
        if path in _OPEN or path.startswith(_OPEN_BELOW):
            return None
        who = self._who(headers, scope.get(CERTIFICATE, ""))
        if who is None:
            return _no(HTTPStatus.UNAUTHORIZED, _who_is_nobody(headers, scope.get(CERTIFICATE, "")))
        scope.setdefault("state", {})["who"] = who
        if scope["method"] in _READING:
            return None
        if path not in _CHANGES_NOTHING and not who.role.allows(Role.OPERATOR):
            return _no(HTTPStatus.FORBIDDEN, f"{who.name} is a {who.role} and may change nothing")
        length = headers.get("content-length")
        if length is None and "transfer-encoding" in headers:
            return _no(HTTPStatus.LENGTH_REQUIRED, "a request says how long it is: Content-Length")
        if int(length or 0) > _LONGEST:
            return _no(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a request has at most {_LONGEST} bytes")
        return None

    def _who(self, headers: Headers, common_name: str) -> Principal | None:
        kind, _, token = headers.get("authorization", "").partition(" ")
        if self._principals is None:
            return ANYBODY
        if not kind and common_name:
            return self._principals.of_certificate(common_name)
        return self._principals.of(token.strip()) if kind.lower() == "bearer" else None


class KnownNames:
    """Middleware that answers requests for these names alone."""

    def __init__(self, app: ASGIApp, names: tuple[str, ...]) -> None:
        self._app, self._names = app, frozenset(name.strip("[]").lower() for name in names)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http" or (asked := _name_asked_for(scope)) in self._names:
            await self._app(scope, receive, send)
            return
        why = f"this service does not go by the name of {asked[:64]!r}: `csaud service run --name` says which"
        await _no(HTTPStatus.BAD_REQUEST, why)(scope, receive, send)


def _name_asked_for(scope: Scope) -> str:
    said = Headers(scope=scope).get("host", "")
    try:
        return urlsplit(f"//{said}").hostname or ""
    except ValueError:
        return said


def _who_is_nobody(headers: Headers, common_name: str) -> str:
    """Why nobody is known by what a request brought."""
    if headers.get("authorization", "").lower().startswith("bearer "):
        return "this token is nobody's: it was taken away, or made since this service was started"
    if common_name:
        return f"{common_name!r}, as the certificate says, is nobody whom the file of tokens knows"
    return "a token is needed: Authorization: Bearer TOKEN"


def _no(status: HTTPStatus, why: str) -> JSONResponse:
    headers = {"WWW-Authenticate": "Bearer"} if status is HTTPStatus.UNAUTHORIZED else None
    return JSONResponse({"error": why}, status, headers)
