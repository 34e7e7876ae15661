"""Action profile members and groups, and the action sets that tables make of them in one shot.

Source: P4Runtime specification 1.4, section 9.2. Groups are kept as they were written (weights, and which
of the two ways names the watch port); the native core holds their slots, one per unit of weight.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from csaud_softswitch._core import Switch
from csaud_softswitch.p4runtime.action import decode_action, encode_action
from csaud_softswitch.p4runtime.bytestring import PORT_BITS, canonical, to_int
from csaud_softswitch.p4runtime.errors import (
    Code,
    P4RuntimeError,
    core_errors,
    invalid,
    not_found,
    out_of_range,
)
from csaud_softswitch.p4runtime.p4info_specs import P4InfoIndex, ProfileSpec
from csaud_softswitch.p4runtime.proto import UpdateKind, p4r

if TYPE_CHECKING:
    from csaud_softswitch._core import ActionCall  # exist in the stub only

_ONE_SHOT_BASE = 0xF000_0000
"""Members and groups that this server makes for one-shot action sets have ids from here on; users' are
below.
"""


class ActionProfile:
    """One profile's members, groups and action sets."""

    def __init__(self, switch: Switch, index: P4InfoIndex, spec: ProfileSpec) -> None:
        self.switch = switch
        self._index = index
        self.spec = spec
        self._users_members = 0
        """Members that the controller made, not this server for an action set."""
        self._groups: dict[int, p4r.ActionProfileGroup] = {}
        self._one_shots: dict[int, p4r.ActionProfileActionSet] = {}
        self._next_one_shot = _ONE_SHOT_BASE

    # --- members

    def write_member(self, kind: UpdateKind, member: p4r.ActionProfileMember) -> None:
        member_id = self._user_id(member.member_id, "member_id")
        if kind == p4r.Update.DELETE:
            with core_errors():
                self.switch.member_delete(self.spec.name, member_id)
            self._users_members -= 1
            return
        where = f"{self.spec.name} member {member_id}"
        call = decode_action(self._index, member.action, self.spec.action_ids, where)
        if kind == p4r.Update.INSERT:
            self._check_no_action_sets(where)
            self._insert_member(member_id, call)
            self._users_members += 1
        else:
            with core_errors():
                self.switch.member_modify(self.spec.name, member_id, call)

    def _insert_member(self, member_id: int, call: ActionCall) -> None:
        with core_errors():
            self.switch.member_insert(self.spec.name, member_id, call)

    def read_members(self, member_id: int) -> Iterator[p4r.ActionProfileMember]:
        """member_id 0: all of them."""
        with core_errors():
            members = self.switch.members(self.spec.name)
        for found, (_, name, values) in members:
            if found < _ONE_SHOT_BASE and member_id in (0, found):
                action = encode_action(self._index, name, values)
                yield p4r.ActionProfileMember(action_profile_id=self.spec.id, member_id=found, action=action)

    # --- groups

    def write_group(self, kind: UpdateKind, group: p4r.ActionProfileGroup) -> None:
        if not self.spec.with_selector:
            raise invalid(f"{self.spec.name} has no selector, so it has no groups")
        group_id = self._user_id(group.group_id, "group_id")
        if kind == p4r.Update.DELETE:
            with core_errors():
                self.switch.group_delete(self.spec.name, group_id)
            del self._groups[group_id]
            return
        self._check_group(group)
        before = self._groups.get(group_id)
        if kind == p4r.Update.INSERT and before is not None:
            raise P4RuntimeError(Code.ALREADY_EXISTS, f"{self.spec.name} already has group {group_id}")
        if kind == p4r.Update.INSERT:
            self._check_no_action_sets(f"{self.spec.name} group {group_id}")
        if kind == p4r.Update.MODIFY:
            if before is None:
                raise not_found(f"{self.spec.name} has no group {group_id}")
            if group.max_size != before.max_size:
                raise invalid(
                    f"{self.spec.name} group {group_id}: max_size {group.max_size}, was {before.max_size}"
                )
        self._put_group(kind, group, before)

    def _put_group(
        self, kind: UpdateKind, group: p4r.ActionProfileGroup, before: p4r.ActionProfileGroup | None
    ) -> None:
        members = [(m.member_id, m.weight, _watch_port(self.spec, m)) for m in group.members]
        # The core limits the sum of weights; where members are what counts, that was checked here.
        limit = 0 if self.spec.sum_of_members else group.max_size or self.spec.max_group_size
        put = self.switch.group_insert if kind == p4r.Update.INSERT else self.switch.group_modify
        with core_errors():
            put(self.spec.name, group.group_id, members, limit)
        stored = p4r.ActionProfileGroup()
        stored.CopyFrom(group)
        for member in stored.members:
            if member.watch_port:
                member.watch_port = canonical(member.watch_port)
        self._groups[group.group_id] = stored

    def read_groups(self, group_id: int) -> Iterator[p4r.ActionProfileGroup]:
        """group_id 0: all of them."""
        for found, group in self._groups.items():
            if found < _ONE_SHOT_BASE and group_id in (0, found):
                yield group

    def _check_group(self, group: p4r.ActionProfileGroup) -> None:
        where = f"{self.spec.name} group {group.group_id}"
        if group.max_size < 0:
            raise invalid(f"{where}: max_size {group.max_size} is negative")
        if self.spec.max_group_size and group.max_size > self.spec.max_group_size:
            raise invalid(f"{where}: max_size {group.max_size}, at most {self.spec.max_group_size}")
        for member in group.members:
            self._check_weight(member.weight, f"{where}: member {member.member_id}")
        limit = group.max_size or self.spec.max_group_size
        if self.spec.sum_of_members and limit and len(group.members) > limit:
            raise P4RuntimeError(
                Code.RESOURCE_EXHAUSTED, f"{where}: {len(group.members)} members, at most {limit}"
            )

    def _check_weight(self, weight: int, where: str) -> None:
        if weight < 1:
            raise invalid(f"{where} has weight {weight}, expected 1 or more")
        limit = self.spec.max_member_weight
        if self.spec.sum_of_members and limit and weight > limit:
            raise invalid(f"{where} has weight {weight}, at most {limit}")

    def _check_no_action_sets(self, where: str) -> None:
        if self._one_shots:
            raise invalid(f"{where}: the profile is programmed with action sets, the two cannot be mixed")

    # --- one shot

    def add_action_set(self, actions: p4r.ActionProfileActionSet, where: str) -> int:
        """Make a group of an action set; returns its group id, which a table entry can point at."""
        if not self.spec.with_selector:
            raise invalid(f"{where}: {self.spec.name} has no selector, so it takes no action set")
        if not actions.action_profile_actions:
            raise invalid(f"{where}: an empty action set")
        if self._users_members or len(self._groups) > len(self._one_shots):
            raise invalid(
                f"{where}: {self.spec.name} is programmed with members and groups, the two cannot be mixed"
            )
        self._check_action_set_size(actions, where)
        calls = [
            decode_action(self._index, item.action, self.spec.action_ids, where)
            for item in actions.action_profile_actions
        ]
        group = p4r.ActionProfileGroup(action_profile_id=self.spec.id, group_id=self._take_one_shot())
        made: list[int] = []
        try:
            for item, call in zip(actions.action_profile_actions, calls, strict=True):
                member_id = self._take_one_shot()
                self._insert_member(member_id, call)
                made.append(member_id)
                slot = group.members.add(member_id=member_id, weight=item.weight)
                if item.WhichOneof("watch_kind") == "watch":
                    slot.watch = item.watch
                else:
                    slot.watch_port = item.watch_port
            self._check_group(group)
            self._put_group(p4r.Update.INSERT, group, None)
        except P4RuntimeError:
            for member_id in made:
                self._drop_member(member_id)
            raise
        stored = p4r.ActionProfileActionSet()
        stored.CopyFrom(actions)
        for kept, (_, _, values) in zip(stored.action_profile_actions, calls, strict=True):
            for param, value in zip(
                sorted(kept.action.params, key=lambda p: p.param_id), values, strict=True
            ):
                param.value = canonical(value)
            if kept.watch_port:
                kept.watch_port = canonical(kept.watch_port)
        self._one_shots[group.group_id] = stored
        return group.group_id

    def _check_action_set_size(self, actions: p4r.ActionProfileActionSet, where: str) -> None:
        for item in actions.action_profile_actions:
            self._check_weight(item.weight, f"{where}: an action of the set")
        weights = [item.weight for item in actions.action_profile_actions]
        size = len(weights) if self.spec.sum_of_members else sum(weights)
        if self.spec.max_group_size and size > self.spec.max_group_size:
            raise invalid(f"{where}: an action set of size {size}, at most {self.spec.max_group_size}")

    def action_set(self, group_id: int) -> p4r.ActionProfileActionSet | None:
        """The action set that a group was made of; None for a group that the user made."""
        return self._one_shots.get(group_id)

    def remove_action_set(self, group_id: int) -> None:
        """Undo add_action_set, once no table entry points at the group any more."""
        del self._one_shots[group_id]
        group = self._groups.pop(group_id)
        with core_errors():
            self.switch.group_delete(self.spec.name, group_id)
        for member in group.members:
            self._drop_member(member.member_id)

    def _drop_member(self, member_id: int) -> None:
        with core_errors():
            self.switch.member_delete(self.spec.name, member_id)

    def _take_one_shot(self) -> int:
        self._next_one_shot += 1
        return self._next_one_shot

    def user_reference(self, value: int, what: str) -> int:
        """A member or group that a table entry names; those of action sets are nobody's to name."""
        if value >= _ONE_SHOT_BASE:
            raise not_found(f"{self.spec.name} has no {what} {value}")
        return value

    def current_member(self, member: p4r.ActionProfileMember) -> list[p4r.ActionProfileMember]:
        """The member as it is, if it is there."""
        return list(self.read_members(member.member_id)) if member.member_id else []

    def current_group(self, group: p4r.ActionProfileGroup) -> list[p4r.ActionProfileGroup]:
        return list(self.read_groups(group.group_id)) if group.group_id else []

    def _user_id(self, value: int, what: str) -> int:
        if not 1 <= value < _ONE_SHOT_BASE:
            raise invalid(f"{self.spec.name}: {what} {value}, expected 1 to {_ONE_SHOT_BASE - 1:#x}")
        return value


