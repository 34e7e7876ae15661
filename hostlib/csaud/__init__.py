"""CSA-UD: collectives over unreliable datagrams, recovered by what the collective knows of itself.

import csaud

with csaud.init() as comm:      # ranks and meeting point from torchrun's or Open MPI's variables
    comm.all_reduce(gradient)   # in place, the same bits on every rank
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from csaud.errors import (
    Aborted,
    ConfigError,
    CsaudError,
    DeviceError,
    Evicted,
    MismatchError,
    NoQuorum,
    PeerUnreachable,
    ProtocolError,
    RendezvousError,
    Timeout,
)

if TYPE_CHECKING:
    from csaud.groups.communicator import Communicator
    from csaud.groups.group import Group
    from csaud.groups.handle import Handle, wait_all, wait_any
    from csaud.start.init import init, join

__all__ = [
    "Aborted",
    "Communicator",
    "ConfigError",
    "CsaudError",
    "DeviceError",
    "Evicted",
    "Group",
    "Handle",
    "MismatchError",
    "NoQuorum",
    "PeerUnreachable",
    "ProtocolError",
    "RendezvousError",
    "Timeout",
    "init",
    "join",
    "wait_all",
    "wait_any",
]


_HOMES = {
    "Communicator": "csaud.groups.communicator",
    "Group": "csaud.groups.group",
    "Handle": "csaud.groups.handle",
    "init": "csaud.start.init",
    "join": "csaud.start.init",
    "wait_all": "csaud.groups.handle",
    "wait_any": "csaud.groups.handle",
}


def __getattr__(name: str) -> Any:
    # These need numpy and the native module; the command line and the error types do not.
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'csaud' has no attribute {name!r}")
    return getattr(import_module(home), name)
