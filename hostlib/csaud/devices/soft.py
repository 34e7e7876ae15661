"""The `soft` device: RoCEv2 UD in userspace, on raw sockets; reduced, on UDP sockets; or on rings shared with
the kernel (AF_XDP and BPF).
"""

import dataclasses
import errno
import ipaddress
import logging
import secrets

from csaud import _core
from csaud.config.settings import Settings
from csaud.devices.opened import Opened
from csaud.errors import ConfigError
from csaud.network.addresses import is_ipv6, is_loopback, to_int

log = logging.getLogger(__name__)

_PACKET_ROOM = 128  # bytes beyond the path MTU: headers, padding, iCRC
_FIRST_QPN = 0x100  # the low ones have meanings of their own on real devices (0 and 1: management)
_LAST_QPN = 0xFFFFFE
_ATTEMPTS = 64
_TRIAL_BUFFER = 65_536  # bytes, of a device that is closed at once
_LARGEST_MTU = 4096
# What fits a chunk of an AF_XDP socket, 4,096 bytes with the Ethernet header, and whose payload is a multiple
# of 64. A longer packet goes in two chunks, which the kernel puts together in memory allocated for that.
_XDP_MTU = 4000


def open_device(settings: Settings, address: str) -> Opened:
    """Open it at `address`, see `csaud.devices.open_device`.

    Raises:
        ConfigError: no privileges for the mode asked for, or the address is taken or not local.
    """
    opened = _open(settings, address)
    if settings.segmentation == "auto" and settings.mode in ("auto", "udp") and not _has_trains(opened):
        opened = _with_trains(opened, settings)
    shares = settings.shared_memory == "on" or (settings.shared_memory == "auto" and settings.mode == "auto")
    return _with_memory(opened, settings) if shares else opened


def _open(settings: Settings, address: str) -> Opened:
    if settings.mode == "xdp":
        return open_xdp(settings, address)
    if is_ipv6(address) and settings.segmentation == "on":
        raise ConfigError(f"segmentation=on needs IPv4 addresses; this rank is at {address}")
    if (
        settings.mode == "auto"
        and not is_ipv6(address)
        and is_loopback(address)
        and settings.segmentation != "off"
    ):
        # No switch is between the ranks, so the kernel may move trains of packets, which halves the time.
        try:
            return _open_udp(settings, address)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise _explained(error, "udp", address) from None
            log.info("another process uses %s for RoCE: no UDP sockets there", address)
    raw_refused: OSError | None = None
    if settings.mode in ("auto", "raw"):
        try:
            return _open_form("raw", settings, address)
        except PermissionError as error:
            raw_refused = error
        except OSError as error:
            raise _explained(error, "raw", address) from None
    if settings.mode == "raw":
        raise ConfigError(f"mode=raw needs CAP_NET_RAW ({raw_refused}); mode=udp does without")
    if raw_refused is not None:
        log.info("no CAP_NET_RAW: using UDP sockets (one rank an address, one source port)")
    try:
        return _open_udp(settings, address)
    except OSError as error:
        raise _explained(error, "udp", address) from None


def _has_trains(opened: Opened) -> bool:
    """Whether all its packets go in trains, or none can: IPv6's sockets have none."""
    return is_ipv6(opened.address) or (opened.mode == "udp" and is_loopback(opened.address))


def _with_trains(opened: Opened, settings: Settings) -> Opened:
    """The same with trains to ranks that are found on its own link."""
    try:
        native = _core.OnLinkDevice(
            opened.native,
            to_int(opened.address),
            packet_bytes=(settings.mtu or _LARGEST_MTU) + _PACKET_ROOM,
            batch=settings.batch,
            receive_buffer=settings.rx_buffer,
        )
    except OSError as error:
        log.info("no trains of packets at %s: %s", opened.address, error)
        return opened
    return dataclasses.replace(opened, native=native, trains=native.port, link=native.link)


def _with_memory(opened: Opened, settings: Settings) -> Opened:
    """The same with rings to ranks of this host, of which a receive buffer's bytes are shared out."""
    assert opened.claim is not None  # as each form of this device has one
    shared = _core.SharedDevice(
        opened.native, opened.claim, ring_bytes=settings.rx_buffer, batch=settings.batch
    )

    def share(
        own: tuple[int, int], ranks: list[tuple[int, int, int, str]], all: bool, path_mtu: int, window: int
    ) -> None:
        # What the window lets come, and as much again of reports, repairs and what lies there meanwhile.
        shared.share(own, ranks, all, path_mtu + _PACKET_ROOM, 2 * window + settings.batch)

    return dataclasses.replace(opened, native=shared, share=share)


