"""The fabric as it is wired: read from a file, from the run directory, or built by name."""

from csaud_controller.inventory.builders import fat_tree, leaf_spine
from csaud_controller.inventory.load import load_fabric
from csaud_controller.inventory.model import Fabric
from csaud_controller.inventory.ports import CPU_PORT, MAX_PORT, RECIRCULATION_PORT, End, interface
from csaud_controller.inventory.specs import (
    ClientTls,
    Edge,
    HostSpec,
    LinkDefaults,
    Nic,
    Role,
    ServerTls,
    SwitchSpec,
)

__all__ = [
    "CPU_PORT",
    "MAX_PORT",
    "RECIRCULATION_PORT",
    "ClientTls",
    "Edge",
    "End",
    "Fabric",
    "HostSpec",
    "LinkDefaults",
    "Nic",
    "Role",
    "ServerTls",
    "SwitchSpec",
    "fat_tree",
    "interface",
    "leaf_spine",
    "load_fabric",
]
