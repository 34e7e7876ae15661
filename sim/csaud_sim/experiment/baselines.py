"""Which baseline of docs/evaluation.md a setting is, and whether that one did alone what its own source says.

A baseline that did not, or for which nothing was published that could be repeated, is marked wherever its
figures stand.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from csaud_sim.transports.model import CSA_UD

MARK = "†"


@dataclass(frozen=True)
class Baseline:
    """What CSA-UD is compared with.

    Attributes:
        number: as in docs/evaluation.md.
        what: in words.
        doubt: why its figures are to be taken with care; empty: it is within bounds of its anchor, or is
            the host core itself, which needs none.
        needed: CSA-UD's claim is about it (the rule is `claim`'s).
    """

    number: str
    what: str
    doubt: str = ""
    needed: bool = False


BASELINES = {
    each.number: each
    for each in (
        Baseline("B1", "reliable connections, go-back-N, ECMP", needed=True),
        Baseline("B2", "reliable connections, go-back-N, PFC and DCQCN", "no published figure was repeated"),
        Baseline(
            "B3", "IRN, ECMP", "its published gain over lossless RoCE was not repeated here", needed=True
        ),
        Baseline(
            "B4", "IRN, sprayed", "that it repeats without loss was seen in the small alone", needed=True
        ),
        Baseline("B5", "CSA-UD with a fixed interval", needed=True),
        Baseline("B6", "NDP-style"),
        Baseline("B7", "Ultra-Ethernet-like"),
        Baseline("B8", "LetFlow under reliable connections", "no published figure was repeated"),
        Baseline("B9", "CSA-UD with an oracle of losses"),
        Baseline("B10", "DCP-like", "no published figure was found that could be repeated"),
    )
}
_BY_NAME = {"ndp": "B6", "uec": "B7", "dcp": "B10"}


def baseline_of(settings: Mapping[str, Any]) -> Baseline | None:
    """Of an experiment as it was run (`Run.settings`); None: it is CSA-UD with its own interval."""
    transport = settings["transport"]
    name = transport["name"]
    if name == CSA_UD:
        if settings["oracle"]:
            return BASELINES["B9"]
        return BASELINES["B5"] if settings["core"].get("fixed_interval") else None
    if name == "rc":
        if transport.get("pfc") or transport.get("dcqcn"):
            return BASELINES["B2"]
        return BASELINES["B8" if transport.get("spray") == "flowlet" else "B1"]
    if name == "irn":
        return BASELINES["B3" if transport.get("spray", "ecmp") == "ecmp" else "B4"]
    if name in _BY_NAME:
        return BASELINES[_BY_NAME[name]]
    return Baseline(name, name, "it has no anchor")


def doubt_of(settings: Mapping[str, Any]) -> str:
    """What is to be known beside its figures; empty: nothing."""
    baseline = baseline_of(settings)
    return baseline.doubt if baseline is not None else ""


def marked(label: str, doubt: str) -> str:
    """The label, with a mark where there is doubt."""
    return f"{label} {MARK}" if doubt else label


def footnotes(settings: Iterable[Mapping[str, Any]]) -> list[str]:
    """What the marks mean, a line a baseline."""
    found = {each.number: each for one in settings if (each := baseline_of(one)) is not None and each.doubt}
    return [f"{MARK} {each.number}, {each.what}: {each.doubt}" for each in found.values()]
