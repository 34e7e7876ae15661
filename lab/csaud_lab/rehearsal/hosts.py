"""Hosts of a rehearsal, of two kinds: namespaces with a root of their own, or guests with RDMA devices."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from csaud_controller.inventory import End, Fabric, interface

from csaud_lab.guests import debs, initramfs
from csaud_lab.guests.guest import Guest, Settings
from csaud_lab.guests.taps import Nic, open_tap
from csaud_lab.rehearsal.commands import ip, run, wait_until

MTU = 9216
OFFLOADS = ("rx", "tx", "sg", "tso", "gso", "gro")
_HERE = Path(__file__).parent
_MANAGEMENT_MTU, _MEMORY_MB = 1500, 1536

StartProcess = Callable[[str, list[str]], "subprocess.Popen[bytes]"]
"""Starts a process of this name, whose output goes to its log."""


@dataclass(frozen=True)
class Host:
    """One, by the name of its interface for ssh at this machine's end, and that of each cable of its NICs."""

    name: str
    address: str
    management: str
    cables: Sequence[tuple[str, End]]
    keys: Path


class Hosts(Protocol):
    """A kind of hosts."""

    def begin(self, host: Host) -> subprocess.Popen[bytes]:
        """Plug its cables and start it; sshd listens a while later. The process ends when the host does."""


class Namespaces:
    """With the soft device."""

    def __init__(self, fabric: Fabric, start: StartProcess) -> None:
        self._fabric, self._start = fabric, start

    def begin(self, host: Host) -> subprocess.Popen[bytes]:
        apart = ("unshare", "--net", "--mount", "--uts", "--pid", "--fork", "--kill-child")
        script = ("sh", str(_HERE / "host.sh"), host.name, host.address, str(host.keys))
        process = self._start(host.name, [*apart, *script])
        pid = process.pid
        here, there = Path("/proc/self/ns/net").readlink(), Path(f"/proc/{pid}/ns/net")
        wait_until(lambda: there.readlink() != here, f"{host.name} has no namespace")
        ip(f"link add {host.management} type veth peer name mgmt0 netns {pid}")
        _in(pid, "ip", "addr", "add", f"{host.address}/24", "dev", "mgmt0")
        _in(pid, "ip", "link", "set", "mgmt0", "up")
        for ours, end in host.cables:
            name, nic = interface(*end), self._fabric.hosts[end.node].all_nics[end.port]
            ip(f"link add {ours} mtu {MTU} type veth peer name {name} netns {pid}")
            _in(pid, "ip", "link", "set", name, "address", nic.mac, "mtu", "1500", "up")
            # a switch that reads a veth would see segments that were never cut
            _in(pid, "ethtool", "-K", name, *(word for each in OFFLOADS for word in (each, "off")))
        return process


class Guests:
    """With the kernel's Soft-RoCE, by qemu; slow, for their processors are emulated."""

    def __init__(self, fabric: Fabric, folder: Path, logs: Path, packages: debs.Packages) -> None:
        self._fabric, self._folder, self._logs, self._packages = fabric, folder, logs, packages
        self._boot = initramfs.build(packages)
        self._started: list[Guest] = []  # whose serial lines stay open

    def begin(self, host: Host) -> subprocess.Popen[bytes]:
        results = self._folder / "guests" / host.name
        results.mkdir(parents=True)
        management = Nic(open_tap(host.management), _mac(host.address), _MANAGEMENT_MTU)
        nics, named = [management], [f"{management.mac}@mgmt0"]
        for ours, end in host.cables:
            mac = self._fabric.hosts[end.node].all_nics[end.port].mac
            nics.append(Nic(open_tap(ours), mac, MTU))
            named.append(f"{mac}@{interface(*end)}")
        (results / "host").write_text(" ".join([host.name, host.address, *named]) + "\n")
        for file in (_HERE / "sshd.sh", host.keys / f"host_{host.name}", host.keys / "id_ed25519.pub"):
            shutil.copy(file, results)
        settings = Settings(_HERE / "guest.sh", results, memory_mb=_MEMORY_MB)
        guest = Guest(self._packages, self._boot, nics, settings)
        guest.start()
        self._started.append(guest)
        (self._logs / f"{host.name}.log").symlink_to(results / "console.log")
        return guest.process


def _mac(address: str) -> str:
    """Of an interface that only this machine sees."""
    return "06:00:" + ":".join(f"{int(part):02x}" for part in address.split("."))


def _in(pid: int, *command: str) -> None:
    run("nsenter", "--net", "--target", str(pid), "--", *command)
