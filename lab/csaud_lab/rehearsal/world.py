"""Hosts, switches and cables of a rehearsal. Call in namespaces of its own (`needs.in_namespaces`)."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path

from csaud_controller.inventory import End, Fabric, interface
from csaud_runs.children import end_process
from csaud_runs.errors import RunError

from csaud_lab.guests.debs import Packages
from csaud_lab.rehearsal.commands import ip, run, wait_until
from csaud_lab.rehearsal.hosts import MTU, OFFLOADS, Guests, Host, Hosts, Namespaces
from csaud_lab.rehearsal.papers import certificates, ssh_keys
from csaud_lab.rehearsal.switches import Start, check, start

_BRIDGE = "management"
_NETWORK = "192.0.2."
_FIRST_SWITCH, _FIRST_HOST, _MOST = 11, 101, 90
_P4RUNTIME, _SSH = 9559, 22
_BOOT_S = 600.0
"""A guest on a machine with other work."""


class World:
    """The machines of one rehearsal; `folder` has the files of the lab. Hosts are guests where there are
    `packages` of theirs."""

    def __init__(self, fabric: Fabric, target: str, folder: Path, packages: Packages | None = None) -> None:
        if max(len(fabric.switches), len(fabric.hosts)) > _MOST:
            raise RunError(f"{fabric.name}: a rehearsal has room for {_MOST} switches and {_MOST} hosts")
        check(target)
        self.folder, self.logs, self._target = folder, folder / "logs", target
        self.switches = {n: f"{_NETWORK}{_FIRST_SWITCH + i}" for i, n in enumerate(fabric.switches)}
        self.hosts = {n: f"{_NETWORK}{_FIRST_HOST + i}" for i, n in enumerate(fabric.hosts)}
        self.fabric = fabric.with_addresses({n: f"{a}:{_P4RUNTIME}" for n, a in self.switches.items()})
        self._hosts: Hosts = (
            Namespaces(self.fabric, self._start)
            if packages is None
            else Guests(self.fabric, folder, self.logs, packages)
        )
        self._ended = ExitStack()
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    @contextmanager
    def running(self) -> Iterator[None]:
        """Everything is up in the body: cables plugged, hosts reached by ssh, switches without a program."""
        with self._ended:
            self.logs.mkdir(parents=True)
            certificates(self.folder / "pki")
            ssh_keys(self.folder / "ssh", self.hosts)
            if Path("/run/systemd").is_dir():  # the machine's own, which must not get units of a rehearsal
                run("mount", "-t", "tmpfs", "none", "/run/systemd")
            for setting in ("all", "default"):
                with suppress(OSError):
                    Path(f"/proc/sys/net/ipv6/conf/{setting}/disable_ipv6").write_text("1")
            ip("link set lo up")
            ip(f"link add {_BRIDGE} type bridge")
            ip(f"addr add {_NETWORK}1/24 dev {_BRIDGE}")
            ip(f"link set {_BRIDGE} up")
            self._plug()
            for started in [self._start_switch(name) for name in self.switches]:
                started.wait_ready(self._lives)
            for name, address in self.hosts.items():
                what = f"sshd of {name} does not listen; see {self.logs}"
                wait_until(partial(self._listens, address), what, _BOOT_S)
            yield

    def _start(self, name: str, command: list[str]) -> subprocess.Popen[bytes]:
        with (self.logs / f"{name}.log").open("wb") as log:
            return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def _add(self, name: str, process: subprocess.Popen[bytes]) -> None:
        self._ended.callback(end_process, process, 5.0)
        self._processes[name] = process

    def _lives(self) -> None:
        """RunError when a host or a switch has ended."""
        for name, process in self._processes.items():
            if process.poll() is not None:
                raise RunError(f"{name} has ended: {(self.logs / f'{name}.log').read_text().strip()[-500:]}")

    def _plug(self) -> None:
        """All cables, those of hosts as they are started."""
        cables: dict[str, list[tuple[str, End]]] = {name: [] for name in self.hosts}
        for edge in self.fabric.edges:
            a, b = edge.ends
            if a.node in cables:
                a, b = b, a
            if b.node in cables:
                cables[b.node].append((interface(*a), b))
            else:
                ip(f"link add {interface(*a)} mtu {MTU} type veth peer name {interface(*b)}")
                self._set_up_port(a)
                self._set_up_port(b)
        for number, (name, address) in enumerate(self.hosts.items()):
            host = Host(name, address, f"manage{number}", cables[name], self.folder / "ssh")
            self._add(name, self._hosts.begin(host))
            ip(f"link set {host.management} master {_BRIDGE} up")
            for _, end in host.cables:
                self._set_up_port(self.fabric.peers[name][end.port])

    def _set_up_port(self, end: End) -> None:
        ip(f"link set {interface(*end)} mtu {MTU} up")
        run("ethtool", "-K", interface(*end), *(word for name in OFFLOADS for word in (name, "off")))

    def _start_switch(self, name: str) -> Start:
        address = self.switches[name]
        ip(f"addr add {address}/24 dev {_BRIDGE}")
        place = f"{address}:{_P4RUNTIME}"
        made = start(self.fabric, self._target, name, place, self.folder / "pki", self.logs)
        self._add(name, self._start(name, made.command))
        return made

    def _listens(self, address: str) -> bool:
        self._lives()
        with suppress(OSError), socket.create_connection((address, _SSH), timeout=1.0):
            return True
        return False
