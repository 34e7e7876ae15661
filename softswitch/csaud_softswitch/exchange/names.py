"""Entities by name: the readable form that vectors have, to P4Runtime's protobufs.

{"insert": {"table": "Ingress.route.ipv4_lpm", "match": {"dst": "10.0.1.0/24"},
"action": "Ingress.route.set_group", "params": {"group": 1}}}
{"modify": {"table": ..., "match": {"kind": "1&&&3"}, "priority": 10, "group": 7}}     or "member": 3
{"insert": {"profile": ..., "member": 3, "action": ..., "params": {"port": 2}}}
{"insert": {"profile": ..., "group": 7, "members": [{"member": 3, "weight": 1, "watch_port": 2}]}}
{"insert": {"clone_session": 1, "replicas": [{"port": 127, "instance": 1}]}}
{"insert": {"multicast_group": 1, "replicas": [{"port": 2, "instance": 1}]}}
{"modify": {"meter": "I.by_packet", "index": 3, "rates": [cir, cburst, pir, pburst]}}
{"modify": {"direct_meter": "I.entries", "match": {...}, "rates": [...]}}
{"insert": {"digest": "learned_t", "max_list_size": 1, "max_timeout_ns": 0, "ack_timeout_ns": 0}}
An entry may have "idle_timeout_ns", a clone session "packet_length_bytes".

Numbers are JSON numbers or "0x..." strings; an LPM field is "value/length" (an IPv4 or IPv6 address where
it is 32 or 128 bits wide), a ternary one "value&&&mask", a range "low..high". What is left out is "don't
care".
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address
from typing import Any

from csaud_softswitch.p4runtime.bytestring import from_int
from csaud_softswitch.p4runtime.p4info_index import FieldSpec, P4InfoIndex, TableSpec
from csaud_softswitch.p4runtime.proto import UpdateKind, p4r

_KINDS: dict[str, UpdateKind] = {
    "insert": p4r.Update.INSERT,
    "modify": p4r.Update.MODIFY,
    "delete": p4r.Update.DELETE,
}


class NamingError(ValueError):
    """A name that the program does not have, or a value that cannot be read."""


class Names:
    """Translates for the program of one P4Info."""

    def __init__(self, index: P4InfoIndex) -> None:
        self.index = index
        self._tables = {spec.name: spec for spec in index.tables.values()}
        self._profiles = {spec.name: spec for spec in index.profiles.values()}
        self._digests = {spec.name: spec for spec in index.digests.values()}

    def update(self, item: dict[str, Any]) -> p4r.Update:
        """One update; exactly one of the keys insert, modify, delete."""
        if len(item) != 1 or next(iter(item)) not in _KINDS:
            raise NamingError(f"expected one of insert, modify or delete, got {list(item)}")
        kind, body = next(iter(item.items()))
        return p4r.Update(type=_KINDS[kind], entity=self._entity(body))

    def _entity(self, body: dict[str, Any]) -> p4r.Entity:
        if "table" in body:
            return p4r.Entity(table_entry=self._table_entry(body))
        if "multicast_group" in body:
            return p4r.Entity(packet_replication_engine_entry=_multicast_group(body))
        if "meter" in body:
            return p4r.Entity(meter_entry=self._meter(body))
        if "direct_meter" in body:
            entry = self._table_entry({**body, "table": body["direct_meter"]})
            direct = p4r.DirectMeterEntry(table_entry=entry, config=_rates(body["rates"]))
            return p4r.Entity(direct_meter_entry=direct)
        if "digest" in body:
            return p4r.Entity(digest_entry=self._digest(body))
        if "clone_session" in body:
            return p4r.Entity(packet_replication_engine_entry=_clone_session(body))
        if "group" in body:
            return p4r.Entity(action_profile_group=self._group(body))
        if "member" in body:
            return p4r.Entity(action_profile_member=self._member(body))
        raise NamingError(f"expected a table, a group, a member, a digest or a clone session, got {body}")

    def digest_id(self, name: str) -> int:
        if name not in self._digests:
            raise NamingError(f"no digest {name!r}; there are {', '.join(self._digests)}")
        return self._digests[name].id

    def _digest(self, body: dict[str, Any]) -> p4r.DigestEntry:
        entry = p4r.DigestEntry(digest_id=self.digest_id(body["digest"]))
        for key in ("max_list_size", "max_timeout_ns", "ack_timeout_ns"):
            setattr(entry.config, key, body.get(key, 0))
        return entry

    def _meter(self, body: dict[str, Any]) -> p4r.MeterEntry:
        ids = {spec.name: spec.id for spec in self.index.meters.values()}
        if body["meter"] not in ids:
            raise NamingError(f"no meter {body['meter']!r}; there are {', '.join(ids)}")
        entry = p4r.MeterEntry(meter_id=ids[body["meter"]], config=_rates(body["rates"]))
        entry.index.index = body["index"]
        return entry

    def table(self, name: str) -> TableSpec:
        if name not in self._tables:
            raise NamingError(f"no table {name!r}; there are {', '.join(self._tables)}")
        return self._tables[name]

    def _table_entry(self, body: dict[str, Any]) -> p4r.TableEntry:
        table = self.table(body["table"])
        entry = p4r.TableEntry(table_id=table.id, priority=body.get("priority", 0))
        entry.is_default_action = body.get("default", False)
        entry.idle_timeout_ns = body.get("idle_timeout_ns", 0)
        fields = {spec.name: spec for spec in table.fields}
        for name, value in body.get("match", {}).items():
            if name not in fields:
                raise NamingError(f"{table.name} has no key {name!r}; it has {', '.join(fields)}")
            entry.match.append(_match(fields[name], value))
        if "group" in body:
            entry.action.action_profile_group_id = body["group"]
        elif "member" in body:
            entry.action.action_profile_member_id = body["member"]
        elif "action" in body:
            entry.action.action.CopyFrom(self._action(body))
        return entry

    def _action(self, body: dict[str, Any]) -> p4r.Action:
        name = body["action"]
        if name not in self.index.action_ids:
            raise NamingError(f"no action {name!r}; there are {', '.join(self.index.action_ids)}")
        spec = self.index.actions[self.index.action_ids[name]]
        params = body.get("params", {})
        if params.keys() != {param.name for param in spec.params}:
            raise NamingError(
                f"{name} has the parameters {[param.name for param in spec.params]}, got {list(params)}"
            )
        action = p4r.Action(action_id=spec.id)
        for param in spec.params:
            action.params.add(param_id=param.id, value=from_int(_number(params[param.name])))
        return action

    def _profile_id(self, body: dict[str, Any]) -> int:
        name = body.get("profile")
        if name not in self._profiles:
            raise NamingError(f"no action profile {name!r}; there are {', '.join(self._profiles)}")
        return self._profiles[name].id

    def _member(self, body: dict[str, Any]) -> p4r.ActionProfileMember:
        member = p4r.ActionProfileMember(action_profile_id=self._profile_id(body), member_id=body["member"])
        if "action" in body:
            member.action.CopyFrom(self._action(body))
        return member

    def _group(self, body: dict[str, Any]) -> p4r.ActionProfileGroup:
        group = p4r.ActionProfileGroup(action_profile_id=self._profile_id(body), group_id=body["group"])
        group.max_size = body.get("max_size", 0)
        for item in body.get("members", []):
            member = group.members.add(member_id=item["member"], weight=item.get("weight", 1))
            if "watch_port" in item:
                member.watch_port = from_int(item["watch_port"])
        return group

    def metadata(self, fields: tuple[FieldSpec, ...], values: dict[str, Any]) -> list[p4r.PacketMetadata]:
        """Controller packet metadata by name; fields that are not named are zero."""
        unknown = values.keys() - {spec.name for spec in fields}
        if unknown:
            raise NamingError(f"no metadata {sorted(unknown)}; there are {[spec.name for spec in fields]}")
        return [
            p4r.PacketMetadata(metadata_id=spec.id, value=from_int(_number(values.get(spec.name, 0))))
            for spec in fields
            if not spec.padding
        ]

    def key(self, table: TableSpec, matches: list[p4r.FieldMatch]) -> dict[str, str | int]:
        """A key as vectors have it, the inverse of what `update` reads."""
        fields = {spec.id: spec for spec in table.fields}
        return {fields[match.field_id].name: _show(fields[match.field_id], match) for match in matches}


def _clone_session(body: dict[str, Any]) -> p4r.PacketReplicationEngineEntry:
    session = p4r.CloneSessionEntry(session_id=body["clone_session"])
    session.packet_length_bytes = body.get("packet_length_bytes", 0)
    for item in body.get("replicas", []):
        session.replicas.add(egress_port=item["port"], instance=item.get("instance", 0))
    return p4r.PacketReplicationEngineEntry(clone_session_entry=session)


def _multicast_group(body: dict[str, Any]) -> p4r.PacketReplicationEngineEntry:
    group = p4r.MulticastGroupEntry(multicast_group_id=body["multicast_group"])
    for item in body.get("replicas", []):
        group.replicas.add(egress_port=item["port"], instance=item.get("instance", 0))
    return p4r.PacketReplicationEngineEntry(multicast_group_entry=group)


def _rates(rates: list[int]) -> p4r.MeterConfig:
    cir, cburst, pir, pburst = rates
    return p4r.MeterConfig(cir=cir, cburst=cburst, pir=pir, pburst=pburst)


def _number(value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str):
        try:
            if ":" in value:
                return int(IPv6Address(value))
            return int(IPv4Address(value)) if value.count(".") == 3 else int(value, 0)
        except ValueError:
            pass
    raise NamingError(f"expected a number, got {value!r}")


def _match(spec: FieldSpec, value: Any) -> p4r.FieldMatch:
    match = p4r.FieldMatch(field_id=spec.id)
    parts = {"lpm": "/", "ternary": "&&&", "range": ".."}
    if spec.match_type in parts:
        left, found, right = str(value).partition(parts[spec.match_type])
        if not found:
            raise NamingError(
                f"{spec.name}: expected value{parts[spec.match_type]}… ({spec.match_type}), got {value!r}"
            )
        first, second = _number(left), _number(right)
        if spec.match_type == "lpm":
            match.lpm.value, match.lpm.prefix_len = from_int(first), second
        elif spec.match_type == "ternary":
            match.ternary.value, match.ternary.mask = from_int(first), from_int(second)
        else:
            match.range.low, match.range.high = from_int(first), from_int(second)
    elif spec.match_type == "exact":
        match.exact.value = from_int(_number(value))
    else:
        match.optional.value = from_int(_number(value))
    return match


def _show(spec: FieldSpec, match: p4r.FieldMatch) -> str | int:
    def value(text: bytes) -> str:
        number = int.from_bytes(text, "big")
        address = {32: IPv4Address, 128: IPv6Address}.get(spec.width, int)
        return str(address(number))

    kind = match.WhichOneof("field_match_type")
    if kind == "lpm":
        return f"{value(match.lpm.value)}/{match.lpm.prefix_len}"
    if kind == "ternary":
        return f"{value(match.ternary.value)}&&&{int.from_bytes(match.ternary.mask, 'big')}"
    if kind == "range":
        return f"{value(match.range.low)}..{value(match.range.high)}"
    field = match.exact.value if kind == "exact" else match.optional.value
    return int.from_bytes(field, "big")
