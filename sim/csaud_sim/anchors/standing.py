"""How baselines stand beside their anchors: written as JSON, read by whoever shows figures of theirs."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from csaud_runs.whole import write_whole
from csaud_topologies.base.usage import UsageError

from csaud_sim.anchors.figures import Runs
from csaud_sim.anchors.published import ANCHORS, Anchor, Published
from csaud_sim.experiment.baselines import BASELINES, Doubts

FILE = "anchors.json"
_FORMAT = 1


@dataclass(frozen=True)
class Held(Published):
    """One with ours beside it.

    Attributes:
        ours: mean over seeds; nan where something is not over.
        least, most: of the seeds.
        within: bounds.
    """

    ours: float
    least: float
    most: float
    seeds: int
    within: bool


def hold(anchor: Anchor, runs: Runs) -> Held:
    """Beside the runs of the anchor's experiment."""
    values = anchor.figure(runs)
    ours = float(values.mean())
    return Held(
        **{each.name: getattr(anchor, each.name) for each in fields(Published)},
        ours=ours,
        least=float(values.min()),
        most=float(values.max()),
        seeds=len(values),
        within=anchor.low <= ours <= anchor.high,
    )


def standings(held: Sequence[Held]) -> dict[str, bool | None]:
    """Of every baseline that is not the host core itself, whether all its anchors are within bounds; None:
    none was measured, or there is none."""
    found: dict[str, bool | None] = {name: None for name, each in BASELINES.items() if not each.own}
    for each in held:
        found[each.baseline] = each.within and found[each.baseline] is not False
    return found


def write_standing(folder: Path, held: Sequence[Held], everything: bool) -> Path:
    """`anchors.json`: every anchor that was measured, and how each baseline stands (`standings`)."""
    text = json.dumps(
        {
            "format": _FORMAT,
            "large": everything,
            "baselines": {
                name: {"what": BASELINES[name].what, "within": within}
                for name, within in standings(held).items()
            },
            "anchors": [_without_nan(asdict(each)) for each in held],
            "left_out": [anchor.what for anchor in ANCHORS if anchor.large and not everything],
        },
        indent=1,
    )
    path = folder / FILE
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(path, text)
    return path


def read_standing(path: Path) -> list[Held]:
    """Of a file that `write_standing` wrote, or its folder; RunError where it is none."""
    file = path / FILE if path.is_dir() else path
    try:
        value: Any = json.loads(file.read_text())
        if value["format"] != _FORMAT:
            raise UsageError(f"{file}: format {value['format']}, expected {_FORMAT}")
        return [Held(**_with_nan(row)) for row in value["anchors"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{file}: not written by csaud sim anchors: {error}") from None


def doubts_of(held: Sequence[Held]) -> Doubts:
    """Of each baseline that was measured."""
    doubts: dict[str, str] = {}
    for each in held:
        said = doubts.setdefault(each.baseline, "")
        if not each.within:
            missed = f"{each.what}: {each.ours:,.1f} {each.unit}, published {each.published}"
            doubts[each.baseline] = f"{said}; {missed}" if said else f"out of bounds of its anchor: {missed}"
    return doubts


def _without_nan(row: Mapping[str, Any]) -> dict[str, Any]:
    """JSON has none."""
    return {key: None if isinstance(each, float) and math.isnan(each) else each for key, each in row.items()}


def _with_nan(row: Mapping[str, Any]) -> dict[str, Any]:
    return {key: math.nan if each is None else each for key, each in row.items()}
