"""The cables that a NetBox has, asked for by its REST API: page by page, until there is no next one."""

from __future__ import annotations

import http.client
import json
import ssl
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, parse_qsl, urlencode

from csaud_controller.base.http_peers import UNREACHABLE, is_loopback, reason, split_url
from csaud_controller.base.yamlfile import ConfigError, SourceError
from csaud_controller.inventory.imports.draft import Source

_CABLES = "/api/dcim/cables/"
_A_PAGE = 1000
"""What NetBox answers at most, where its administrator has not said otherwise."""
_MOST_PAGES = 10_000
_PATIENCE_S = 60.0
_LONGEST = 1 << 28
"""Bytes of a page."""


def is_url(text: str) -> bool:
    """Whether this is no file's name."""
    return text.startswith(("http://", "https://"))


def cables(url: str, token: str, trusted: ssl.SSLContext) -> Source:
    """All cables of the NetBox at `url`, which may have the path of the API, and a query that chooses cables
    (`?site=pod1`), as one answer. ConfigError names the URL and what is wrong: among others that the token
    would go there in the clear, and that cables have come or gone between two pages."""
    parts, port = split_url(url)
    if not parts.hostname or port == 0 or "@" in parts.netloc:
        raise ConfigError(url, None, "", "expected a URL such as https://netbox.example/?site=pod1")
    if parts.scheme == "http" and token and not is_loopback(parts.hostname):
        raise ConfigError(url, None, "", "the token would go there in the clear; use https://")
    connection = (
        http.client.HTTPConnection(parts.hostname, port, timeout=_PATIENCE_S)
        if parts.scheme == "http"
        else http.client.HTTPSConnection(parts.hostname, port, timeout=_PATIENCE_S, context=trusted)
    )
    try:
        return Source(Path(parts.hostname), {"results": _all(connection, parts, url, _headers(token))})
    except TimeoutError:
        raise SourceError(url, None, "", f"no answer within {_PATIENCE_S:g} s") from None
    except UNREACHABLE as error:
        raise SourceError(url, None, "", f"cannot be reached: {reason(error)}") from None
    finally:
        connection.close()


def _all(
    connection: http.client.HTTPConnection, parts: SplitResult, url: str, headers: dict[str, str]
) -> list[Any]:
    target, found = _first_page(parts), list[Any]()
    asked, counts = set[str](), set[Any]()
    while target not in asked and len(asked) < _MOST_PAGES:
        asked.add(target)
        connection.request("GET", target, headers=headers)
        response = connection.getresponse()
        page = _page(url, response.status, response.read(_LONGEST))
        found += page["results"]
        counts.add(page.get("count"))
        following = page.get("next")
        if not following:
            known = {cable.get("id") for cable in found if isinstance(cable, dict)}
            if counts != {len(found)} or len(known) != len(found):
                raise SourceError(url, None, "", "cables came or went while they were read: try again")
            return found
        # its query alone: whatever host and path NetBox takes for its own, the URL that was named is asked
        if not (query := split_url(str(following))[0].query):
            raise SourceError(url, None, "next", f"expected the URL of a page, got {str(following)[:60]!r}")
        target = f"{target.partition('?')[0]}?{query}"
    raise SourceError(url, None, "next", "its pages have no end")


def _first_page(parts: SplitResult) -> str:
    base = parts.path.rstrip("/")
    path = f"{base}/" if base.endswith(_CABLES.rstrip("/")) else f"{base.removesuffix('/api')}{_CABLES}"
    chosen = [
        (key, value)
        for key, value in parse_qsl(parts.query, keep_blank_values=True)
        if key not in ("limit", "offset")
    ]
    return f"{path}?{urlencode([*chosen, ('limit', _A_PAGE)])}"


def _page(url: str, status: int, text: bytes) -> dict[str, Any]:
    try:
        page = json.loads(text)
    except (ValueError, RecursionError):
        page = None
    if status in (301, 302, 307, 308):
        raise ConfigError(url, None, "", f"answered {status}, which sends elsewhere: name that URL")
    if status != 200:
        said = page.get("detail") if isinstance(page, dict) else None
        raise SourceError(
            url, None, "", f"answered {status}: {said or http.client.responses.get(status, '')}"
        )
    if not isinstance(page, dict) or not isinstance(page.get("results"), list):
        raise SourceError(url, None, "results", f"missing: this is no NetBox's answer to {_CABLES}")
    return page


def _headers(token: str) -> dict[str, str]:
    if not token:
        return {"Accept": "application/json"}
    # tokens of the second version name their key, and are a bearer's
    kind = "Bearer" if token.startswith("nbt_") else "Token"
    return {"Accept": "application/json", "Authorization": f"{kind} {token}"}
