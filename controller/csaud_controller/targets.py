"""What differs between the P4 targets that run the program: one small class each, registered by name."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from csaud_controller.artifacts import Artifacts
from csaud_controller.inventory import Fabric
from csaud_controller.reconcile import Item, Step
from csaud_controller.state import Group, GroupMember, TableState


class QueueLimit(NamedTuple):
    """What one port's queues are held to, per priority."""

    port: int
    packets_per_second: int
    """0: not limited."""
    depth: int
    """packets"""


class Target(Protocol):
    """A P4Runtime target."""

    name: str

    def device_config(self, artifacts: Artifacts) -> bytes:
        """The bytes of P4Runtime's p4_device_config."""
        ...

    def queue_limits(self, fabric: Fabric, switch: str) -> list[QueueLimit]:
        """Queue rates that someone has to set beside P4Runtime (empty: the target keeps its links' own
        rates)."""
        ...

    def as_read(self, item: Item) -> Item:
        """What an item that this target returned is known to be."""
        ...

    def in_steps(self, have: TableState, steps: list[Step]) -> list[Step]:
        """A plan in steps that this target carries out."""
        ...


class Soft:
    """The embedded switch: loads p4c's JSON as it is; rates and buffers belong to its ports."""

    name = "soft"

    def device_config(self, artifacts: Artifacts) -> bytes:
        return artifacts.config.read_bytes()

    def queue_limits(self, fabric: Fabric, switch: str) -> list[QueueLimit]:
        return []

    def as_read(self, item: Item) -> Item:
        return item

    def in_steps(self, have: TableState, steps: list[Step]) -> list[Step]:
        return steps


class Bmv2:
    """simple_switch_grpc. Its queues have rates in packets per second, per priority, set by its Thrift
    interface."""

    name = "bmv2"

    def device_config(self, artifacts: Artifacts) -> bytes:
        return artifacts.config.read_bytes()

    def queue_limits(self, fabric: Fabric, switch: str) -> list[QueueLimit]:
        """Packet rates are those of full-sized frames: smaller ones fare better than on a real link."""
        frame_bits = (fabric.mtu + 14) * 8
        limits = []
        for edge in fabric.edges:
            link = fabric.link_of(edge)
            rate = max(1, link.rate // frame_bits) if link.rate else 0
            limits += [QueueLimit(end.port, rate, link.buffer) for end in edge.ends if end.node == switch]
        return sorted(limits)

    def as_read(self, item: Item) -> Item:
        """It returns the last member's watch port for all of a group; a member's id is its port here."""
        if not isinstance(item, Group):
            return item
        return Group(item.id, tuple(GroupMember(m.member, m.weight, m.member) for m in item.members))

    def in_steps(self, have: TableState, steps: list[Step]) -> list[Step]:
        """It fails halfway to take a member with a watch port out of a group: that is taken off first."""
        result: list[Step] = []
        for step in steps:
            if step.verb == "modify" and (leaving := _without_watch(have, step.items)):
                result.append(Step("modify", leaving))
            result.append(step)
        return result


def _without_watch(have: TableState, wanted: tuple[Item, ...]) -> tuple[Item, ...]:
    """The groups that lose members, as they are, but for the watch ports of the members that leave."""
    groups: list[Item] = []
    for group in wanted:
        if isinstance(group, Group):
            stay = {member.member for member in group.members}
            now = have.groups[group.id].members
            if any(member.member not in stay for member in now):
                kept = (m if m.member in stay else GroupMember(m.member, m.weight) for m in now)
                groups.append(Group(group.id, tuple(kept)))
    return tuple(groups)


TARGETS: dict[str, Target] = {target.name: target for target in (Soft(), Bmv2())}


def target_named(name: str) -> Target:
    """The registered target; ValueError lists those that exist."""
    if name not in TARGETS:
        raise ValueError(f"unknown target {name!r}; expected one of {', '.join(TARGETS)}")
    return TARGETS[name]
