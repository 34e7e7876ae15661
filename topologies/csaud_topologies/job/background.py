"""Traffic beside the job: starts and ends the sources and sinks that a scenario asks for."""

from __future__ import annotations

import json
import subprocess
import sys
from abc import ABC, abstractmethod
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
class Running(ABC):
    """The processes of traffic to one host."""

    to: str
    sources: list[str]
    sink: subprocess.Popen[str]
    processes: list[subprocess.Popen[str]] = field(default_factory=list)
    """Of the sources."""

    @abstractmethod
    def stop(self) -> Background:
        """End the sources, then the sink; what became of them."""

    def running(self) -> list[subprocess.Popen[str]]:
        """Its processes."""
        return [*self.processes, self.sink]

    def abandon(self) -> None:
        """End its processes without asking what they did."""
        for process in self.running():
            process.kill()
            process.wait()

    def _end(self) -> tuple[list[str], str]:
        """What the sources and the sink wrote last."""
        said = []
        for host, source in zip(self.sources, self.processes, strict=True):
            output, _ = source.communicate("", timeout=10)
            if source.returncode != 0:
                raise RunError(f"the background source on {host} ended with status {source.returncode}")
            said.append(output)
        output, _ = self.sink.communicate("", timeout=10)
        return said, output


class RunningIncast(Running):
    """Bursts of UDP."""

    def stop(self) -> Background:
        """How much they sent."""
        said, _ = self._end()
        sent = sum(int(json.loads(output)["sent"]) for output in said)
        return Background(to=self.to, sources=self.sources, packets_sent=sent)


@dataclass
class RunningBulk(Running):
    """TCP connections, and what had left for their host when they began."""

    fabric: Fabric = field(kw_only=True)
    before: tuple[int, int] = field(kw_only=True)

    def stop(self) -> Background:
        """How much they got, and the job meanwhile."""
        csa, other = (
            now - then for now, then in zip(_left_for(self.to, self.fabric), self.before, strict=True)
        )
        _, output = self._end()
        figures = BulkFigures(
            **json.loads(output.splitlines()[-1]),
            csa=csa,
            other=other,
            link_rate_bps=self.fabric.rate_at[self.fabric.attachment(self.to)],
        )
        return Background(to=self.to, sources=self.sources, packets_sent=None, kind="bulk", bulk=figures)


def start_beside(beside: Beside, fabric: Fabric, net: Any) -> Running:
    """Start the sink, then the sources."""
    return (
        start_incast(beside, fabric, net) if isinstance(beside, Incast) else _start_bulk(beside, fabric, net)
    )


def _start_bulk(bulk: Bulk, fabric: Fabric, net: Any) -> RunningBulk:
    sink = _start_sink(net[bulk.to], "bulk-sink", "--port", str(BULK_PORT))
    left = _left_for(bulk.to, fabric)
    running = RunningBulk(bulk.to, sources_of(bulk, fabric), sink, fabric=fabric, before=left)
    where = ("--to", str(fabric.hosts[bulk.to].ip), "--port", str(BULK_PORT))
    for source in running.sources:
        running.processes.append(start_on(net[source], [*_MODULE, "bulk-source", *where], **_PIPES))
    return running


def _start_sink(host: Any, *arguments: str) -> subprocess.Popen[str]:
    sink: subprocess.Popen[str] = start_on(host, [*_MODULE, *arguments], **_PIPES)
    assert sink.stdout is not None
    sink.stdout.readline()  # it holds its port now
    return sink


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
    running = RunningIncast(incast.to, sources, _start_sink(net[incast.to], "sink"))
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
