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
from csaud_topologies.job.telemetry import read
from csaud_topologies.record.model import Background
from csaud_topologies.record.model import Bulk as BulkFigures
from csaud_topologies.scenario.model import Beside, Bulk, Incast
from csaud_topologies.scenario.placement import sources_of
from csaud_topologies.workloads.traffic import BULK_PORT, PORT, pace

_MODULE = (sys.executable, "-m", "csaud_topologies.workloads.traffic")
_PIPES: dict[str, Any] = {
    "stdin": subprocess.PIPE,
    "stdout": subprocess.PIPE,
    "stderr": None,
    "text": True,
}


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


@dataclass
class RunningBulk:
    """The processes of TCP connections to one host, and what had left for it when they began."""

    to: str
    sources: list[str]
    fabric: Fabric
    sink: subprocess.Popen[str]
    before: tuple[int, int]
    processes: list[subprocess.Popen[str]] = field(default_factory=list)

    def stop(self) -> Background:
        """End the sources, then the sink; what became of them."""
        csa, other = (
            now - then for now, then in zip(_left_for(self.to, self.fabric), self.before, strict=True)
        )
        for host, source in zip(self.sources, self.processes, strict=True):
            source.communicate("", timeout=10)
            if source.returncode != 0:
                raise RunError(f"the background source on {host} ended with status {source.returncode}")
        output, _ = self.sink.communicate("", timeout=10)
        figures = BulkFigures(
            **json.loads(output.splitlines()[-1]),
            csa=csa,
            other=other,
            link_rate_bps=self.fabric.rate_at[self.fabric.attachment(self.to)],
        )
        return Background(to=self.to, sources=self.sources, packets_sent=None, kind="bulk", bulk=figures)

    def running(self) -> list[subprocess.Popen[str]]:
        """Its processes."""
        return [*self.processes, self.sink]

    def abandon(self) -> None:
        """End its processes without asking what they did."""
        for process in self.running():
            process.kill()
            process.wait()


Running = RunningIncast | RunningBulk


def start_beside(beside: Beside, fabric: Fabric, net: Any) -> Running:
    """Start the sink, then the sources."""
    return (
        start_incast(beside, fabric, net) if isinstance(beside, Incast) else _start_bulk(beside, fabric, net)
    )


def _start_bulk(bulk: Bulk, fabric: Fabric, net: Any) -> RunningBulk:
    sink = start_on(net[bulk.to], [*_MODULE, "bulk-sink", "--port", str(BULK_PORT)], **_PIPES)
    assert sink.stdout is not None
    sink.stdout.readline()  # it holds its port now
    running = RunningBulk(bulk.to, sources_of(bulk, fabric), fabric, sink, _left_for(bulk.to, fabric))
    where = ("--to", str(fabric.hosts[bulk.to].ip), "--port", str(BULK_PORT))
    for source in running.sources:
        running.processes.append(start_on(net[source], [*_MODULE, "bulk-source", *where], **_PIPES))
    return running


def _left_for(host: str, fabric: Fabric) -> tuple[int, int]:
    """Bytes of CSA frames, and of others, that have left for a host."""
    at = fabric.attachment(host)
    found = read(fabric, ("egress_kind",), switches={at.node}, unit="bytes")[at.node]["egress_kind"][at.port]
    return sum(found.values()) - found["other"], found["other"]


def start_incast(incast: Incast, fabric: Fabric, net: Any) -> RunningIncast:
    """Start the sink, then the sources."""
    sources = sources_of(incast, fabric)
    edge = next(edge for edge in fabric.edges if incast.to in (edge.a, edge.b))
    pps, every_s = pace(incast.load, fabric.link_of(edge).rate, incast.packet, incast.burst, incast.duty)
    running = RunningIncast(incast.to, sources)
    running.sink = start_on(net[incast.to], [*_MODULE, "sink"], **_PIPES)
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
        running.processes.append(start_on(net[source], [*_MODULE, "source", *arguments], **_PIPES))
    return running
