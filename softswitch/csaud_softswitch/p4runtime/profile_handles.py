"""Which slots an action profile's groups have, in the order in which simple_switch_grpc would have them.

BMv2 knows members by handles, the lowest free number each; a group is the set of its members' handles and
its selector picks the n-th smallest. A member of weight w has w handles, made when a group first asks for
them and freed when none does any more. So the order of slots, which decides where hash n goes, depends on
this history; it is kept here so that both targets send the same packet the same way.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, field


@dataclass
class _Member:
    handles: list[int]
    weights: Counter[int] = field(default_factory=Counter)
    """How many groups have this member with each weight."""


class MemberHandles:
    """Handles of one profile's members. Ids are P4Runtime member ids."""

    def __init__(self) -> None:
        self._members: dict[int, _Member] = {}
        self._freed: list[int] = []
        self._next = 0

    def member_ids(self) -> Set[int]:
        return self._members.keys()

    def add_member(self, member_id: int) -> None:
        self._members[member_id] = _Member([self._take()])

    def remove_member(self, member_id: int) -> None:
        """The member must be in no group."""
        for handle in self._members.pop(member_id).handles:
            heapq.heappush(self._freed, handle)

    def set_group(self, before: Iterable[tuple[int, int]], after: Sequence[tuple[int, int]]) -> list[int]:
        """A group's (member id, weight) change; returns the member id of each slot, in slot order."""
        old, new = dict(before), dict(after)
        for member_id in sorted(old.keys() | new.keys()):
            member = self._members[member_id]
            while len(member.handles) < new.get(member_id, 0):
                member.handles.append(self._take())
            if member_id in old:
                member.weights[old[member_id]] -= 1
            if member_id in new:
                member.weights[new[member_id]] += 1
        for member_id in sorted(old.keys() | new.keys()):
            member = self._members[member_id]
            needed = max((weight for weight, users in member.weights.items() if users), default=1)
            while len(member.handles) > needed:
                heapq.heappush(self._freed, member.handles.pop())
        slots = [(h, member_id) for member_id, w in new.items() for h in self._members[member_id].handles[:w]]
        return [member_id for _, member_id in sorted(slots)]

    def _take(self) -> int:
        if self._freed:
            return heapq.heappop(self._freed)
        self._next += 1
        return self._next - 1
