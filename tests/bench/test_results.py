"""Rows of benchmarks: ratios, targets, and what is written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rich.console import Console

from bench.plot import curves
from bench.results import result, save, show

KEYS = {"name", "value", "unit", "peer", "peer_value", "ratio", "target", "holds"}


@pytest.mark.parametrize(
    ("bound", "limit", "holds"),
    [("at least", 20, True), ("at least", 26, False), ("at most", 25, True), ("at most", 24, False)],
)
def test_a_target_beside_a_peer_is_about_the_ratio(bound: str, limit: float, holds: bool) -> None:
    row = result("x", 250.0, "packets/s", peer="other", peer_value=10.0, bound=bound, limit=limit)
    assert (row.ratio, row.holds, row.target) == (25.0, holds, f"{bound} {limit} x")


def test_a_target_without_a_peer_is_about_the_value() -> None:
    row = result("x", 4.0, "us", bound="at most", limit=5.0)
    assert (row.ratio, row.holds, row.target) == (None, True, "at most 5 us")
    assert result("x", 4.0, "us").holds is None


def test_rows_are_written_with_all_keys(tmp_path: Path) -> None:
    rows = [
        result("a", 1.5, "us"),
        result("b", 2.0, "s", peer="c", peer_value=4.0, bound="at least", limit=1),
    ]
    save(rows, {"processor": "p"}, tmp_path / "new" / "switch.json")
    written = json.loads((tmp_path / "new" / "switch.json").read_text())
    assert [row["name"] for row in written] == ["a", "b"]
    assert all(row.keys() >= KEYS for row in written)
    assert written[1]["ratio"] == 0.5
    assert json.loads((tmp_path / "new" / "switch.machine.json").read_text()) == {"processor": "p"}


def test_the_table_says_what_was_missed() -> None:
    console = Console(record=True, width=160)
    rows = [
        result("good", 2.0, "s", bound="at most", limit=5),
        result("bad", 9.0, "s", bound="at most", limit=5),
    ]
    show(rows, console, {"kernel": "k"})
    text = console.export_text()
    assert "holds" in text.split("good")[1].splitlines()[0]
    assert "MISSED" in text.split("bad")[1].splitlines()[0]
    assert "kernel: k" in text


def test_curves_are_told_apart() -> None:
    sizes, tables = curves(
        [
            result("veth", 5.0, "packets/s", at={"curve": "embedded", "x": 98}),
            result(
                "veth", 5.0, "packets/s", peer="b", peer_value=1.0, at={"curve": "default build", "x": 98}
            ),
            result("LPM", 7.0, "packets/s", at={"curve": "table LPM", "x": 10}),
            result("none", 7.0, "packets/s"),
        ]
    )
    assert sizes == {"embedded": [(98, 5.0)], "simple_switch_grpc, default build": [(98, 1.0)]}
    assert tables == {"LPM": [(10, 7.0)]}
