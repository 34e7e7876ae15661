"""Inventory + policy + faults + what is alive -> everything that a switch should hold."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from csaud_controller.faults import Faults, fault_entries
from csaud_controller.inventory import Fabric
from csaud_controller.paths import ALL_UP, LiveView, SwitchPaths, switch_paths
from csaud_controller.policy import Policy, port_entries, spray_entries
from csaud_controller.state import (
    Entry,
    Group,
    GroupMember,
    Member,
    TableState,
    UseGroup,
    call,
    entry,
    table_state,
)

PROBE_ETHER_TYPE = 0x88CC
"""LLDP: link probes that come in are sent up to the controller."""


class Intent(BaseModel):
    """What users asked for: the part of the desired state that outlives the controller."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    policy: Policy = Field(default_factory=Policy)
    faults: Faults = Field(default_factory=Faults)

    def check(self, fabric: Fabric) -> None:
        """FieldError when it names what the fabric does not have."""
        self.policy.check(fabric)
        self.faults.check(fabric)


def desired_states(fabric: Fabric, intent: Intent, live: LiveView = ALL_UP) -> dict[str, TableState]:
    """The complete tables, members and groups of every switch."""
    paths = switch_paths(fabric, live)
    return {name: _desired_state(fabric, intent, name, paths[name]) for name in fabric.switches}


def _desired_state(fabric: Fabric, intent: Intent, switch: str, paths: SwitchPaths) -> TableState:
    return table_state(
        [
            entry("punt.ether_type", {"ether_type": PROBE_ETHER_TYPE}, call("punt.to_cpu")),
            *spray_entries(intent.policy, switch),
            *port_entries(fabric, intent.policy, switch),
            *fault_entries(fabric, intent.faults, switch),
            *_path_items(fabric, switch, paths),
        ]
    )


def _path_items(fabric: Fabric, switch: str, paths: SwitchPaths) -> list[Entry | Member | Group]:
    """A member a port, whose id is the port; a group a destination. A destination without a live path has a
    route but no group, so that its packets are counted as having no path."""
    items: list[Entry | Member | Group] = [
        Member(port, call("spray.forward", port=port)) for port in fabric.peers[switch]
    ]
    for group, ports in paths.groups.items():
        if ports:
            items.append(Group(group, tuple(GroupMember(port, 1, port) for port in ports)))
            items.append(entry("spray.paths", {"group": group}, UseGroup(group)))
    for prefix, group in paths.routes.items():
        match = {"dst": (int(prefix.network_address), prefix.prefixlen)}
        items.append(entry("route.ipv4_lpm", match, call("route.set_group", group=group)))
    return items
