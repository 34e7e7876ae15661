"""The `soft` device: RoCEv2 UD in userspace, on raw sockets or, reduced, on UDP sockets."""

import errno
import logging
import secrets

from csaud import _core
from csaud.addresses import is_loopback, to_int
from csaud.devices.opened import Opened
from csaud.errors import ConfigError
from csaud.settings import Settings

log = logging.getLogger(__name__)

_PACKET_ROOM = 128  # bytes beyond the path MTU: headers, padding, iCRC
_FIRST_QPN = 0x100  # the low ones have meanings of their own on real devices (0 and 1: management)
_LAST_QPN = 0xFFFFFE
_CLAIM_ATTEMPTS = 64
_LARGEST_MTU = 4096


def open_device(settings: Settings, address: str, local_rank: int) -> Opened:
    """Open it at `address`, see `csaud.devices.open_device`.

    Raises:
        ConfigError: no privileges for the mode asked for, or the address is taken or not local.
    """
    raw_refused: OSError | None = None
    if settings.mode in ("auto", "raw"):
        try:
            return _open(_core.RawDevice, "raw", settings, address)
        except PermissionError as error:
            raw_refused = error
    if settings.mode == "raw":
        raise ConfigError(f"mode=raw needs CAP_NET_RAW ({raw_refused}); mode=udp does without")
    if raw_refused is not None:
        log.info("no CAP_NET_RAW: using UDP sockets (one rank an address, one source port)")
    if is_loopback(address) and not settings.address:
        # Ports do not tell queue pairs apart, so the ranks of one machine take one loopback address each.
        address = _next_address(address, local_rank)
    return _open(_core.UdpDevice, "udp", settings, address)


def _open(kind: type[_core.Device], mode: str, settings: Settings, address: str) -> Opened:
    ipv4 = to_int(address)
    qpn, claim = _claim_qpn(ipv4)
    try:
        native = kind(
            ipv4=ipv4,
            qpn=qpn,
            packet_bytes=(settings.mtu or _LARGEST_MTU) + _PACKET_ROOM,
            batch=settings.batch,
            receive_buffer=settings.rx_buffer,
        )
    except PermissionError:
        raise
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            text = (
                f"another process uses {address} for RoCE: mode=udp needs an address of its own for each rank"
            )
            raise ConfigError(f"{text} (setting address)") from None
        raise ConfigError(f"cannot open the soft device ({mode}) at {address}: {error}") from None
    return Opened(native, address, qpn, mode, claim)


def _claim_qpn(ipv4: int) -> tuple[int, _core.QpnClaim]:
    for _ in range(_CLAIM_ATTEMPTS):
        qpn = _FIRST_QPN + secrets.randbelow(_LAST_QPN - _FIRST_QPN)
        claim = _core.claim_qpn(ipv4, qpn)
        if claim is not None:
            return qpn, claim
    raise ConfigError(f"no free QP number found in {_CLAIM_ATTEMPTS} attempts")


def _next_address(address: str, offset: int) -> str:
    high, low = address.rsplit(".", 1)
    if int(low) + offset > 254:
        raise ConfigError(f"mode=udp: too many ranks for loopback addresses from {address} on")
    return f"{high}.{int(low) + offset}"
