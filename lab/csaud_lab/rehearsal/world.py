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

from csaud_lab.rehearsal.commands import ip, run, wait_until
from csaud_lab.rehearsal.papers import certificates, ssh_keys
from csaud_lab.rehearsal.switches import Start, start

_HOST = Path(__file__).with_name("host.sh")
_BRIDGE = "management"
_NETWORK = "192.0.2."
_FIRST_SWITCH, _FIRST_HOST, _MOST = 11, 101, 90
_P4RUNTIME, _SSH = 9559, 22
_OFFLOADS = ("rx", "tx", "sg", "tso", "gso", "gro")


class World:
    """The machines of one rehearsal; `folder` has the files of the lab."""

    def __init__(self, fabric: Fabric, target: str, folder: Path) -> None:
        if max(len(fabric.switches), len(fabric.hosts)) > _MOST:
            raise RunError(f"{fabric.name}: a rehearsal has room for {_MOST} switches and {_MOST} hosts")
        self.folder, self.logs, self._target = folder, folder / "logs", target
        self.switches = {n: f"{_NETWORK}{_FIRST_SWITCH + i}" for i, n in enumerate(fabric.switches)}
        self.hosts = {n: f"{_NETWORK}{_FIRST_HOST + i}" for i, n in enumerate(fabric.hosts)}
        self.fabric = fabric.with_addresses({n: f"{a}:{_P4RUNTIME}" for n, a in self.switches.items()})
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
            pids = {name: self._start_host(name) for name in self.hosts}
            self._plug(pids)
            for started in [self._start_switch(name) for name in self.switches]:
                started.wait_ready(self._lives)
            for name, address in self.hosts.items():
                wait_until(partial(_listens, address), f"sshd of {name} does not listen; see {self.logs}")
            yield

    def _start(self, name: str, command: list[str]) -> subprocess.Popen[bytes]:
        with (self.logs / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self._ended.callback(end_process, process, 5.0)
        self._processes[name] = process
        return process

    def _lives(self) -> None:
        """RunError when a host or a switch has ended."""
        for name, process in self._processes.items():
            if process.poll() is not None:
                raise RunError(f"{name} has ended: {(self.logs / f'{name}.log').read_text().strip()[-500:]}")

    def _start_host(self, name: str) -> int:
        """A process in its network namespace."""
        apart = ("unshare", "--net", "--mount", "--uts", "--pid", "--fork", "--kill-child")
        script = ("sh", str(_HOST), name, self.hosts[name], str(self.folder / "ssh"))
        pid = self._start(name, [*apart, *script]).pid
        here, there = Path("/proc/self/ns/net").readlink(), Path(f"/proc/{pid}/ns/net")
        wait_until(lambda: there.readlink() != here, f"{name} has no namespace")
        return pid

    def _plug(self, pids: dict[str, int]) -> None:
        """All cables: those to hosts end there, with the NIC's MAC address."""
        for name, pid in pids.items():
            number = list(pids).index(name)
            ip(f"link add manage{number} type veth peer name mgmt0 netns {pid}")
            ip(f"link set manage{number} master {_BRIDGE} up")
            _in(pid, "ip", "addr", "add", f"{self.hosts[name]}/24", "dev", "mgmt0")
            _in(pid, "ip", "link", "set", "mgmt0", "up")
        for edge in self.fabric.edges:
            a, b = edge.ends
            if a.node in pids:
                a, b = b, a
            ours, theirs = interface(*a), interface(*b)
            to = f"netns {pids[b.node]}" if b.node in pids else ""
            ip(f"link add {ours} mtu 9216 type veth peer name {theirs} {to}")
            self._set_up_port(a)
            if b.node in pids:
                self._set_up_nic(b, pids[b.node])
            else:
                self._set_up_port(b)

    def _set_up_port(self, end: End) -> None:
        ip(f"link set {interface(*end)} mtu 9216 up")
        run("ethtool", "-K", interface(*end), *(word for name in _OFFLOADS for word in (name, "off")))

    def _set_up_nic(self, end: End, pid: int) -> None:
        name, nic = interface(*end), self.fabric.hosts[end.node].all_nics[end.port]
        _in(pid, "ip", "link", "set", name, "address", nic.mac, "mtu", "1500", "up")
        # a switch that reads a veth would see segments that were never cut
        _in(pid, "ethtool", "-K", name, *(word for each in _OFFLOADS for word in (each, "off")))

    def _start_switch(self, name: str) -> Start:
        address = self.switches[name]
        ip(f"addr add {address}/24 dev {_BRIDGE}")
        place = f"{address}:{_P4RUNTIME}"
        made = start(self.fabric, self._target, name, place, self.folder / "pki", self.logs)
        self._start(name, made.command)
        return made


def _in(pid: int, *command: str) -> None:
    run("nsenter", "--net", "--target", str(pid), "--", *command)


def _listens(address: str) -> bool:
    with suppress(OSError), socket.create_connection((address, _SSH), timeout=1.0):
        return True
    return False
