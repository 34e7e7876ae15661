"""What has become of paths: links and switches that went and came back, and what was asked for about them, in
one order of time."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from heapq import merge
from itertools import islice
from math import inf
from typing import Any

from csaud_controller.desired.history import KEPT
from csaud_controller.inventory import Edge, Fabric
from csaud_controller.policy.drains import edges_of

_OF_PATHS = (
    "drain ",
    "policy.spray",
    "policy.weights",
    "policy.overrides",
    "policy.denied_paths",
    "policy.honour_hosts",
)
"""Changes that decide which paths packets take, as `desired.changes` puts them."""
_WORD = re.compile(r"[\w:.-]+")


def path_history(
    fabric: Fabric,
    revisions: Iterable[Mapping[str, Any]],
    events: Iterable[Mapping[str, Any]],
    about: str | None = None,
    limit: int = KEPT,
) -> list[dict[str, Any]]:
    """Newest first, at most `limit`, as JSON values: `time`, `what`, `why` or `who`; `bad`: something went.
    `about` a link, a switch or a host: what concerns it, and what concerns all. FieldError: the fabric has no
    such thing. `events` come oldest first. Of `revisions`, newest first, no more are looked at than it
    takes."""
    names = None if about is None else _names(fabric, about)
    concerns = _anything if names is None else _concerning(fabric, names)
    found = [
        {"time": event["time"], "what": f"{event['what']} {'up' if event['up'] else 'down'}",
         "why": event["why"], "who": "", "bad": not event["up"]}
        for event in events
        if names is None or event["what"] in names
    ]  # fmt: skip
    asked = islice(_asked_for(revisions, concerns), limit)
    both = merge(_placed(reversed(found)), _placed(asked), key=lambda placed: -placed[0])
    return [row for _, row in islice(both, limit)]


def _placed(newest_first: Iterable[dict[str, Any]]) -> Iterator[tuple[float, dict[str, Any]]]:
    """With where each belongs among others: by its time, but never after what came later, which may have an
    earlier time: the clock was set back in between."""
    latest = inf
    for row in newest_first:
        latest = min(latest, row["time"])
        yield latest, row


def _asked_for(
    revisions: Iterable[Mapping[str, Any]], concerns: Callable[[str], bool]
) -> Iterator[dict[str, Any]]:
    for each in revisions:
        what = [text for text in each["what"] if text.startswith(_OF_PATHS) and concerns(text)]
        if what:
            yield {
                "time": each["time"],
                "what": "; ".join(what),
                "why": each["note"],
                "who": each["who"],
                "bad": False,
            }


def _names(fabric: Fabric, about: str) -> set[str]:
    """Of a thing and of what its paths stand and fall with: its links, and their switches."""
    edges = edges_of(fabric, about, ("about",))
    return {about, *(name for edge in edges for name in _names_of(edge))}


def _names_of(edge: Edge) -> Iterable[str]:
    yield from (f"{edge.a}-{edge.b}", f"{edge.b}-{edge.a}", edge.a, edge.b, *map(str, edge.ends))


def _anything(_text: str) -> bool:
    return True


def _concerning(fabric: Fabric, names: set[str]) -> Callable[[str], bool]:
    """Whether a change concerns these names. One that names nothing of the fabric concerns all of it."""
    known = {*fabric.switches, *fabric.hosts}

    def concerns(text: str) -> bool:
        key = text.partition(": ")[0]
        words = {word for part in _WORD.findall(key) for word in (part, *part.split("."))}
        is_of_one = key.startswith("drain ") or not words.isdisjoint(known)
        return not is_of_one or not words.isdisjoint(names)

    return concerns