def _watch_port(spec: ProfileSpec, member: p4r.ActionProfileGroup.Member) -> int | None:
    """The watched port's number, from either of P4Runtime's two fields for it; None when none is watched."""
    kind = member.WhichOneof("watch_kind")
    where = f"{spec.name}: watch port of member {member.member_id}"
    if kind == "watch" and member.watch != 0:
        if not 0 < member.watch < 1 << PORT_BITS:
            raise out_of_range(f"{where}: {member.watch} does not fit into {PORT_BITS} bits")
        return member.watch
    if kind == "watch_port" and member.watch_port:
        return to_int(member.watch_port, PORT_BITS, where)
    return None


class ActionProfileStore:
    """All action profiles of one pipeline."""

    def __init__(self, switch: Switch, index: P4InfoIndex) -> None:
        self._index = index
        self.profiles = {i: ActionProfile(switch, index, spec) for i, spec in index.profiles.items()}

    def write_member(self, kind: UpdateKind, member: p4r.ActionProfileMember) -> None:
        self.find(member.action_profile_id).write_member(kind, member)

    def write_group(self, kind: UpdateKind, group: p4r.ActionProfileGroup) -> None:
        self.find(group.action_profile_id).write_group(kind, group)

    def read_members(self, wanted: p4r.ActionProfileMember) -> Iterator[p4r.ActionProfileMember]:
        for profile in self._select(wanted.action_profile_id):
            yield from profile.read_members(wanted.member_id)

    def read_groups(self, wanted: p4r.ActionProfileGroup) -> Iterator[p4r.ActionProfileGroup]:
        for profile in self._select(wanted.action_profile_id):
            yield from profile.read_groups(wanted.group_id)

    def _select(self, profile_id: int) -> list[ActionProfile]:
        return list(self.profiles.values()) if profile_id == 0 else [self.find(profile_id)]

    def find(self, profile_id: int) -> ActionProfile:
        profile = self.profiles.get(profile_id)
        if profile is None:
            raise not_found(f"no action profile with id {self._index.describe(profile_id)}")
        return profile
