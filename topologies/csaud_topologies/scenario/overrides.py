"""Keys of a file that `--set` names: dotted, with a value as YAML."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import yaml

from csaud_topologies.base.usage import UsageError


def value_of(text: str) -> Any:
    """What the text is as YAML; itself where it is none."""
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        return text


def assign(
    values: dict[str, Any], known: dict[str, Any], key: str, new: Any, free: Collection[str] = ()
) -> None:
    """Set a dotted key in `values`; `known` is the same with every default, to tell which keys there are;
    `free`: mappings that take keys which they do not have yet.

    RunError where there is no such key.
    """
    parent, _, name = key.partition(".")
    if parent in free and name:
        values[parent] = {**values.get(parent, {}), name: new}
        return
    at: Any = values
    there: Any = known
    *parents, last = key.split(".")
    for part in (*parents, last):
        if isinstance(there, list):
            if not part.isdigit() or int(part) >= len(there):
                raise UsageError(f"{key}: expected an index from 0 to {len(there) - 1}, got {part!r}")
            index: Any = int(part)
        elif isinstance(there, dict) and part in there:
            index = part
        else:
            names = f"; expected one of {', '.join(there)}" if isinstance(there, dict) else ""
            raise UsageError(f"{key}: the scenario has no {part!r} there{names}")
        there = there[index]
        if part is last:
            at[index] = new
        elif isinstance(at, dict):
            at = at.setdefault(index, [] if isinstance(there, list) else {})
        else:
            at = at[index]
