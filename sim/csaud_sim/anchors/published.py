"""The anchors: what was published or recorded of each baseline, and what of ours is put beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from csaud_sim.anchors import figures
from csaud_sim.anchors.figures import Figure

CLOSE = 0.05
"""Of a published figure, that ours may be away from it."""
_BACK = 6 * (1000 + 6) / 1000
"""us that an acknowledgement takes over six idle links: uet-htsim's times are the senders'."""
_UET = "ultraethernet/uet-htsim, validate_outputs"
_NDP = "figure 20 of NDP (SIGCOMM 2017) as EXAMPLES/incast_scaling of Broadcom/csg-htsim draws it"


@dataclass(frozen=True)
class Published:
    """A published figure, and where ours comes from.

    Attributes:
        baseline: its number (`experiment.baselines`).
        what: is measured.
        unit: of all its figures: us or %.
        published: as it stands there.
        low, high: ours is within bounds from here to there.
        experiment: one that comes along.
        settings: of it, those that are needed.
    """

    baseline: str
    what: str
    unit: str
    published: str
    low: float
    high: float
    source: str
    experiment: str
    settings: Sequence[str]


@dataclass(frozen=True)
class Anchor(Published):
    """One that ours is put beside.

    Attributes:
        figure: ours, of the settings' runs: one value a seed.
        large: it takes 1,024 hosts.
    """

    figure: Figure
    large: bool = False


def _near(
    baseline: str, what: str, unit: str, value: float, source: str, experiment: str,
    settings: tuple[str, ...], figure: Figure, large: bool = False,
) -> Anchor:  # fmt: skip
    """Of a single figure: within CLOSE of it."""
    low, high = value * (1 - CLOSE), value * (1 + CLOSE)
    return Anchor(baseline, what, unit, f"{value:,}", low, high, source, experiment, settings, figure, large)


def _goodput(loss: str, value: float) -> Anchor:
    setting, whole = f"loss {loss}", "loss 0"
    return _near(
        "B1", f"one flow of 100 MB, loss {loss}: goodput as a share of that without loss", "%", value,
        "go-back-N's goodput, (1 - p) / (1 + p N), N = 35.2 packets a round trip", "rc-goodput",
        (setting, whole), figures.goodput(setting, whole),
    )  # fmt: skip


def _last(
    baseline: str, what: str, value: float, source: str, experiment: str, setting: str, back: float = 0.0,
    large: bool = False,
) -> Anchor:  # fmt: skip
    return _near(
        baseline, f"{what}: the last flow", "us", value, source, experiment, (setting,),
        figures.last_flow(setting, back), large,
    )  # fmt: skip


def _permutation(case: str, words: str, policy: str, value: float) -> Anchor:
    return _last(
        "B7", f"permutation of 1,024 hosts, {words}{policy}", value, _UET, "uec-permutation",
        f"{case}: {policy}", _BACK, large=True,
    )  # fmt: skip


# fmt: off
ANCHORS = (
    _goodput("0.0001", 99.6),
    _goodput("0.001", 96.5),
    _goodput("0.01", 73.2),
    _near(
        "B2", "two flows to one host: share of the link that the first has while both send", "%", 50.0,
        "DCQCN (SIGCOMM 2015): flows converge to equal shares; no recorded figure was found", "dcqcn-two",
        ("dcqcn-two",), figures.first_share("dcqcn-two"),
    ),
    Anchor(
        "B3", "mean completion time below RoCE's with PFC, fat-tree of 54 hosts, 70 %", "%", "6 to 83", 6, 83,
        "IRN (SIGCOMM 2018), abstract: 6 to 83 % better than RoCE with PFC", "irn-roce",
        ("irn", "roce-pfc"), figures.reduction("irn", "roce-pfc"),
    ),
    Anchor(
        "B4", "permutation over random spraying, nothing lost: packets sent again", "%", "up to 100", 1, 100,
        "DCP (SIGCOMM 2025): up to all packets go again without any loss", "irn-sprayed",
        ("irn-sprayed",), figures.sent_again("irn-sprayed"),
    ),
    _last("B6", "10:1 incast of 270 KB, first window 23", 2236.3, _NDP, "ndp-incast", "ten"),
    _last("B6", "100:1 incast of 270 KB", 21920.0, _NDP, "ndp-incast", "hundred"),
    _last("B7", "one flow of 2 MB", 176.2, _UET, "uec-incast", "one", _BACK),
    _last("B7", "127:1 incast of 2 MB", 21029.3, _UET, "uec-incast", "all", _BACK),
    *(
        _permutation("whole", "", policy, value)
        for policy, value in {"oblivious": 212.8, "bitmap": 200.5, "reps": 198.2, "mixed": 193.2}.items()
    ),
    *(
        _permutation("degraded", "8 core links at a quarter of the rate, ", policy, value)
        for policy, value in {"oblivious": 280.8, "bitmap": 220.3, "reps": 206.7}.items()
    ),
)
# fmt: on
