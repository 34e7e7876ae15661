"""The `verbs` device: one UD queue pair on an RDMA device, RoCEv2 over IPv4."""

import errno
import logging

from csaud import _core
from csaud.config.settings import Settings
from csaud.devices import rdma
from csaud.devices.opened import Opened
from csaud.errors import ConfigError
from csaud.network.addresses import is_ipv6, to_int

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
            ipv4=to_int(gid.address),
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
    return Opened(native, gid.address, native.qpn, MODE, max_mtu=mtu, start=native.start)


def choose(
    found: list[rdma.RdmaDevice], settings: Settings, address: str
) -> tuple[rdma.RdmaDevice, rdma.Port, rdma.Gid]:
    """Device, port and GID: those of `address` before others, and those that the settings name before all.

    Raises:
        ConfigError: there is nothing to choose; the message says what is there.
    """
    if not found:
        raise ConfigError("device=verbs: this machine has no RDMA device; csaud doctor says what to do")
    wanted = settings.verbs_device
    if is_ipv6(address):
        raise ConfigError(
            f"device=verbs: {address}: it speaks RoCEv2 over IPv4; give an IPv4 address (MASTER_ADDR, "
            "or setting address), or use device=soft"
        )
    named = [device for device in found if wanted in ("", device.name)]
    if not named:
        names = ", ".join(device.name for device in found)
        raise ConfigError(f"verbs_device={wanted!r}: there is no such RDMA device; there are {names}")
    index = settings.verbs_gid_index
    for ipv4 in (address, "") if wanted else (address,):
        for device in named:
            for port in device.ports:
                gid = (
                    port.gid_of(ipv4)
                    if index < 0
                    else next((gid for gid in port.gids if gid.index == index and gid.usable), None)
                )
                if gid is not None and port.active:
                    return device, port, gid
    states = "; ".join(_state(device) for device in named)
    what = (
        f"GID {index}"
        if index >= 0
        else "a RoCEv2 GID of an IPv4 address"
        if wanted
        else f"address {address}"
    )
    raise ConfigError(f"device=verbs: no active port has {what} ({states})")


def _state(device: rdma.RdmaDevice) -> str:
    if device.error:
        return device.error
    return ", ".join(
        f"{device.name} port {port.number} {'active' if port.active else 'down'}, "
        f"{' '.join(gid.address for gid in port.gids if gid.usable) or 'no IPv4 GID'}"
        for port in device.ports
    )
