"""What differs between the P4 targets that run the program: one small class each, registered by name."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from csaud_controller.artifacts import Artifacts
from csaud_controller.inventory import Fabric
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

    def adapt(self, state: TableState) -> TableState:
        """The desired state as this target can hold it."""
        ...


class Soft:
    """The embedded switch: loads p4c's JSON as it is; rates and buffers belong to its ports."""

    name = "soft"

    def device_config(self, artifacts: Artifacts) -> bytes:
        return artifacts.config.read_bytes()

    def queue_limits(self, fabric: Fabric, switch: str) -> list[QueueLimit]:
        return []

    def adapt(self, state: TableState) -> TableState:
        return state


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

    def adapt(self, state: TableState) -> TableState:
        """Without watch ports: probes find a dead link instead.

        Seen with BMv2 1.15.5: a group whose last watched port goes down makes it divide by zero at the next
        packet; a watched member cannot leave a group without an error; and all members of a group are
        returned with the watch port of the last.
        """
        groups = {
            group.id: Group(group.id, tuple(GroupMember(m.member, m.weight) for m in group.members))
            for group in state.groups.values()
        }
        return TableState(state.entries, state.members, groups)


TARGETS: dict[str, Target] = {target.name: target for target in (Soft(), Bmv2())}


def target_named(name: str) -> Target:
    """The registered target; ValueError lists those that exist."""
    if name not in TARGETS:
        raise ValueError(f"unknown target {name!r}; expected one of {', '.join(TARGETS)}")
    return TARGETS[name]
