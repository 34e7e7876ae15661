"""The exercises' runtime files (sX-runtime.json), as updates of an exchange.

Their form is that of the tutorials' simple_controller.py: a match is a value, a list of one, or of a value
and its prefix length or mask; values are numbers, dotted addresses and MAC addresses.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from csaud_softswitch.p4runtime.p4info_index import P4InfoIndex

_BETWEEN = {"lpm": "/", "ternary": "&&&", "range": ".."}


def updates(path: Path, index: P4InfoIndex) -> list[dict[str, Any]]:
    """What the exercise's controller would write to a switch."""
    document = json.loads(path.read_text())
    types = {
        (table.name, field.name): field.match_type
        for table in index.tables.values()
        for field in table.fields
    }
    found = [_entry(entry, types) for entry in document.get("table_entries", [])]
    for entry in document.get("multicast_group_entries", []):
        found.append({"insert": {"multicast_group": entry["multicast_group_id"], **_replicas(entry)}})
    for entry in document.get("clone_session_entries", []):
        session = {
            "clone_session": entry["clone_session_id"],
            "packet_length_bytes": entry.get("packet_length_bytes", 0),
        }
        found.append({"insert": {**session, **_replicas(entry)}})
    return found


def destinations(path: Path) -> list[str]:
    """The IPv4 addresses that its entries look for, with one host of each prefix."""
    found = []
    for entry in json.loads(path.read_text()).get("table_entries", []):
        for value in entry.get("match", {}).values():
            if isinstance(value, list) and str(value[0]).count(".") == 3:
                network, length = value
                found.append(network if length == 32 else network.rsplit(".", 1)[0] + ".7")
    return found


def _entry(entry: dict[str, Any], types: dict[tuple[str, str], str]) -> dict[str, Any]:
    table = entry["table"]
    body: dict[str, Any] = {"table": table, "action": entry["action_name"]}
    body["params"] = {name: _value(value) for name, value in entry.get("action_params", {}).items()}
    if entry.get("default_action"):
        return {"modify": {**body, "default": True}}
    body["match"] = {
        name: _match(types[table, name], value) for name, value in (entry.get("match") or {}).items()
    }
    body["priority"] = entry.get("priority") or 0
    return {"insert": body}


def _match(kind: str, given: Any) -> Any:
    values = [_value(value) for value in (given if isinstance(given, list) else [given])]
    return values[0] if len(values) == 1 else f"{values[0]}{_BETWEEN[kind]}{values[1]}"


def _value(value: Any) -> Any:
    return "0x" + value.replace(":", "") if isinstance(value, str) and ":" in value else value


def _replicas(entry: dict[str, Any]) -> dict[str, Any]:
    replicas = [
        {"port": replica["egress_port"], "instance": replica.get("instance", 0)}
        for replica in entry["replicas"]
    ]
    return {"replicas": replicas}
