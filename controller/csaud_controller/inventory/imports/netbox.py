"""Cables of NetBox: its CSV, and /api/dcim/cables/ (https://netboxlabs.com/docs/netbox/)."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from csaud_controller.base.yamlfile import ConfigError
from csaud_controller.inventory.imports.draft import NANOSECONDS_PER_METRE, Cable, Draft, Source

_METRES = {"km": 1000.0, "m": 1.0, "cm": 0.01, "mi": 1609.344, "ft": 0.3048, "in": 0.0254}
_CONNECTED = ("", "connected")
_INTERFACES = ("interface", "dcim.interface")
_COLUMNS = ("side_a_device", "side_a_type", "side_a_name", "side_b_device", "side_b_type", "side_b_name")


def read(sources: Sequence[Source], switches: Iterable[str], hosts: Iterable[str]) -> Draft:
    """Devices and cables between their interfaces; other cables are left out."""
    draft = Draft(sources[0].path.name.partition(".")[0])
    for source in sources:
        if isinstance(source.value, str):
            _csv(draft, source)
        else:
            _rest(draft, source)
    draft.sort(dict.fromkeys(n for w in draft.cables for n in (w.a, w.b)), switches, hosts)
    return draft


def _csv(draft: Draft, source: Source) -> None:
    rows = csv.DictReader(io.StringIO(source.value))
    missing = [column for column in _COLUMNS if column not in (rows.fieldnames or ())]
    if missing:
        raise source.fail("", f"no column {', '.join(missing)}: these are no cables of NetBox")
    for row in rows:
        if missing := [column for column in _COLUMNS if row[column] is None]:  # the file was cut
            raise ConfigError(str(source.path), rows.line_num, ", ".join(missing), "missing")
        ends = [(row[f"side_{s}_device"], row[f"side_{s}_type"], row[f"side_{s}_name"]) for s in "ab"]
        told = " - ".join(f"{device}:{name}" for device, _, name in ends)
        others = {
            k: v for k, v in row.items() if v and k not in (*_COLUMNS, "status", "length", "length_unit")
        }
        draft.leave_others(others, (), "columns")
        if other := next((kind for _, kind, _ in ends if kind not in _INTERFACES), None):
            draft.leave(f"line {rows.line_num}: {told}: of a {other}, no interface")
        elif not all(name for end in ends for name in end):
            draft.leave(f"line {rows.line_num}: {told}: the name of a device or interface is missing")
        else:
            _cable(draft, ends, told, row.get("status"), row.get("length"), row.get("length_unit"))


def _rest(draft: Draft, source: Source) -> None:
    top = source.value
    cables = top.get("results") if isinstance(top, Mapping) else top
    if not isinstance(cables, list):
        raise source.fail("results", "missing: this is no answer of /api/dcim/cables/")
    if isinstance(top, Mapping) and top.get("next"):
        raise source.fail("next", "the answer goes on: ask for all cables at once (?limit=0)")
    known = ("a_terminations", "b_terminations", "status", "length", "length_unit", "id", "url", "display")
    for index, cable in enumerate(cables):
        if not _is_cable(cable):
            at = f"results[{index}]" if isinstance(top, Mapping) else f"[{index}]"
            raise source.fail(at, "expected a cable, as /api/dcim/cables/ has them")
        draft.leave_others({k: v for k, v in cable.items() if v}, known, "cables[*]")
        sides = [cable.get(f"{side}_terminations") or [] for side in "ab"]
        told = f"cable {cable.get('id')}"
        if any(len(side) != 1 for side in sides):
            draft.leave(f"{told}: not of two ends")
            continue
        ends = []
        for (end,) in sides:
            item = end.get("object") or {}
            device = item.get("device") or {}
            ends.append((device.get("name"), end.get("object_type"), item.get("name")))
        if other := next((kind for _, kind, _ in ends if kind not in _INTERFACES), None):
            draft.leave(f"{told}: of a {other}, no interface")
        elif not all(name for end in ends for name in end):
            draft.leave(f"{told}: the name of a device or interface is missing")
        else:
            _cable(
                draft,
                ends,
                told,
                _value(cable.get("status")),
                cable.get("length"),
                _value(cable.get("length_unit")),
            )


def _is_cable(cable: Any) -> bool:
    if not isinstance(cable, Mapping):
        return False
    sides = [cable.get(f"{side}_terminations") or [] for side in "ab"]
    return all(isinstance(side, list) and all(map(_is_end, side)) for side in sides)


def _is_end(end: Any) -> bool:
    item = end.get("object") or {} if isinstance(end, Mapping) else None
    return isinstance(item, Mapping) and isinstance(item.get("device") or {}, Mapping)


def _value(choice: Any) -> Any:
    return choice.get("value") if isinstance(choice, Mapping) else choice


def _cable(
    draft: Draft, ends: Sequence[tuple[Any, Any, Any]], told: str, status: Any, length: Any, unit: Any
) -> None:
    if (status or "") not in _CONNECTED:
        draft.leave(f"{told}: {status}")
        return
    (a, _, a_name), (b, _, b_name) = ends
    delay = None
    if length:
        if unit in _METRES:
            delay = round(float(length) * _METRES[unit] * NANOSECONDS_PER_METRE)
        else:
            draft.leave(f"{told}: a length of {length} {unit}")
    draft.cables.append(Cable(_word(a), _word(a_name), _word(b), _word(b_name), None, delay))


def _word(text: Any) -> str:
    """NetBox's names may have blanks."""
    return "-".join(str(text).split())
