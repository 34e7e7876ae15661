"""SONiC's config_db.json, one a switch (https://github.com/sonic-net/SONiC/wiki/Configuration): ports,
neighbours, cables, and packet trimming."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from csaud_controller.inventory.imports.draft import NANOSECONDS_PER_METRE, Cable, Draft, Source
from csaud_controller.inventory.ports import MAX_PORT

_READ = (
    "DEVICE_METADATA",
    "PORT",
    "DEVICE_NEIGHBOR",
    "DEVICE_NEIGHBOR_METADATA",
    "CABLE_LENGTH",
    "SWITCH_TRIMMING",
    "BREAKOUT_CFG",
)
_TRIMMING = {"size": "trim_size", "dscp_value": "trim_dscp", "queue_index": "trim_priority"}

Tables = dict[str, dict[str, dict[str, Any]]]


def read(sources: Sequence[Source], switches: Iterable[str], hosts: Iterable[str]) -> Draft:
    """The switches of some files, what they are cabled to, and a policy."""
    tables = {}
    for source in sources:
        found = _tables(source)
        localhost = found.get("DEVICE_METADATA", {}).get("localhost", {})
        name = str(localhost.get("hostname") or source.path.name.partition(".")[0])
        if name in tables:
            raise source.fail("DEVICE_METADATA.localhost.hostname", f"{name} is also that of another file")
        tables[name] = found
    draft = Draft("sonic" if len(tables) > 1 else next(iter(tables)))
    mtus: set[str] = set()
    for name, found in tables.items():
        draft.switches[name] = _switch(draft, name, found, mtus)
        draft.leave_others(found, _READ, "")
        for row in found.get("DEVICE_METADATA", {}).values():
            draft.leave_others(row, ("hostname",), "DEVICE_METADATA.*")
        _trimming(draft, name, found)
    if len(mtus) == 1:
        draft.mtu = int(mtus.pop())
    elif mtus:
        draft.leave(f"PORT.*.mtu: several ({', '.join(sorted(mtus))}), and a fabric has one")
    _neighbours(draft, tables)
    draft.override(switches, hosts)
    return draft


def _tables(source: Source) -> Tables:
    """By table and key, whether the file nests them or joins them by a |."""
    if not isinstance(source.value, Mapping):
        raise source.fail("", "expected tables such as PORT: this is no config_db.json")
    found: Tables = {}
    for key, value in source.value.items():
        table, bar, rest = str(key).partition("|")
        if bar:
            found.setdefault(table, {})[rest] = value if isinstance(value, dict) else {}
        elif isinstance(value, Mapping):
            rows = {str(k): v if isinstance(v, dict) else {} for k, v in value.items()}
            found.setdefault(table, {}).update(rows)
    if "PORT" not in found:
        raise source.fail("PORT", "missing: this is no config_db.json of a switch")
    return found


def _order(name: str) -> tuple[int, str]:
    number = re.search(r"\d+", name)
    return int(number[0]) if number else 0, name


def _switch(draft: Draft, name: str, tables: Tables, mtus: set[str]) -> dict[str, Any]:
    ports = sorted(tables["PORT"], key=_order)
    if len(ports) > MAX_PORT:
        draft.leave(f"{name}: PORT {ports[MAX_PORT]} and what follows: a switch has {MAX_PORT} ports")
        ports = ports[:MAX_PORT]
    for port in ports:
        spec = tables["PORT"][port]
        draft.leave_others(spec, ("speed", "mtu", "index", "subport"), "PORT.*")
        if spec.get("mtu"):
            mtus.add(str(spec["mtu"]))
    made: dict[str, Any] = {"interfaces": {n: port for n, port in enumerate(ports, 1)}}
    if breakouts := _breakouts(draft, tables, ports):
        made["breakouts"] = breakouts
    return made


def _breakouts(draft: Draft, tables: Tables, ports: list[str]) -> dict[str, Any]:
    """Of BREAKOUT_CFG, else of ports with one `index` and a `subport` each."""
    numbers = {port: number for number, port in enumerate(ports, 1)}
    by_index: dict[str, list[str]] = {}
    for port in ports:
        spec = tables["PORT"][port]
        if str(spec.get("subport", "0")) != "0" and spec.get("index") is not None:
            by_index.setdefault(str(spec["index"]), []).append(port)
    groups = {parts[0]: parts for parts in by_index.values() if len(parts) > 1}
    found: dict[str, Any] = {}
    for first, parts in groups.items():
        speeds = {str(tables["PORT"][part].get("speed", "")) for part in parts}
        speed = speeds.pop()
        if speeds or not speed.isdecimal():
            draft.leave(f"PORT.{first}: a breakout into ports of several speeds, or of none")
            continue
        mode = f"{len(parts)}x{int(speed) / 1000:g}G"
        found[first] = {"mode": mode, "ports": [numbers[part] for part in parts]}
    for first, spec in tables.get("BREAKOUT_CFG", {}).items():
        if first not in found and not str(spec.get("brkout_mode", "1x")).startswith("1x"):
            draft.leave(
                f"BREAKOUT_CFG.{first}.brkout_mode {spec.get('brkout_mode')}: PORT does not say its parts"
            )
    return found


def _neighbours(draft: Draft, tables: Mapping[str, Tables]) -> None:
    seen: set[frozenset[tuple[str, str]]] = set()
    gone = {
        (name, port)
        for name, found in tables.items()
        for port in found["PORT"].keys() - {*draft.switches[name]["interfaces"].values()}
    }
    for name, found in tables.items():
        metadata = found.get("DEVICE_NEIGHBOR_METADATA", {})
        lengths = {p: v for rows in found.get("CABLE_LENGTH", {}).values() for p, v in rows.items()}
        for key, row in found.get("DEVICE_NEIGHBOR", {}).items():
            # keyed by the local port, or, as older ones are, by the neighbour
            local, peer = (
                (str(row["local_port"]), key) if "local_port" in row else (key, str(row.get("name", "")))
            )
            local = local.partition("|")[0]
            if local not in found["PORT"] or not peer:
                draft.leave(f"{name}: DEVICE_NEIGHBOR.{key}: no port of PORT, or no neighbour")
                continue
            draft.leave_others(row, ("name", "port", "local_port", "type"), "DEVICE_NEIGHBOR.*")
            other = str(row.get("port") or "")
            ends = frozenset({(name, local), (peer, other)})
            if ends in seen:
                continue
            seen.add(ends)
            if ends & gone:
                draft.leave(f"{name}: DEVICE_NEIGHBOR.{key}: at a port that is left out")
                continue
            if peer not in draft.switches and peer not in draft.hosts:
                kind = str(metadata.get(peer, {}).get("type") or row.get("type") or "")
                is_switch = "router" in kind.lower()
                if is_switch:
                    draft.switches[peer] = {}
                else:
                    draft.hosts[peer] = []
                if not kind:
                    draft.assumed.append(
                        f"{peer} is a host: DEVICE_NEIGHBOR_METADATA does not have it (--switch)"
                    )
            speed = str(found["PORT"][local].get("speed", ""))
            draft.cables.append(
                Cable(
                    name,
                    local,
                    peer,
                    other,
                    int(speed) * 10**6 if speed.isdecimal() else None,
                    _delay(draft, name, local, lengths.get(local)),
                )
            )
        for rows in metadata.values():
            draft.leave_others(rows, ("type",), "DEVICE_NEIGHBOR_METADATA.*")


def _delay(draft: Draft, switch: str, port: str, length: Any) -> int | None:
    if length is None:
        return None
    found = re.fullmatch(r"(\d+)m", str(length))
    if not found:
        draft.leave(f"{switch}: CABLE_LENGTH.{port} {length}: not in metres")
        return None
    return int(found[1]) * NANOSECONDS_PER_METRE or None


def _trimming(draft: Draft, switch: str, tables: Tables) -> None:
    """SWITCH_TRIMMING|GLOBAL as keys of a policy."""
    for key, value in tables.get("SWITCH_TRIMMING", {}).get("GLOBAL", {}).items():
        at = f"SWITCH_TRIMMING|GLOBAL {key} {value}"
        name = _TRIMMING.get(key)
        if name is None or not str(value).isdecimal():
            draft.leave(f"{switch}: {at}")
        elif draft.policy.setdefault(name, int(value)) != int(value):
            draft.leave(f"{switch}: {at}: another switch has {draft.policy[name]}, and a fabric has one")
