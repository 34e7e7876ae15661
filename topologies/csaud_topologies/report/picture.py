"""The fabric as a drawing: tier above tier above hosts, cables as wide as the packets they carried."""

from __future__ import annotations

from html import escape
from typing import Any

from csaud_topologies.record.model import Report

_TOP, _ROW, _STEP = 30, 95, 74
_MANY, _CLOSE = 16, 54
"""Of so many in a row and more, each has that much room."""
_LEAST = 0.75
"""Of its size: what is wider than the page is scrolled from there on, for names are to be read."""
_ROLES = ("core", "spine", "aggregation", "leaf", "edge")
"""Of switches, from the top."""
_UPPER, _LOWER, _HOST = "var(--upper)", "var(--lower)", "var(--host)"  # the page's, light or dark


def fabric_picture(report: Report) -> str:
    """An inline SVG of the inventory, with the ranks on their hosts."""
    fabric = report.fabric
    rows = _rows(fabric)
    most = max(len(row) for row in rows)
    width = most * (_STEP if most <= _MANY else _CLOSE) + 20
    places: dict[str, tuple[float, float]] = {}
    for level, row in enumerate(rows):
        gap = width / len(row)
        for index, name in enumerate(row):
            places[name] = (gap * (index + 0.5), _TOP + level * _ROW)
    height = _TOP * 2 + (len(rows) - 1) * _ROW
    parts = [_cable(edge, places, report) for edge in fabric["edges"]]
    parts += [_node(name, at, fabric, report) for name, at in places.items()]
    return (
        f'<svg viewBox="0 0 {width:.0f} {height}"'
        f' style="max-width:{width:.0f}px;min-width:{_LEAST * width:.0f}px" role="img"'
        f' aria-label="{escape(fabric["name"])}">{"".join(parts)}</svg>'
    )


def _rows(fabric: dict[str, Any]) -> list[list[str]]:
    by_role: dict[str, list[str]] = {role: [] for role in _ROLES}
    for name, switch in fabric["switches"].items():
        by_role[switch.get("role", "leaf")].append(name)
    return [row for row in (*by_role.values(), list(fabric.get("hosts", {}))) if row]


def _cable(edge: dict[str, Any], places: dict[str, tuple[float, float]], report: Report) -> str:
    (x1, y1), (x2, y2) = places[edge["a"]], places[edge["b"]]
    ends = {edge["a"], edge["b"]}
    most = max((port.data for port in report.uplinks), default=0) or 1
    carried = sum(port.data for port in report.uplinks if {port.switch, port.peer} == ends)
    wide = 1 + 4 * carried / (2 * most)
    failed = any(ends == {line.source, line.target} for line in report.books.links if line.was_down)
    style = 'stroke="var(--bad)" stroke-dasharray="5 3"' if failed else 'stroke="var(--cable)"'
    label = f"{edge['a']}-{edge['b']}: {carried} DATA packets" + (", was down for a time" if failed else "")
    return (
        f'<line x1="{x1:.0f}" y1="{y1:.0f}" x2="{x2:.0f}" y2="{y2:.0f}" {style}'
        f' stroke-width="{wide:.1f}"><title>{escape(label)}</title></line>'
    )


def _node(name: str, at: tuple[float, float], fabric: dict[str, Any], report: Report) -> str:
    x, y = at
    switch = fabric["switches"].get(name)
    role = switch.get("role", "leaf") if switch else "host"
    ranks = [str(rank) for rank, host in enumerate(report.run.ranks) if host == name]
    text = f'<text x="{x:.0f}" y="{y + 4:.0f}" text-anchor="middle">{escape(name)}</text>'
    if ranks:
        label = f"rank {','.join(ranks)}"
        text += f'<text x="{x:.0f}" y="{y + 26:.0f}" text-anchor="middle" class="rank">{label}</text>'
    colour = _HOST if role == "host" else _LOWER if role in ("leaf", "edge") else _UPPER
    shape = (
        f'<rect x="{x - 24:.0f}" y="{y - 13:.0f}" width="48" height="26" rx="{13 if role == "host" else 4}"'
        f' fill="{colour}" stroke="var(--soft)"/>'
    )
    return shape + text