def _open_udp(settings: Settings, address: str) -> Opened:
    """On UDP sockets; OSError where that cannot be.

    Ports do not tell queue pairs apart, so on loopback each rank takes an address of its own, at which ranks
    of other jobs do not meet it either.
    """
    if not is_loopback(address) or settings.address or is_ipv6(address):
        return _open_form("udp", settings, address)
    taken: OSError | None = None
    for _ in range(_ATTEMPTS):
        try:
            return _open_form("udp", settings, _random_loopback())
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            taken = error
    raise ConfigError(f"no free loopback address found in {_ATTEMPTS} attempts, the last: {_taken(taken)}")


def open_xdp(settings: Settings, address: str) -> Opened:
    """Open its form without sockets at `address`.

    Raises:
        ConfigError: the message names what the process, the kernel or the interface lacks.
    """
    if is_ipv6(address):
        raise ConfigError(f"mode=xdp is for IPv4; at {address} there are mode=raw and mode=udp")
    try:
        return _open_form("xdp", settings, address)
    except OSError as error:
        raise ConfigError(_why_not_xdp(error, address)) from None


def xdp_refusal(address: str) -> str:
    """Why mode=xdp cannot be used at `address` now, or "" where it can: it is opened and closed."""
    try:
        open_xdp(Settings(rx_buffer=_TRIAL_BUFFER), address)
    except ConfigError as error:
        return str(error)
    return ""


def _why_not_xdp(error: OSError, address: str) -> str:
    if isinstance(error, PermissionError):
        return (
            f"mode=xdp needs root, or CAP_NET_RAW, CAP_NET_ADMIN and CAP_BPF ({error}); mode=udp does without"
        )
    if error.errno == errno.EBUSY:
        return (
            "mode=xdp has room for one rank at each queue of an interface, and those of the one that has "
            f"{address} are taken (ethtool -L DEV combined N where it can have more); mode=raw has room for "
            "any number"
        )
    if is_loopback(address):
        return (
            f"mode=xdp needs an Ethernet interface, and {address} is loopback's: give another address of "
            "this host (setting address)"
        )
    if error.errno == errno.EAFNOSUPPORT:
        return f"mode=xdp needs a kernel with AF_XDP (CONFIG_XDP_SOCKETS): {error}"
    return f"cannot open the soft device (xdp) at {address}: {error}"


def _receive_buffer(mode: str, settings: Settings) -> int:
    """Bytes; an eighth for the ring of mode=xdp, where packets lie as they are: it should fit the caches."""
    return settings.rx_buffer // 8 if mode == "xdp" else settings.rx_buffer


def _open_form(mode: str, settings: Settings, address: str) -> Opened:
    """Raw, udp or xdp; OSError where that cannot be."""
    qpn, claim = _claim_qpn(address)
    sizes = {
        "packet_bytes": (settings.mtu or _LARGEST_MTU) + _PACKET_ROOM,
        "batch": settings.batch,
        "receive_buffer": _receive_buffer(mode, settings),
    }
    if is_ipv6(address):
        ip6 = _core.Ip6Device(mode == "raw", ipaddress.IPv6Address(address).packed, qpn, **sizes)
        return Opened(ip6, address, qpn, mode, claim, _LARGEST_MTU, set_names=ip6.set_names)
    if mode == "udp":
        # A switch must see packets as they are; on the loopback interface there is none.
        trains = settings.segmentation == "on" or (settings.segmentation == "auto" and is_loopback(address))
        udp = _core.UdpDevice(to_int(address), qpn, segmentation=trains, **sizes)
        return Opened(udp, address, qpn, mode, claim, set_segmentation=udp.set_segmentation)
    kind = _core.XdpDevice if mode == "xdp" else _core.RawDevice
    native = kind(to_int(address), qpn, **sizes)
    return Opened(native, address, qpn, mode, claim, _XDP_MTU if mode == "xdp" else _LARGEST_MTU)


def _explained(error: OSError, mode: str, address: str) -> ConfigError:
    if error.errno == errno.EADDRINUSE:
        return ConfigError(
            f"another process uses {address} for RoCE ({_taken(error)}): mode=udp needs an address of its "
            "own for each rank (setting address)"
        )
    return ConfigError(f"cannot open the soft device ({mode}) at {address}: {error}")


def _taken(error: OSError | None) -> str:
    """Which port is; that of LOSS is of the kernel's ephemeral ones, so anybody may have been given it."""
    why = str(error.strerror) if error is not None else ""
    if "port 49791" not in why:
        return why
    return f"{why}; to keep it: sysctl -w net.ipv4.ip_local_reserved_ports=4791,49791"


def _random_loopback() -> str:
    return f"127.{1 + secrets.randbelow(254)}.{secrets.randbelow(256)}.{1 + secrets.randbelow(254)}"


def _claim_qpn(address: str) -> tuple[int, _core.QpnClaim]:
    for _ in range(_ATTEMPTS):
        qpn = _FIRST_QPN + secrets.randbelow(_LAST_QPN - _FIRST_QPN)
        claim = _core.claim_qpn(address, qpn)
        if claim is not None:
            return qpn, claim
    raise ConfigError(f"no free QP number found in {_ATTEMPTS} attempts")
