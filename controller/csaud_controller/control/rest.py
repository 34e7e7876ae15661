"""Which resource of the REST interface stands for which request to the controller. docs/service.md lists
them; a test holds this table to the interface's own description."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

Arguments = dict[str, Any]


@dataclass(frozen=True)
class Route:
    """A request as HTTP has it."""

    method: str
    path: str
    """With names of arguments in braces."""
    body: str = ""
    """The argument that is the body."""
    query: tuple[str, ...] = ()

    def target(self, arguments: Arguments) -> str:
        """Path and query."""
        named = {key: quote(str(value), safe="") for key, value in arguments.items()}
        asked = [(key, _word(arguments[key])) for key in self.query if arguments.get(key) is not None]
        return self.path.format(**named) + (f"?{urlencode(asked)}" if asked else "")


ROUTES = {
    "status": Route("GET", "/v1/status"),
    "intent": Route("GET", "/v1/intent"),
    "wait": Route("GET", "/v1/wait", query=("timeout_s",)),
    "fabric": Route("GET", "/v1/fabric"),
    "fabric.plan": Route("POST", "/v1/fabric/plan", "fabric"),
    "fabric.apply": Route("PUT", "/v1/fabric", "fabric"),
    "policy.set": Route("PATCH", "/v1/policy", "policy"),
    "policy.apply": Route("PUT", "/v1/policy", "policy", ("until", "lasts_s", "note")),
    "policy.plan": Route("POST", "/v1/policy/plan", "policy"),
    "policy.history": Route("GET", "/v1/history", query=("limit",)),
    "policy.rollback": Route("POST", "/v1/policy/rollback", query=("to",)),
    "fault.set": Route("PUT", "/v1/faults", "rule"),
    "fault.clear": Route("DELETE", "/v1/faults", query=("where",)),
    "links": Route("GET", "/v1/links"),
    "drain.set": Route("PUT", "/v1/drains/{what}", query=("force",)),
    "drain.clear": Route("DELETE", "/v1/drains/{what}"),
    "changes": Route("GET", "/v1/changes", query=("since",)),
    "alarms": Route("GET", "/v1/alarms", query=("since", "wait", "timeout_s")),
    "paths.stats": Route("GET", "/v1/paths"),
    "path.trace": Route("POST", "/v1/paths/trace", query=("src", "dst", "packets")),
    "path.history": Route("GET", "/v1/paths/history", query=("about", "limit")),
    "counters": Route("GET", "/v1/counters", query=("switches", "counters", "unit")),
}
_OF_ONE = {"policy.history": ("revision", Route("GET", "/v1/history/{revision}"))}
_OF_ALL = {"drain.clear": ("what", Route("DELETE", "/v1/drains"))}


def route_of(op: str, arguments: Arguments) -> Route | None:
    """None: that is not asked over HTTP."""
    if op in _OF_ONE and arguments.get(_OF_ONE[op][0]) is not None:
        return _OF_ONE[op][1]
    if op in _OF_ALL and arguments.get(_OF_ALL[op][0]) is None:
        return _OF_ALL[op][1]
    return ROUTES.get(op)


def all_routes() -> list[Route]:
    """Each of them."""
    return [*ROUTES.values(), *(route for _, route in (*_OF_ONE.values(), *_OF_ALL.values()))]


def _word(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)
