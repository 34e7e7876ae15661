"""What the verbs device needs: library, kernel, limits, and each RDMA device with its ports."""

import os
import resource
from collections.abc import Iterator
from pathlib import Path

from csaud.config.settings import Settings
from csaud.devices import rdma
from csaud.doctor import trial
from csaud.doctor.finding import Finding

_SEND_SLOTS = 512  # of a verbs device, each with room for a packet


def look(settings: Settings) -> Iterator[Finding]:
    """Findings about RDMA on this machine, with a trial of each port."""
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
    if not port.active:
        yield Finding("verbs", "missing", where, "not active", "ip link set DEV up; is the cable in?")
        return
    if not port.ethernet:
        mend = "set the port to Ethernet where it can be (mlxconfig LINK_TYPE=ETH)"
        yield Finding("verbs", "missing", where, "InfiniBand, but packets are RoCEv2", mend)
        return
    if not port.usable_gids:
        yield Finding(
            "verbs",
            "missing",
            where,
            "no RoCEv2 GID of an IPv4 or a routed IPv6 address",
            "give its interface an address, IPv4 or IPv6: ip address add ADDRESS/PREFIX dev DEV",
        )
        return
    gid = port.usable_gids[0]
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
