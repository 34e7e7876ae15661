"""Spray modes and loss signals are listed where their types cannot be read: each list is the same."""

import re
from pathlib import Path
from typing import get_args

import pytest
from csaud_controller.policy.signals import SIGNALS
from csaud_controller.policy.spray import MODES, SprayMode

ROOT = Path(__file__).parents[2]
LISTS = {
    "Makefile": (r"\[SPRAY=([^\]]+)\]", r"\[SIGNAL=([^\]]+)\]"),
    "README.md": (r"^\| `SPRAY` \|([^|]+)\|", r"^\| `SIGNAL` \|[^:|]+:([^|]+)\|"),
    "docs/controller.md": (r"^\| `spray` \| `host` \|([^|]+)\|", None),
    "controller/csaud_controller/service/page/page.js": (r"MODES = \[([^\]]+)\]", r"SIGNALS = \[([^\]]+)\]"),
    "topologies/csaud_topologies/commands/app.py": (r'^SPRAY = "([^"]+)"', r'^SIGNAL = "[^:]+:([^"]+)"'),
}


def listed(place: str, pattern: str) -> list[str]:
    found = re.search(pattern, (ROOT / place).read_text(), re.MULTILINE)
    assert found is not None, f"{place} has no list of this form"
    return [word for word in re.findall(r"[a-z]+(?:-[a-z]+)*", found[1]) if word != "or"]


@pytest.mark.parametrize(("place", "modes", "signals"), [(place, *both) for place, both in LISTS.items()])
def test_every_list_has_all_of_them(place: str, modes: str, signals: str | None) -> None:
    assert listed(place, modes) == list(MODES) == list(get_args(SprayMode))
    if signals is not None:
        assert listed(place, signals) == list(SIGNALS)
