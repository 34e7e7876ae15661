"""How the ranks of a process group meet: through the store that torch gave them.

Rank 0 says there where it listens, so no port has to be agreed on, and any kind of store will do (torchrun's,
a file). Ranks that are all in one network namespace take loopback addresses of their own, unless they were
given some.
"""

import dataclasses
import ipaddress
import json
import os
import random
import socket
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from torch.distributed import DistBackendError

from csaud.config import reading
from csaud.config.launch import Launch
from csaud.errors import ConfigError
from csaud.groups.communicator import Communicator
from csaud.network import addresses
from csaud.network.host import this_host
from csaud.start.init import read_settings, start

_ANY_PORT = 0
_LOOPBACK = int(ipaddress.IPv4Address("127.0.0.0"))


def is_limited(overrides: Mapping[str, Any]) -> bool:
    """Whether the setting `timeout` is given."""
    return "timeout" in overrides or reading.variable("timeout") in os.environ


def communicator(
    store: Any, rank: int, members: Sequence[int], timeout: timedelta, overrides: Mapping[str, Any]
) -> Communicator:
    """A job; every one of its ranks calls it.

    Args:
        store: of this job alone.
        members: global rank of each rank.
        timeout: of collectives, unless the setting `timeout` was given; and for ranks to come here.
        overrides: settings by name; they win over CSAUD_* variables.

    Raises:
        DistBackendError: ranks did not come; it names them.
        CsaudError: as csaud.init.
    """
    settings = read_settings(overrides, os.environ)
    if not is_limited(overrides):
        settings = dataclasses.replace(settings, timeout=timeout.total_seconds())
    size = len(members)
    if size == 1:
        return start(Launch(0, 1, 0, 1, "127.0.0.1", _ANY_PORT, "torch"), settings)
    keys = [f"place/{other}" for other in range(size)]
    store.set(keys[rank], json.dumps({"address": settings.address, "network": _network()}))
    key = "meeting"
    if rank == 0:
        places = [json.loads(told) for told in gathered(store, keys, members, timeout)]
        alone = all(place == {"address": "", "network": places[0]["network"]} for place in places)
        base = _LOOPBACK + (random.SystemRandom().randrange(1, 1 << 16) << 8)
        master = str(ipaddress.IPv4Address(base + 1)) if alone else settings.address or _own_address()

        def announce(port: int) -> None:
            meeting = {"address": master, "port": port, "base": base if alone else 0}
            store.set(key, json.dumps(meeting))

        if alone:
            settings = dataclasses.replace(settings, address=master)
        return start(Launch(0, size, 0, 1, master, settings.store_port, "torch"), settings, announce=announce)
    meeting = json.loads(_announced(store, key, keys, members, timeout))
    if meeting["base"]:
        own = str(ipaddress.IPv4Address(meeting["base"] + 1 + rank))
        settings = dataclasses.replace(settings, address=own)
    place = Launch(rank, size, 0, 1, meeting["address"], meeting["port"], "torch")
    return start(place, settings)


def gathered(store: Any, keys: Sequence[str], members: Sequence[int], timeout: timedelta) -> list[bytes]:
    """What each rank has left under its key, once all have.

    Args:
        members: global rank of each.

    Raises:
        DistBackendError: ranks did not come; it names them.
    """
    try:
        store.wait(list(keys), timeout)
    except RuntimeError:  # each kind of store has another one
        raise _late(_missing(store, keys, members), timeout) from None
    return [store.get(key) for key in keys]


def _announced(
    store: Any, key: str, keys: Sequence[str], members: Sequence[int], timeout: timedelta
) -> bytes:
    """What rank 0 says when all have come."""
    try:
        store.wait([key], timeout)
    except RuntimeError:  # rank 0 waits for those that are missing, too
        raise _late(_missing(store, keys, members) or [members[0]], timeout) from None
    value: bytes = store.get(key)
    return value


def _missing(store: Any, keys: Sequence[str], members: Sequence[int]) -> list[int]:
    return [member for member, key in zip(members, keys, strict=True) if not store.check([key])]


def _late(missing: Sequence[int], timeout: timedelta) -> DistBackendError:
    names = ", ".join(map(str, missing))
    return DistBackendError(
        f"csaud: {'rank' if len(missing) == 1 else 'ranks'} {names} did not come within "
        f"{timeout.total_seconds():g} s (argument timeout of init_process_group or new_group)"
    )


def _network() -> str:
    """Names this network namespace among those of all machines."""
    try:
        return this_host()
    except OSError:
        return f"{socket.gethostname()} {os.getpid()}"


def _own_address() -> str:
    """This machine's address on the way to the meeting point that the launcher named, else that of its
    name."""
    for name in (os.environ.get("MASTER_ADDR"), socket.gethostname()):
        try:
            towards = addresses.resolve(name, "MASTER_ADDR") if name else ""
            with socket.socket(addresses.family_of(towards), socket.SOCK_DGRAM) as probe:
                probe.connect((towards, 9))
                own = str(probe.getsockname()[0])
        except (ConfigError, OSError):
            continue
        if not addresses.is_loopback(own):
            return own
    raise ConfigError(
        "this machine's address is not known to the others: set CSAUD_ADDRESS on every host, or MASTER_ADDR"
    )
