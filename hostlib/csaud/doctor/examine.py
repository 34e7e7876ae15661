"""What of this machine is there for the library, what is missing, and how to mend it.

Each check looks at one thing and returns findings; the last of each kind of device is a trial of it. Nothing
is changed on the machine.
"""

import dataclasses
import os
import resource
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from csaud.config.settings import Settings
from csaud.devices import rdma, soft
from csaud.devices.interfaces import Interface, find_interfaces
from csaud.doctor import trial
from csaud.network import addresses

Level = Literal["ok", "note", "missing"]

_ROCE_PORT = 4791
_SO_RCVBUFFORCE = 33  # asm-generic/socket.h
_WHOLE_MTU = 4096 + addresses.PACKET_OVERHEAD
_SEND_SLOTS = 512  # of a verbs device, each with room for a packet


@dataclasses.dataclass(frozen=True, slots=True)
class Finding:
    """One line of the diagnosis.

    Attributes:
        kind: the device that it is about, "soft" or "verbs".
        level: "ok"; "note", it works but less well than it could; "missing", this does not work.
        what: what was looked at.
        text: what was found.
        mend: what to do about it, empty where it is ok.
    """

    kind: str
    level: Level
    what: str
    text: str
    mend: str = ""


def examine(settings: Settings) -> list[Finding]:
    """All findings, those of the soft device first."""
    return [*_soft(settings), *_verbs(settings)]


def works(findings: list[Finding]) -> bool:
    """Whether at least one device carried a job."""
    return any(finding.what == "trial" and finding.level == "ok" for finding in findings)


# --- soft


def _soft(settings: Settings) -> Iterator[Finding]:
    raw = raw_refusal()
    yield _raw(raw)
    yield _receive_buffer(settings)
    if raw:
        yield _roce_port()
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


def _roce_port() -> Finding:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind(("", _ROCE_PORT))
        except OSError as error:
            return Finding(
                "soft",
                "note",
                "UDP port 4791",
                f"somebody has it at some address ({error.strerror}): mode=udp needs it at the rank's own",
                "give each rank an address of its own (setting address), or end who has it: ss -lunp",
            )
    return Finding("soft", "ok", "UDP port 4791", "free")


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


# --- verbs


def _verbs(settings: Settings) -> Iterator[Finding]:
    try:
        devices = rdma.find_devices()
    except rdma.NoVerbs as error:
        built = "built without" in str(error)
        mend = (
            "apt install libibverbs-dev and build csaud again"
            if built
            else "apt install libibverbs1 ibverbs-providers"
        )
        yield Finding("verbs", "missing", "libibverbs", str(error), mend)
        return
    yield Finding("verbs", "ok", "libibverbs", "found")
    if not devices:
        yield _no_device()
        return
    yield _memory_lock(settings)
    for device in devices:
        yield from _device(device)


def _no_device() -> Finding:
    if not Path("/sys/class/infiniband_verbs").exists():
        return Finding(
            "verbs",
            "missing",
            "kernel",
            "no RDMA in this kernel (ib_uverbs is not loaded)",
            "modprobe ib_uverbs, and the NIC's driver; without such a NIC: modprobe rdma_rxe",
        )
    return Finding(
        "verbs",
        "missing",
        "devices",
        "the kernel has no RDMA device, or libibverbs no provider for it",
        "apt install ibverbs-providers; without an RDMA NIC: rdma link add rxe0 type rxe netdev DEV",
    )


def _memory_lock(settings: Settings) -> Finding:
    limit, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    needed = settings.rx_buffer + _SEND_SLOTS * 4224
    if limit == resource.RLIM_INFINITY or os.geteuid() == 0:
        return Finding("verbs", "ok", "memory lock", "unlimited")
    if limit >= needed:
        text = f"{limit} bytes; a rank needs {needed}, and registers what it sends from beyond that"
        return Finding("verbs", "ok", "memory lock", text)
    return Finding(
        "verbs",
        "missing",
        "memory lock",
        f"{limit} bytes, a rank needs {needed}",
        "ulimit -l unlimited (memlock in /etc/security/limits.conf), or a smaller rx_buffer",
    )


def _device(device: rdma.RdmaDevice) -> Iterator[Finding]:
    if device.error:
        yield Finding(
            "verbs",
            "missing",
            device.name,
            device.error,
            "may this user open /dev/infiniband/uverbs*? (its group, often rdma: usermod -aG rdma USER)",
        )
        return
    yield from _limits(device)
    for port in device.ports:
        yield from _port(device, port)


def _limits(device: rdma.RdmaDevice) -> Iterator[Finding]:
    limits = device.limits
    text = (
        f"{limits['max_qp']} QPs (a rank takes one), {limits['max_qp_wr']} requests a queue, "
        f"{limits['max_ah']} address handles"
    )
    if limits["max_qp_wr"] < _SEND_SLOTS or limits["max_sge"] < 2:
        yield Finding(
            "verbs", "note", device.name, f"{text}: short queues, slower", "another device (verbs_device)"
        )
    else:
        yield Finding("verbs", "ok", device.name, text)


def _port(device: rdma.RdmaDevice, port: rdma.Port) -> Iterator[Finding]:
    where = f"{device.name} port {port.number}"
    gid = port.gid_of("")
    if not port.active:
        yield Finding("verbs", "missing", where, "not active", "ip link set DEV up; is the cable in?")
        return
    if not port.ethernet:
        mend = "set the port to Ethernet where it can be (mlxconfig LINK_TYPE=ETH)"
        yield Finding("verbs", "missing", where, "InfiniBand, but packets are RoCEv2", mend)
        return
    if gid is None:
        yield Finding(
            "verbs",
            "missing",
            where,
            "no RoCEv2 GID of an IPv4 address",
            "give its interface an IPv4 address: ip address add ADDRESS/PREFIX dev DEV",
        )
        return
    text = f"GID {gid.index}, {gid.address} on {gid.interface}, path MTU {port.mtu}"
    if port.mtu < port.max_mtu:
        mend = f"ip link set {gid.interface} mtu 4200 gives {port.max_mtu}"
        yield Finding("verbs", "note", where, text, mend)
    else:
        yield Finding("verbs", "ok", where, text)
    failure = trial.try_device(
        gid.address, device="verbs", verbs_device=device.name, verbs_gid_index=gid.index
    )
    if failure:
        yield Finding("verbs", "missing", "trial", f"two ranks on {where}: {failure}", "see the lines above")
    else:
        yield Finding("verbs", "ok", "trial", f"an all-reduce of two ranks on {where}")
