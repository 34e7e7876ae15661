"""A running fabric as those see it who have entered its namespaces and did not build it."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from csaud_controller.inventory import load_fabric
from csaud_runs.directory import RunDir

from csaud_topologies.fabric.running import RunningFabric
from csaud_topologies.fabric.served import ask
from csaud_topologies.fabric.services import Services
from csaud_topologies.fabric.targets.base import Place


@dataclass(frozen=True)
class AttachedNode:
    """A host or a switch, by a process that lives in its namespaces."""

    name: str
    pid: int

    def popen(self, command: Sequence[str], **popen: Any) -> subprocess.Popen[Any]:
        """Start a command there, in a session of its own."""
        return subprocess.Popen(["mnexec", "-a", str(self.pid), *command], start_new_session=True, **popen)


class AttachedFabric(RunningFabric):
    """Links are taken down and up by the process that built the fabric, which also watches its services: when
    one of those ends, the namespaces do, and we with them."""

    def check(self) -> None:
        """Nothing to look after."""

    def set_link(self, a: str, b: str, up: bool) -> None:
        """Take all links between two nodes down or up; RunError when there is none."""
        self.links_down = _links(ask(self.place.run, "link", a=a, b=b, up=up))

    def hidden_drops(self) -> dict[str, int]:
        """Packets that switches dropped where no program counts them, by place."""
        drops: dict[str, int] = ask(self.place.run, "state")["hidden_drops"]
        return drops


def attach(run: RunDir, logs: Path) -> AttachedFabric:
    """Call inside the run's namespaces; RunError when its fabric does not answer."""
    nodes = {name: AttachedNode(name, pid) for name, pid in run.node_pids().items()}
    links_down = _links(ask(run, "state"))
    place = Place(run, logs, Services())
    return AttachedFabric(load_fabric(run.fabric_file), nodes, place, 0.0, links_down)


def _links(state: dict[str, Any]) -> set[frozenset[str]]:
    return {frozenset(link) for link in state["links_down"]}
