"""All-reduce of eight ranks in a fabric of P4 switches that loses packets: CSA-UD beside PyTorch's gloo.

Eight hosts in namespaces of their own around a leaf-spine of the embedded switch, as `make mininet` has it:
offloads off; links of the highest rate that the machine carries. PyTorch lives in an environment of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median

from csaud_controller.control.client import wait_programmed
from csaud_controller.inventory import load_fabric
from csaud_runs.children import end_process

from bench.host_collectives import WORKER
from bench.host_rig import HostRigError, first_output
from bench.results import Result, result

FABRIC = "leaf-spine-2x2x4"
BYTES = 16 << 20
RATES = (50_000_000, 100_000_000, 200_000_000, 400_000_000, 800_000_000, 1_600_000_000, 3_200_000_000)
LOSSES = (0.0, 0.001, 0.01)
_PORT = 29500
_OFFLOADS = ("rx", "tx", "sg", "tso", "gso", "gro")


def measure(*, rounds: int, iterations: int, size: int = BYTES, torch: Path | None) -> list[Result]:
    """Speed of one all-reduce at each loss rate; CSA-UD's over gloo's must be above 1."""
    rate = highest_rate(size)
    rows = [result("8 ranks in a fabric: rate of the links", rate / 1e6, "Mbit/s")]
    with Fabric(FABRIC, rate) as fabric:
        for loss in LOSSES:
            fabric.lose(loss)
            ours: list[float] = []
            theirs: list[float] = []
            for _ in range(rounds):
                ours.append(fabric.all_reduce("csaud", sys.executable, size, iterations))
                if torch is not None:
                    theirs.append(fabric.all_reduce("gloo", str(torch), size, iterations))
            name = f"8-rank all-reduce of {size >> 20 or size / (1 << 20):g} MB, {loss:.1%} loss"
            speed = size / median(ours) / 1e6
            if not theirs:
                rows.append(result(name, speed, "MB/s"))
                continue
            other = size / median(theirs) / 1e6
            rows.append(result(name, speed, "MB/s", peer="gloo, TCP", peer_value=other, bound="at least",
                               limit=1.0))  # fmt: skip
    return rows


def highest_rate(size: int) -> int:
    """The highest rate of links, bit/s, that this machine carries: an all-reduce without loss uses half of
    it."""
    carried = RATES[0]
    for rate in RATES:
        with Fabric(FABRIC, rate) as fabric:
            took = fabric.all_reduce("csaud", sys.executable, size, 1)
            ranks = len(fabric.hosts)
        if 2 * (ranks - 1) / ranks * size * 8 / took < rate / 2:
            break
        carried = rate
    return carried


class Fabric:
    """A context manager: switches, controller and hosts' namespaces. Needs root.

    Attributes:
        hosts: their names.
    """

    def __init__(self, name: str, rate: int) -> None:
        """rate: of each link, bit/s."""
        self._inventory = load_fabric(name)
        self.hosts = list(self._inventory.hosts)
        self._rate = rate
        self._prefix = f"csaud-bench{os.getpid()}"
        self._directory = tempfile.TemporaryDirectory(prefix="csaud-bench-")
        self._run_dir = Path(self._directory.name)
        self._processes: list[subprocess.Popen[bytes]] = []
        self._made: list[str] = []

    def __enter__(self) -> Fabric:
        try:
            self._make_hosts()
            self._start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the processes and remove the namespaces."""
        for process in self._processes:
            end_process(process, 20)
        for name in self._made:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)
        self._directory.cleanup()

    def lose(self, probability: float) -> None:
        """Each packet is lost with this probability once on its way, silently, whatever it belongs to."""
        self._csaud("fault", "clear")
        if probability:
            self._csaud("fault", "set", str(probability), "--kinds", "other,data,control", "--silent")

    def all_reduce(self, library: str, python: str, size: int, iterations: int) -> float:
        """Seconds of one, by a library of collective_worker.py."""
        text = self.run([python, str(WORKER), library, json.dumps([["all-reduce", size, iterations]])])
        return float(json.loads(text.strip().splitlines()[-1])[0]["us"]) * 1e-6

    def run(self, argv: list[str]) -> str:
        """One rank a host; what rank 0 printed. HostRigError where a rank fails."""
        names = list(self._inventory.hosts)
        master = self._inventory.hosts[names[0]].ip
        job = {"WORLD_SIZE": len(names), "MASTER_ADDR": master, "MASTER_PORT": _PORT}

        def ranks() -> Iterator[subprocess.Popen[str]]:
            for rank, host in enumerate(names):
                place = job | {"RANK": rank, "GLOO_SOCKET_IFNAME": f"{host}-eth0"}
                yield self._inside(host, argv, {key: str(value) for key, value in place.items()})

        return first_output(Path(argv[0]).name, ranks())

    def _inside(self, host: str, argv: list[str], environ: Mapping[str, str]) -> subprocess.Popen[str]:
        return subprocess.Popen(
            ["ip", "netns", "exec", f"{self._prefix}-{host}", *argv], text=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **environ},
        )  # fmt: skip

    def _make_hosts(self) -> None:
        switches = f"{self._prefix}-switches"
        self._namespace(switches)
        hosts = self._inventory.hosts
        for edge in self._inventory.edges:
            ends = {edge.a: edge.a_port, edge.b: edge.b_port}
            for host in ends.keys() & hosts.keys():
                (switch,) = ends.keys() - {host}
                inside = f"{self._prefix}-{host}"
                self._namespace(inside)
                port, own = f"{switch}-eth{ends[switch]}", f"{host}-eth0"
                mtu = str(self._inventory.mtu)
                _ip("-n", switches, "link", "add", port, "mtu", mtu, "type", "veth", "peer", "name", own,
                    "mtu", mtu, "netns", inside)  # fmt: skip
                _ip("-n", inside, "link", "set", own, "address", hosts[host].mac)
                _ip("-n", inside, "address", "add", f"{hosts[host].ip}/16", "dev", own)
                for namespace, interface in ((switches, port), (inside, own)):
                    _ip("-n", namespace, "link", "set", interface, "up")
                    words = [word for feature in _OFFLOADS for word in (feature, "off")]
                    _ip("netns", "exec", namespace, "ethtool", "-K", interface, *words)
        for host in hosts:
            lines = [f"neigh replace {other.ip} lladdr {other.mac} nud permanent dev {host}-eth0"
                     for name, other in hosts.items() if name != host]  # fmt: skip
            subprocess.run(["ip", "-n", f"{self._prefix}-{host}", "-batch", "-"], text=True, check=True,
                           input="\n".join(lines) + "\n")  # fmt: skip

    def _namespace(self, name: str) -> None:
        _ip("netns", "add", name)
        self._made.append(name)
        _ip("-n", name, "link", "set", "lo", "up")
        _ip("netns", "exec", name, "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1",
            "net.ipv6.conf.default.disable_ipv6=1")  # fmt: skip

    def _start(self) -> None:
        document = json.loads(self._inventory.to_json())
        document["links_via"] = "memory"
        document["link"]["rate"] = self._rate
        (self._run_dir / "fabric.json").write_text(json.dumps(document))
        inside = ["ip", "netns", "exec", f"{self._prefix}-switches", sys.executable, "-m"]
        with (self._run_dir / "log").open("wb") as log:
            for argv in (
                [
                    "csaud_softswitch",
                    "--fabric",
                    str(self._run_dir / "fabric.json"),
                    "--run-dir",
                    str(self._run_dir),
                ],
                ["csaud_controller", "run", "--run", str(self._run_dir)],
            ):
                self._processes.append(subprocess.Popen([*inside, *argv], stdout=log, stderr=log))
        while not (self._run_dir / "softswitch.ready").exists():
            if self._processes[0].poll() is not None:
                raise HostRigError(f"the switches ended: {(self._run_dir / 'log').read_text()[-500:]}")
            time.sleep(0.01)
        wait_programmed(self._run_dir / "controller.sock", 60.0)

    def _csaud(self, *words: str) -> None:
        argv = [sys.executable, "-m", "csaud", *words, "--run", str(self._run_dir)]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise HostRigError(f"csaud {' '.join(words)}: {(done.stderr or done.stdout).strip()[-300:]}")


def _ip(*argv: str) -> None:
    done = subprocess.run(["ip", *argv], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise HostRigError(f"ip {' '.join(argv)}: {done.stderr.strip()}")
