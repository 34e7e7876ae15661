"""What a P4Runtime target has to say of itself so that the controller can program it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from csaud_controller.inventory import Fabric
from csaud_controller.policy.model import Policy
from csaud_controller.program.artifacts import Artifacts, find_artifacts
from csaud_controller.program.entities import Group, GroupMember, TableState


class QueueLimit(NamedTuple):
    """What one port's queues are held to, per priority."""

    port: int
    packets_per_second: int
    """0: not limited."""
    depth: int
    """packets"""


class Target:
    """A target that takes the program and the desired state as they are; others override what differs."""

    name: str
    program: str = "csaud"
    """Name of the compiled program's files."""
    forgets_clones: bool = False
    """A new program makes its P4Runtime server forget the clone sessions, but not the switch behind it."""

    def find_program(self, directory: Path | None = None) -> Artifacts:
        """The compiled program in `directory`, else the one that comes with this package. ArtifactsError says
        where it was looked for."""
        return find_artifacts(directory, self.program)

    def device_config(self, artifacts: Artifacts) -> bytes:
        """The bytes of P4Runtime's p4_device_config."""
        return artifacts.config.read_bytes()

    def queue_limits(self, fabric: Fabric, switch: str) -> list[QueueLimit]:
        """Queue rates and depths that someone has to set beside P4Runtime (empty: the target keeps its links'
        own)."""
        return []

    def check(self, policy: Policy) -> None:
        """FieldError when the policy asks for what the target does not have."""

    def adapt(self, state: TableState, fabric: Fabric) -> TableState:
        """The desired state as this target can hold it."""
        return state

    def alarm(self, digest: Mapping[str, Any]) -> Mapping[str, Any]:
        """The digest of an alarm with v1model's fields."""
        return digest


def unwatched(group: Group) -> Group:
    """A group for targets that do not take watch ports: probes find a dead link instead."""
    return replace(group, members=tuple(GroupMember(m.member, m.weight) for m in group.members))
