"""Traffic beside the job: starts and ends the sources and sinks that a scenario asks for."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, field
from typing import Any

from csaud_controller.inventory import Fabric
from csaud_runs.errors import RunError

from csaud_topologies.fabric.services import start_on
from csaud_topologies.record.model import Background
from csaud_topologies.scenario.model import Incast
from csaud_topologies.scenario.placement import sources_of
from csaud_topologies.workloads.traffic import PORT, pace


@dataclass
class RunningIncast:
    """One incast's processes."""

    to: str
    sources: list[str]
    processes: list[subprocess.Popen[str]] = field(default_factory=list)
    sink: subprocess.Popen[str] | None = None

    def stop(self) -> Background:
        """End the sources, then the sink; how much they sent."""
        sent = 0
        for host, source in zip(self.sources, self.processes, strict=True):
            output, _ = source.communicate("", timeout=10)
            if source.returncode != 0:
                raise RunError(f"the background source on {host} ended with status {source.returncode}")
            sent += int(json.loads(output)["sent"])
        if self.sink is not None:
            self.sink.communicate("", timeout=10)
        return Background(to=self.to, sources=self.sources, packets_sent=sent)

    def running(self) -> list[subprocess.Popen[str]]:
        """Its processes."""
        return [*self.processes, *([self.sink] if self.sink is not None else [])]

    def abandon(self) -> None:
        """End its processes without asking what they did."""
        for process in self.running():
            process.kill()
            process.wait()


def start_incast(incast: Incast, fabric: Fabric, net: Any) -> RunningIncast:
    """Start the sink, then the sources."""
    sources = sources_of(incast, fabric)
    edge = next(edge for edge in fabric.edges if incast.to in (edge.a, edge.b))
    pps, every_s = pace(incast.load, fabric.link_of(edge).rate, incast.packet, incast.burst, incast.duty)
    running = RunningIncast(incast.to, sources)
    module = [sys.executable, "-m", "csaud_topologies.workloads.traffic"]
    pipes: dict[str, Any] = {
        "stdin": subprocess.PIPE,
        "stdout": subprocess.PIPE,
        "stderr": None,
        "text": True,
    }
    running.sink = start_on(net[incast.to], [*module, "sink"], **pipes)
    assert running.sink.stdout is not None
    running.sink.stdout.readline()  # it holds its port now
    options = {
        "--to": str(fabric.hosts[incast.to].ip),
        "--port": PORT,
        "--size": incast.packet,
        "--pps": f"{pps:.1f}",
        "--burst": incast.burst,
        "--every": f"{every_s:.6f}",
    }
    arguments = [str(part) for option in options.items() for part in option]
    for source in sources:
        running.processes.append(start_on(net[source], [*module, "source", *arguments], **pipes))
    return running
