"""Which baseline of docs/evaluation.md a setting is, and the marks on those that are to be doubted.

A baseline counts after it did alone what its own source says (`csaud sim anchors`). One that did not, that
has not been held to it, or of which nothing was published that could be repeated, is marked wherever its
figures stand.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from csaud_sim.transports.model import CSA_UD

if TYPE_CHECKING:
    from csaud_sim.experiment.comparison import SettingFigures

MARK = "†"


@dataclass(frozen=True)
class Baseline:
    """What CSA-UD is compared with.

    Attributes:
        number: as in docs/evaluation.md.
        what: in words.
        needed: CSA-UD's claim is about it (the rule is `claim`'s).
        own: it is the host core itself, which needs no anchor.
        unanchored: why there is nothing to hold it to; empty: there is (`csaud_sim.anchors`).
    """

    number: str
    what: str
    needed: bool = False
    own: bool = False
    unanchored: str = ""


BASELINES = {
    each.number: each
    for each in (
        Baseline("B1", "reliable connections, go-back-N, ECMP", needed=True),
        Baseline("B2", "reliable connections, go-back-N, PFC and DCQCN"),
        Baseline("B3", "IRN, ECMP", needed=True),
        Baseline("B4", "IRN, sprayed", needed=True),
        Baseline("B5", "CSA-UD with a fixed interval", needed=True, own=True),
        Baseline("B6", "NDP-style"),
        Baseline("B7", "Ultra-Ethernet-like"),
        Baseline(
            "B8",
            "LetFlow under reliable connections",
            unanchored="no figure of LetFlow over RDMA was found that could be repeated",
        ),
        Baseline("B9", "CSA-UD with an oracle of losses", own=True),
        Baseline("B10", "DCP-like", unanchored="no figure of its paper was found that could be repeated"),
    )
}
_BY_NAME = {"dcqcn": "B2", "ndp": "B6", "uec": "B7", "dcp": "B10"}

Doubts = Mapping[str, str]
"""By number of those that were held to their anchors: why one's figures are to be taken with care; empty: it
is within bounds of all."""
NOT_HELD: Doubts = MappingProxyType({})


def baseline_of(settings: Mapping[str, Any]) -> Baseline | None:
    """Of an experiment as it was run (`Run.settings`); None: it is CSA-UD with its own interval."""
    transport = settings["transport"]
    name = transport["name"]
    if name == CSA_UD:
        if settings["oracle"]:
            return BASELINES["B9"]
        return BASELINES["B5"] if settings["core"].get("fixed_interval") else None
    if name == "rc":
        if transport.get("pfc"):
            return BASELINES["B2"]
        return BASELINES["B8" if transport.get("spray") == "flowlet" else "B1"]
    if name == "irn":
        return BASELINES["B3" if transport.get("spray", "ecmp") == "ecmp" else "B4"]
    if name in _BY_NAME:
        return BASELINES[_BY_NAME[name]]
    return Baseline(name, name, unanchored="it has no anchor")


def doubt_of(baseline: Baseline | None, doubts: Doubts) -> str:
    """What is to be known beside its figures; empty: nothing."""
    if baseline is None or baseline.own:
        return ""
    if baseline.unanchored:
        return baseline.unanchored
    return doubts.get(baseline.number, "it has not been held to its anchors: csaud sim anchors")


def marked(label: str, doubt: str) -> str:
    """The label, with a mark where there is doubt."""
    return f"{label} {MARK}" if doubt else label


def footnotes(figures: Iterable[SettingFigures]) -> list[str]:
    """What the marks mean, a line a baseline."""
    found = {each.baseline: each.doubt for each in figures if each.baseline is not None and each.doubt}
    return [f"{MARK} {each.number}, {each.what}: {doubt}" for each, doubt in found.items()]
