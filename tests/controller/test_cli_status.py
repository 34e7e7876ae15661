"""`csaud fabric show`: a row for each switch, and what switches say of themselves."""

from __future__ import annotations

import io
import re
from typing import Any

import pytest
from csaud_controller.cli import fabric
from rich.console import Console


def status_of(switch: dict[str, Any], **others: Any) -> str:
    """What `csaud fabric show` prints of a fabric with this switch."""
    known = {
        "primary": False, "connected": False, "programmed_s": None, "in_sync": False, "held": 0, "repairs": 0,
        "error": "", "refused": [], "refused_total": 0,
    }  # fmt: skip
    status = {
        "fabric": "f", "target": "soft", "pipeline": {"digest": "0" * 64}, "links": [],
        "switches": {"l1": known | switch}, "miswired": {}, **others,
    }  # fmt: skip
    out = io.StringIO()
    fabric._render(Console(file=out, width=200, emoji=False), status)
    return out.getvalue()


def test_what_switches_say_is_text_not_markup() -> None:
    said = "[/] insert fault.inject[port=1] :smile:"
    switch = {"error": said, "refused": [said], "refused_total": 2}
    out = status_of(switch, miswired={"l1:1": "[/]:3"})
    assert out.count(said) == 2
    assert "l1 refuses 1 more" in out
    assert "l1:1 is wired to [/]:3" in out


@pytest.mark.parametrize(
    ("switch", "words"),
    [
        ({"primary": True, "connected": True, "in_sync": True}, ["primary", "in sync"]),
        ({"connected": True}, ["backup", "not in sync"]),
        ({}, ["none", "not in sync"]),
    ],
)
@pytest.mark.parametrize(("took", "told"), [(None, []), (0.0124, ["12 ms"]), (2.5, ["2500 ms"])])
def test_the_row_of_a_switch(
    switch: dict[str, Any], words: list[str], took: float | None, told: list[str]
) -> None:
    out = status_of({**switch, "programmed_s": took, "held": 41, "repairs": 3})
    (row,) = [line for line in out.splitlines() if line.split()[:1] == ["l1"]]
    assert [cell for cell in re.split(r"  +", row.strip())] == ["l1", *words, "41", "3", *told]
