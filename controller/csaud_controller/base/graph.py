"""Breadth-first search: all that a fabric needs of graph theory. (A library for it would take longer to
import than most commands take to run.)"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping

Graph = Mapping[str, Iterable[str]]
"""Each node with its neighbours; those that are no nodes themselves are passed over."""


def distances(graph: Graph, start: str) -> dict[str, int]:
    """Steps from `start` to every node that can be reached, itself included."""
    found = {start: 0}
    waiting = deque([start])
    while waiting:
        node = waiting.popleft()
        for neighbour in graph[node]:
            if neighbour in graph and neighbour not in found:
                found[neighbour] = found[node] + 1
                waiting.append(neighbour)
    return found


def components(graph: Graph) -> list[set[str]]:
    """The parts of a graph that are connected within, in the order of their first nodes."""
    parts: list[set[str]] = []
    seen: set[str] = set()
    for node in graph:
        if node not in seen:
            parts.append(set(distances(graph, node)))
            seen |= parts[-1]
    return parts
