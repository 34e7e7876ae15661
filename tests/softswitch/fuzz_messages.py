"""Requests that mean something: ids of the program, keys and values that fit, entries that are there; some of
them with one field wrong. What reaches the code behind the first checks.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from csaud_softswitch.p4runtime.bytestring import from_int
from csaud_softswitch.p4runtime.p4info_index import FieldSpec, P4InfoIndex, ProfileSpec, TableSpec
from csaud_softswitch.p4runtime.proto import p4r

KINDS = (p4r.Update.INSERT, p4r.Update.MODIFY, p4r.Update.DELETE)
KEPT = 200
"""Entities that were inserted, to be changed and deleted."""


def spoil(chance: random.Random, message: Any) -> None:
    """Another value in one field, at any depth."""
    fields: list[tuple[Any, Any]] = []

    def collect(at: Any) -> None:
        for field, value in at.ListFields():
            repeated = hasattr(value, "append") or hasattr(value, "add")
            if field.type == field.TYPE_MESSAGE:
                for item in value if repeated else [value]:
                    collect(item)
            elif not repeated:
                fields.append((at, field))

    collect(message)
    if not fields:
        return
    at, field = chance.choice(fields)
    value = getattr(at, field.name)
    if field.type == field.TYPE_BYTES:
        setattr(at, field.name, chance.choice([b"", chance.randbytes(chance.randrange(1, 7)), b"\0" + value]))
    elif field.type == field.TYPE_STRING:
        setattr(at, field.name, value + "x")
    elif field.type == field.TYPE_BOOL:
        setattr(at, field.name, not value)
    elif field.type in (field.TYPE_INT32, field.TYPE_INT64):
        setattr(at, field.name, chance.choice([0, 1, -1, value + 1, (1 << 31) - 1, -(1 << 31)]))
    elif field.type in (field.TYPE_UINT32, field.TYPE_UINT64):
        setattr(at, field.name, chance.choice([0, 1, 7, (value + 1) % (1 << 32), (1 << 32) - 1]))


class Generator:
    """Of requests to one device with the program of a P4Info."""

    def __init__(self, index: P4InfoIndex, device_id: int, chance: random.Random) -> None:
        self._index = index
        self._device_id = device_id
        self._chance = chance
        self._kept: list[p4r.Entity] = []
        self._tables = [table for table in index.tables.values() if not table.const_entries]
        # Tables are most of what a controller writes.
        self._makers: list[Callable[[], p4r.Entity]] = [
            *(self._table_entry,) * 6, self._default_entry, *(self._member,) * 2, *(self._group,) * 2,
            self._counter, self._session, self._multicast, self._digest, self._direct_counter,
        ]  # fmt: skip

    # --- requests

    def write(self) -> p4r.WriteRequest:
        request = p4r.WriteRequest(device_id=self._device_id)
        request.election_id.low = 1
        request.atomicity = self._chance.choice([0, 0, 0, 1, 2])  # type: ignore[assignment]
        request.updates.extend(self._update() for _ in range(self._chance.choice([1, 1, 1, 1, 2, 4])))
        return self._perhaps_spoiled(request)

    def read(self) -> p4r.ReadRequest:
        request = p4r.ReadRequest(device_id=self._device_id)
        for _ in range(self._chance.choice([1, 1, 2])):
            entity = self._known() if self._chance.random() < 0.3 else None
            request.entities.append(entity or self._wildcard())
        return self._perhaps_spoiled(request)

    def stream(self) -> list[p4r.StreamMessageRequest]:
        """An arbitration of a role of its own, then packets and acknowledgements that it is not primary for,
        or the other way round.
        """
        hello, packet, ack = (p4r.StreamMessageRequest() for _ in range(3))
        hello.arbitration.device_id = self._device_id
        hello.arbitration.election_id.low = self._chance.randrange(1, 9)
        hello.arbitration.role.name = self._chance.choice(["fuzz", "other"])
        packet.packet.payload = self._chance.randbytes(self._chance.randrange(100))
        for field in self._index.packet_out:
            if not field.padding:
                packet.packet.metadata.add(metadata_id=field.id, value=self._value(field.width))
        ack.digest_ack.digest_id = self._pick(self._index.digests)
        ack.digest_ack.list_id = self._chance.randrange(4)
        messages = [hello, *self._chance.sample([packet, ack], self._chance.randrange(3))]
        return [self._perhaps_spoiled(message) for message in messages]

    def _perhaps_spoiled(self, request: Any) -> Any:
        if self._chance.random() < 0.3:
            spoil(self._chance, request)
        return request

    def _update(self) -> p4r.Update:
        """An insert of something new, or a change or the end of what may be there."""
        kind = self._chance.choice(KINDS)
        entity = None if kind == p4r.Update.INSERT else self._known()
        if entity is None:
            entity = self._chance.choice(self._makers)()
            kind = p4r.Update.INSERT
        what = entity.WhichOneof("entity")
        if what in ("counter_entry", "direct_counter_entry") or entity.table_entry.is_default_action:
            kind = p4r.Update.MODIFY
        elif kind == p4r.Update.INSERT:
            if len(self._kept) >= KEPT:
                del self._kept[self._chance.randrange(KEPT)]
            self._kept.append(entity)
        elif kind == p4r.Update.MODIFY and what == "table_entry":
            self._bind(self._index.tables[entity.table_entry.table_id], entity.table_entry)
        return p4r.Update(type=kind, entity=entity)

    def _known(self) -> p4r.Entity | None:
        if not self._kept:
            return None
        return p4r.Entity.FromString(self._chance.choice(self._kept).SerializeToString())

    # --- entities

    def _pick(self, specs: dict[int, Any]) -> int:
        return self._chance.choice(list(specs)) if specs else 0

    def _value(self, width: int) -> bytes:
        """Few different ones, so that what is inserted is met again."""
        most = (1 << width) - 1
        return from_int(self._chance.choice([0, 1, 2, 3, most, self._chance.randrange(16) & most]))

    def _table_entry(self) -> p4r.Entity:
        table = self._chance.choice(self._tables)
        entry = p4r.TableEntry(table_id=table.id)
        if table.has_priority:
            entry.priority = self._chance.randrange(1, 5)
        for field in table.fields:
            if field.match_type == "exact" or self._chance.random() < 0.6:
                self._match(field, entry.match.add(field_id=field.id))
        self._bind(table, entry)
        if self._chance.random() < 0.1:
            entry.metadata = self._chance.randbytes(4)
        return p4r.Entity(table_entry=entry)

    def _match(self, field: FieldSpec, match: p4r.FieldMatch) -> None:
        """Of any kind; never all don't care, which has to be left out instead."""
        value = self._chance.getrandbits(field.width) & 0x0F or 1
        if field.match_type == "exact":
            match.exact.value = self._value(field.width)
        elif field.match_type == "optional":
            match.optional.value = self._value(field.width)
        elif field.match_type == "lpm":
            length = self._chance.randrange(1, field.width + 1)
            mask = ((1 << length) - 1) << (field.width - length)
            match.lpm.value = from_int(self._chance.getrandbits(field.width) & mask)
            match.lpm.prefix_len = length
        elif field.match_type == "ternary":
            mask = value & ((1 << field.width) - 1) or 1
            match.ternary.mask = from_int(mask)
            match.ternary.value = from_int(self._chance.getrandbits(field.width) & mask)
        else:
            match.range.low, match.range.high = from_int(0), from_int(value & ((1 << field.width) - 1) or 1)

    def _bind(self, table: TableSpec, entry: p4r.TableEntry) -> None:
        """An action of the table, or a member or group of its profile."""
        if table.profile_id:
            if self._index.profiles[table.profile_id].with_selector and self._chance.random() < 0.5:
                entry.action.action_profile_group_id = self._chance.randrange(1, 5)
            else:
                entry.action.action_profile_member_id = self._chance.randrange(1, 9)
            return
        scopes = [action for action, scope in table.actions.items() if scope != "default_only"]
        if scopes:
            entry.action.action.CopyFrom(self._action(self._chance.choice(scopes)))

    def _action(self, action_id: int) -> p4r.Action:
        action = p4r.Action(action_id=action_id)
        for param in self._index.actions[action_id].params:
            action.params.add(param_id=param.id, value=self._value(param.width))
        return action

    def _default_entry(self) -> p4r.Entity:
        tables = [table for table in self._tables if not table.const_default and not table.profile_id]
        table = self._chance.choice(tables or self._tables)
        entry = p4r.TableEntry(table_id=table.id, is_default_action=True)
        self._bind(table, entry)
        return p4r.Entity(table_entry=entry)

    def _profile(self) -> ProfileSpec:
        return self._chance.choice(list(self._index.profiles.values()))

    def _member(self) -> p4r.Entity:
        profile = self._profile()
        member = p4r.ActionProfileMember(action_profile_id=profile.id)
        member.member_id = self._chance.randrange(1, 9)
        member.action.CopyFrom(self._action(self._chance.choice(sorted(profile.action_ids))))
        return p4r.Entity(action_profile_member=member)

    def _group(self) -> p4r.Entity:
        profile = self._profile()
        group = p4r.ActionProfileGroup(action_profile_id=profile.id, group_id=self._chance.randrange(1, 5))
        for member in self._chance.sample(range(1, 9), self._chance.randrange(4)):
            added = group.members.add(member_id=member, weight=self._chance.randrange(1, 4))
            if self._chance.random() < 0.5:
                added.watch_port = from_int(self._chance.randrange(1, 6))
        return p4r.Entity(action_profile_group=group)

    def _counter(self) -> p4r.Entity:
        spec = self._index.counters[self._pick(self._index.counters)]
        entry = p4r.CounterEntry(counter_id=spec.id)
        entry.index.index = self._chance.randrange(spec.size)
        entry.data.packet_count = self._chance.getrandbits(40)
        return p4r.Entity(counter_entry=entry)

    def _direct_counter(self) -> p4r.Entity:
        entry = self._table_entry().table_entry
        entry.ClearField("action")
        entry.ClearField("metadata")
        found = p4r.DirectCounterEntry(table_entry=entry)
        found.data.packet_count = 7
        return p4r.Entity(direct_counter_entry=found)

    def _session(self) -> p4r.Entity:
        entry = p4r.CloneSessionEntry(session_id=self._chance.randrange(1, 9))
        entry.packet_length_bytes = self._chance.choice([0, 0, 60, 1500])
        for port in self._chance.sample(range(1, 6), self._chance.randrange(3)):
            entry.replicas.add(egress_port=port, instance=self._chance.randrange(3))
        return p4r.Entity(
            packet_replication_engine_entry=p4r.PacketReplicationEngineEntry(clone_session_entry=entry)
        )

    def _multicast(self) -> p4r.Entity:
        entry = p4r.MulticastGroupEntry(multicast_group_id=self._chance.randrange(1, 9))
        for port in self._chance.sample(range(1, 6), self._chance.randrange(4)):
            entry.replicas.add(egress_port=port, instance=self._chance.randrange(3))
        return p4r.Entity(
            packet_replication_engine_entry=p4r.PacketReplicationEngineEntry(multicast_group_entry=entry)
        )

    def _digest(self) -> p4r.Entity:
        entry = p4r.DigestEntry(digest_id=self._pick(self._index.digests))
        entry.config.max_list_size = self._chance.randrange(4)
        entry.config.max_timeout_ns = self._chance.randrange(3) * 1_000_000
        return p4r.Entity(digest_entry=entry)

    def _wildcard(self) -> p4r.Entity:
        entity = p4r.Entity()
        table = self._pick(self._index.tables) if self._chance.random() < 0.8 else 0
        match self._chance.randrange(8):
            case 0 | 1:
                entity.table_entry.table_id = table
            case 2:
                entity.table_entry.table_id = table
                entity.table_entry.counter_data.SetInParent()
            case 3:
                entity.counter_entry.counter_id = self._pick(self._index.counters)
                entity.counter_entry.index.index = self._chance.randrange(8)
            case 4:
                entity.action_profile_member.action_profile_id = self._chance.choice([0, self._profile().id])
            case 5:
                entity.action_profile_group.action_profile_id = self._chance.choice([0, self._profile().id])
            case 6:
                entity.packet_replication_engine_entry.clone_session_entry.SetInParent()
            case _:
                entity.direct_counter_entry.table_entry.table_id = table
        return entity
