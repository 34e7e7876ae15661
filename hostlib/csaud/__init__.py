"""CSA-UD: collectives over unreliable datagrams, recovered by what the collective knows of itself.

import csaud

with csaud.init() as comm:      # ranks and meeting point from torchrun's or Open MPI's variables
    comm.all_reduce(gradient)   # in place, the same bits on every rank
"""

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
    from csaud.collectives.engine import Handle
    from csaud.groups.communicator import Communicator
    from csaud.groups.group import Group
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
]


def __getattr__(name: str) -> Any:
    # These need numpy and the native module; the command line and the error types do not.
    if name == "init":
        from csaud.start.init import init

        return init
    if name == "join":
        from csaud.start.init import join

        return join
    if name == "Communicator":
        from csaud.groups.communicator import Communicator

        return Communicator
    if name == "Group":
        from csaud.groups.group import Group

        return Group
    if name == "Handle":
        from csaud.collectives.engine import Handle

        return Handle
    raise AttributeError(f"module 'csaud' has no attribute {name!r}")
