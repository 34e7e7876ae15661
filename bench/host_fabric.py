"""All-reduce of eight ranks in a fabric of P4 switches that loses packets: CSA-UD beside PyTorch's gloo.

Eight hosts in namespaces of their own around a leaf-spine of the embedded switch, as `make mininet` has it:
links of 200 Mbit/s, offloads off. PyTorch lives in an environment of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from statistics import median

from csaud_controller.control.client import wait_programmed
from csaud_controller.inventory import load_fabric
from csaud_runs.children import end_process

from bench import native
from bench.host_rig import HostRigError, end
from bench.results import Result, result

FABRIC = "leaf-spine-2x2x4"
BYTES = 16 << 20
LOSSES = (0.0, 0.001, 0.01)
TORCH = "torch==2.13.0"
_PORT = 29500
_LIMIT_S = 300.0
_OFFLOADS = ("rx", "tx", "sg", "tso", "gso", "gro")


def torch_python(install: bool) -> Path | None:
    """Python of the environment with PyTorch, made where that is asked for; None: there is none.

    Raises:
        HostRigError: pip failed.
    """
    folder = native.ROOT / "build/torch-venv"
    python = folder / "bin/python"
    if not python.exists() and install:
        for argv in ([sys.executable, "-m", "venv", str(folder)],
                     [str(python), "-m", "pip", "install", "-q", TORCH, "numpy"]):  # fmt: skip
            done = subprocess.run(argv, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise HostRigError(f"{TORCH} cannot be installed: {done.stderr.strip()[-300:]}")
    return python if python.exists() else None


def measure(*, rounds: int, iterations: int, size: int = BYTES, torch: Path | None) -> list[Result]:
    """Seconds of one all-reduce at each loss rate; CSA-UD's speed over gloo's, which must be above 1."""
    rows = []
    with Fabric(FABRIC) as fabric:
        for loss in LOSSES:
            fabric.lose(loss)
            ours: list[float] = []
            theirs: list[float] = []
            for _ in range(rounds):
                ours.append(fabric.csaud(size, iterations))
                if torch is not None:
                    theirs.append(fabric.gloo(torch, size, iterations))
            name = f"8-rank all-reduce of {size >> 20 or size / (1 << 20):g} MB, {loss:.1%} loss"
            speed = size / median(ours) / 1e6
            if not theirs:
                rows.append(result(name, speed, "MB/s"))
                continue
            other = size / median(theirs) / 1e6
            rows.append(result(name, speed, "MB/s", peer="gloo, TCP", peer_value=other, bound="at least",
                               limit=1.0))  # fmt: skip
    return rows


class Fabric:
    """A context manager: switches, controller and hosts' namespaces. Needs root."""

    def __init__(self, name: str) -> None:
        self._inventory = load_fabric(name)
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

    def csaud(self, size: int, iterations: int) -> float:
        """Seconds of an all-reduce by `csaud perf`."""
        out = self._run_dir / "rows.json"
        self._job([sys.executable, "-m", "csaud", "perf", "allreduce", "--sizes", str(size), "--warmup", "1",
                   "--iterations", str(iterations), "--no-check", "--json", str(out)])  # fmt: skip
        return float(json.loads(out.read_text())[0]["time"]) * 1e-6

    def gloo(self, python: Path, size: int, iterations: int) -> float:
        """Seconds of an all-reduce by PyTorch's gloo, over the fabric's interface."""
        worker = Path(__file__).with_name("gloo_worker.py")
        text = self._job([str(python), str(worker), str(size), str(iterations)])
        return float(json.loads(text.strip().splitlines()[-1])["seconds"])

    def _job(self, argv: list[str]) -> str:
        """One rank a host; what rank 0 printed."""
        names = list(self._inventory.hosts)
        master = self._inventory.hosts[names[0]].ip
        ranks: list[subprocess.Popen[str]] = []
        try:
            for rank, host in enumerate(names):
                place = {"RANK": rank, "WORLD_SIZE": len(names), "MASTER_ADDR": master, "MASTER_PORT": _PORT,
                         "GLOO_SOCKET_IFNAME": f"{host}-eth0"}  # fmt: skip
                ranks.append(self._inside(host, argv, {key: str(value) for key, value in place.items()}))
            deadline = time.monotonic() + _LIMIT_S
            told = [process.communicate(timeout=max(1.0, deadline - time.monotonic())) for process in ranks]
        except subprocess.TimeoutExpired:
            raise HostRigError(f"{argv[0]}: not done within {_LIMIT_S:g} s") from None
        finally:
            for process in ranks:
                end(process)
        for process, (_, errors) in zip(ranks, told, strict=True):
            if process.returncode != 0:
                raise HostRigError(f"{Path(argv[0]).name}: {errors.strip()[-300:]}")
        return told[0][0]

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
