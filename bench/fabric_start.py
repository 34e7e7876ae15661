"""How long a fabric of 20 switches (fat-tree, k = 4) takes from nothing to all tables installed.

One process with all switches and the controller, started at the same time as a run of the emulation starts
them; once with links in memory, and once with a veth pair for each link, which is there before.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from csaud_controller.control.client import wait_programmed
from csaud_controller.inventory import load_fabric

from bench.results import Result, result
from bench.rig import RigError

FABRIC = "fat-tree-4"
LIMIT_S = 5.0


def measure(*, rounds: int, fabric: str = FABRIC) -> list[Result]:
    """The median of `rounds` starts. Needs root, for the ports to hosts."""
    switches = len(load_fabric(fabric).switches)
    rows = []
    for via in ("memory", "veth"):
        found = [_start(fabric, via) for _ in range(rounds)]
        ready, programmed = (median(one[i] for one in found) for i in (0, 1))
        name = f"{fabric}, {switches} switches, links via {via}"
        rows.append(result(f"{name}: listen", ready, "s"))
        rows.append(result(f"{name}: programmed", programmed, "s", bound="at most", limit=LIMIT_S))
    return rows


def _start(fabric: str, via: str) -> tuple[float, float]:
    """Seconds until all switches listen, and until all hold their tables."""
    inventory = load_fabric(fabric)
    name = f"csaud-bench{os.getpid()}"
    with tempfile.TemporaryDirectory(prefix="csaud-bench-") as directory:
        run_dir = Path(directory)
        document = json.loads(inventory.to_json())
        document["links_via"] = via
        (run_dir / "fabric.json").write_text(json.dumps(document))
        subprocess.run(["ip", "netns", "add", name], check=True)
        processes: list[subprocess.Popen[bytes]] = []
        try:
            _make_interfaces(name, document)
            inside = ["ip", "netns", "exec", name, sys.executable, "-m"]
            log = (run_dir / "log").open("wb")
            begin = time.monotonic()
            for argv in (
                ["csaud_softswitch", "--fabric", str(run_dir / "fabric.json"), "--run-dir", directory],
                ["csaud_controller", "run", "--run", directory],
            ):
                processes.append(subprocess.Popen([*inside, *argv], stdout=log, stderr=log))
            while not (run_dir / "softswitch.ready").exists():
                if processes[0].poll() is not None:
                    raise RigError(f"the switches ended: {(run_dir / 'log').read_text()[-500:]}")
                time.sleep(0.005)
            ready = time.monotonic() - begin
            wait_programmed(run_dir / "controller.sock", 60.0)
            return ready, time.monotonic() - begin
        finally:
            for process in processes:
                process.terminate()
            for process in processes:
                process.wait(20)
            subprocess.run(["ip", "netns", "del", name], check=True)


def _make_interfaces(namespace: str, document: dict[str, Any]) -> None:
    """Interfaces of all ports that are interfaces; the hosts' ends are not connected to anything."""
    hosts, via_veth = document["hosts"], document["links_via"] == "veth"
    lines = ["link set lo up"]
    for edge in document["edges"]:
        ends = [f"{edge[side]}-eth{edge[f'{side}_port']}" for side in ("a", "b")]
        if via_veth or edge["a"] in hosts or edge["b"] in hosts:
            lines.append(f"link add {ends[0]} type veth peer name {ends[1]}")
            lines += [f"link set {end} up" for end in ends]
    subprocess.run(
        ["ip", "-n", namespace, "-batch", "-"], input="\n".join(lines) + "\n", text=True, check=True
    )
