"""What the soft device needs, and each of its modes."""

import socket
import sys
from collections.abc import Iterator
from pathlib import Path

from csaud.config.settings import Settings
from csaud.devices import soft
from csaud.devices.interfaces import Interface, find_interfaces
from csaud.doctor import trial
from csaud.doctor.finding import Finding
from csaud.network import addresses

_PORTS = (4791, 49791)  # of RoCEv2, of LOSS
_SO_RCVBUFFORCE = 33  # asm-generic/socket.h
_WHOLE_MTU = 4096 + addresses.PACKET_OVERHEAD


def look(settings: Settings) -> Iterator[Finding]:
    """Findings about this machine's sockets and interfaces, and at the end a trial."""
    raw = raw_refusal()
    yield _raw(raw)
    yield _receive_buffer(settings)
    if raw:
        yield from map(_port, _PORTS)
    found = find_interfaces()
    yield from _interfaces(found)
    yield from _xdp(found)
    failure = trial.try_device("", device="soft")
    mode = "udp" if raw else "raw"
    if failure:
        yield Finding("soft", "missing", "trial", f"two ranks on loopback: {failure}", "see the lines above")
    else:
        yield Finding("soft", "ok", "trial", f"an all-reduce of two ranks on loopback, mode={mode}")


def raw_refusal() -> str:
    """Why raw sockets cannot be opened, or "" where they can."""
    try:
        socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW).close()
    except OSError as error:
        return error.strerror or str(error)
    return ""


def _raw(refusal: str) -> Finding:
    if not refusal:
        return Finding("soft", "ok", "CAP_NET_RAW", "raw sockets: mode=raw")
    python = Path(sys.executable).resolve()
    return Finding(
        "soft",
        "note",
        "CAP_NET_RAW",
        f"no raw sockets ({refusal}): mode=udp, one rank an address, one flow for ECMP fabrics",
        f"run as root, or once: setcap cap_net_raw+ep {python}",
    )


def _receive_buffer(settings: Settings) -> Finding:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, settings.rx_buffer)
            return Finding("soft", "ok", "receive buffer", f"{settings.rx_buffer} bytes, as set (rx_buffer)")
        except PermissionError:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, settings.rx_buffer)
            # The kernel doubles what it grants, for its own use.
            granted = probe.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) // 2
    if granted >= settings.rx_buffer:
        return Finding("soft", "ok", "receive buffer", f"{granted} bytes, as set (rx_buffer)")
    return Finding(
        "soft",
        "note",
        "receive buffer",
        f"{granted} of {settings.rx_buffer} bytes (rx_buffer): bursts may be lost",
        f"sysctl -w net.core.rmem_max={settings.rx_buffer}",
    )


def _port(port: int) -> Finding:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind(("", port))
        except OSError as error:
            return Finding(
                "soft",
                "note",
                f"UDP port {port}",
                f"somebody has it at some address ({error.strerror}): mode=udp needs it at the rank's own",
                "give each rank an address of its own (setting address), or end who has it: ss -lunp; that "
                "the kernel gives it to nobody: sysctl -w net.ipv4.ip_local_reserved_ports=4791,49791",
            )
    return Finding("soft", "ok", f"UDP port {port}", "free")


def _interfaces(found: list[Interface]) -> Iterator[Finding]:
    usable = [interface for interface in found if interface.up and not interface.loopback]
    if not usable:
        yield Finding(
            "soft",
            "note",
            "interfaces",
            "none is up with an IPv4 address but loopback: jobs on this machine only",
            "ip link set DEV up; ip address add ADDRESS/PREFIX dev DEV",
        )
    for interface in usable:
        text = f"{interface.name}, {interface.address}, MTU {interface.mtu}"
        if interface.mtu >= _WHOLE_MTU:
            yield Finding("soft", "ok", "interface", f"{text}: path MTU 4096")
        elif interface.mtu < 256 + addresses.PACKET_OVERHEAD:
            yield Finding(
                "soft",
                "missing",
                "interface",
                f"{text}: too small for any packet",
                f"ip link set {interface.name} mtu {_WHOLE_MTU}",
            )
        else:
            path = addresses.largest_path_mtu(interface.mtu)
            yield Finding(
                "soft",
                "note",
                "interface",
                f"{text}: path MTU {path}, so more packets than with 4096",
                f"where the switches allow it: ip link set {interface.name} mtu 4200",
            )


def _xdp(found: list[Interface]) -> Iterator[Finding]:
    """Whether the form without sockets could be used at each interface of a network."""
    for interface in found:
        if not interface.up or interface.loopback:
            continue
        refusal = soft.xdp_refusal(interface.address)
        what = f"AF_XDP at {interface.name}"
        if refusal:
            mend = "mode=raw or mode=udp; for mode=xdp: root, Linux 6.6 or newer with CONFIG_XDP_SOCKETS"
            yield Finding("soft", "note", what, refusal, mend)
        else:
            yield Finding("soft", "ok", what, "mode=xdp can be used")
