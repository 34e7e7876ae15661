"""The `verbs` device: one UD queue pair on an RDMA device, RoCEv2 over IPv4 or IPv6."""

import errno
import logging

from csaud import _core
from csaud.config.settings import Settings
from csaud.devices import rdma
from csaud.devices.opened import Opened
from csaud.errors import ConfigError
from csaud.network.addresses import is_ipv6

log = logging.getLogger(__name__)

MODE = "verbs"


def open_device(settings: Settings, address: str) -> Opened:
    """Open the device that has `address`, or the one that the settings name; see `csaud.devices.open_device`.

    Raises:
        ConfigError: there is none, or it cannot be used.
    """
    try:
        found = rdma.find_devices()
    except rdma.NoVerbs as error:
        raise ConfigError(f"device=verbs: {error}; csaud doctor says what to do") from None
    device, port, gid = choose(found, settings, address)
    mtu = settings.mtu or port.mtu
    if mtu > port.mtu:
        raise ConfigError(f"mtu={mtu}: {device.name} has a path MTU of {port.mtu} bytes")
    try:
        native = _core.VerbsDevice(
            device=device.name,
            port=port.number,
            gid_index=gid.index,
            gid=gid.packed,
            path_mtu=mtu,
            batch=settings.batch,
            receive_buffer=settings.rx_buffer,
        )
    except (OSError, RuntimeError) as error:
        hint = "; ulimit -l unlimited" if getattr(error, "errno", 0) == errno.ENOMEM else ""
        raise ConfigError(f"cannot open RDMA device {device.name}: {error}{hint}") from None
    if not native.has_loss_port:
        log.warning(
            "without CAP_NET_RAW one process an address gets the packets that switches cut; at %s it is "
            "another one, and this rank finds its losses in other ways",
            gid.address,
        )
    set_names = native.set_names if is_ipv6(gid.address) else None
    return Opened(native, gid.address, native.qpn, MODE, max_mtu=mtu, start=native.start, set_names=set_names)


def choose(
    found: list[rdma.RdmaDevice], settings: Settings, address: str
) -> tuple[rdma.RdmaDevice, rdma.Port, rdma.Gid]:
    """Device, port and GID: those of `address` before others, and those that the settings name before all.
    The GID is of the address's family, as those of the other ranks.

    Raises:
        ConfigError: there is nothing to choose; the message says what is there.
    """
    if not found:
        raise ConfigError("device=verbs: this machine has no RDMA device; csaud doctor says what to do")
    wanted = settings.verbs_device
    named = [device for device in found if wanted in ("", device.name)]
    if not named:
        names = ", ".join(device.name for device in found)
        raise ConfigError(f"verbs_device={wanted!r}: there is no such RDMA device; there are {names}")
    index = settings.verbs_gid_index
    of_family = [
        (device, port, gid)
        for device in named
        for port in device.ports
        for gid in port.usable_gids
        if port.active and is_ipv6(gid.address) == is_ipv6(address) and index in (-1, gid.index)
    ]
    by_name = bool(wanted) or index >= 0
    fitting = [one for one in of_family if one[2].address == address] or (of_family if by_name else [])
    if fitting:
        return fitting[0]
    states = "; ".join(_state(device) for device in named)
    what = (
        f"a RoCEv2 GID of an {'IPv6' if is_ipv6(address) else 'IPv4'} address"
        if by_name
        else f"address {address}"
    )
    at = f" at index {index}" if index >= 0 else ""
    raise ConfigError(f"device=verbs: no active port has {what}{at} ({states})")


def _state(device: rdma.RdmaDevice) -> str:
    if device.error:
        return device.error
    return ", ".join(
        f"{device.name} port {port.number} {'active' if port.active else 'down'}, "
        f"{' '.join(gid.address for gid in port.usable_gids) or 'no RoCEv2 GID'}"
        for port in device.ports
    )
