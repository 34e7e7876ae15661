"""Brings a fabric up: nodes and cables, forwarding processes, controller; and takes it down again."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from csaud_controller.control.client import ConflictError, ControlError, RefusedError, StandsByError, ask
from csaud_controller.desired.store import Stored, save
from csaud_controller.inventory import End, Fabric
from csaud_controller.policy.faults import FaultRule
from csaud_controller.policy.intent import Intent
from csaud_runs.directory import is_served
from csaud_runs.errors import RunError
from csaud_runs.whole import write_json
from csaud_softswitch.links import set_link, set_rate

from csaud_topologies.base.interrupt import raise_if_interrupted
from csaud_topologies.base.say import say
from csaud_topologies.fabric.network import build_network, set_cables
from csaud_topologies.fabric.restarting import RestartedService
from csaud_topologies.fabric.services import Service
from csaud_topologies.fabric.targets.base import P4Target, Place, p4runtime_addresses

_IN_SYNC_WITHIN_S = 60.0
_AGAIN_WITHIN_S = 30.0
"""A controller that has ended is started again, and answers after so long at most."""


@dataclass
class RunningFabric:
    """A fabric whose switches hold their tables."""

    fabric: Fabric
    net: Any
    place: Place
    in_sync_s: float
    """Seconds from the controller's start until every switch held its tables."""
    links_down: set[frozenset[str]] = field(default_factory=set)
    """Pairs of nodes whose links `set_link` has taken down and not up again."""
    _losing: dict[str, dict[str, Any] | None] = field(default_factory=dict)
    """Places where `lose` has put rules: what held there before."""

    @property
    def inventory(self) -> Fabric:
        """What is wired to what."""
        return self.fabric

    def check(self) -> None:
        """RunError when a switch process has ended, or the controller and all that were started after it."""
        self.place.services.check()

    def set_link(self, a: str, b: str, up: bool) -> None:
        """Take all links between two nodes down or up; RunError when there is none."""
        edges = self.fabric.edges_between(a, b)
        if not edges:
            raise RunError(f"{self.fabric.name} has no link {a}-{b}")
        if self.fabric.links_via == "memory" and {a, b} <= self.fabric.switches.keys():
            for edge in edges:
                set_link(self.place.run.path, edge.a, edge.a_port, up)
        else:
            set_cables(self.net, a, b, up)
        if up:
            self.links_down.discard(frozenset((a, b)))
        else:
            self.links_down.add(frozenset((a, b)))

    def slow(self, at: End, rate: int | None) -> None:
        """Let a port of a switch send at this rate until further notice, bit/s; None: at its own again.
        RunError where the switch does not do that, which are all but the embedded one."""
        set_rate(self.place.run.path, at.node, at.port, rate or self.fabric.rate_at[at])

    def lose(self, rules: Sequence[FaultRule]) -> None:
        """Lose packets by these rules, after those of the fabric, in place of those that were said before."""
        wanted = {rule.where: rule for rule in rules}
        for where in self._losing.keys() - wanted.keys():
            if (before := self._losing.pop(where)) is None:
                self.control("fault.clear", where=where)
            else:
                self.control("fault.set", rule=before)
        for where, rule in wanted.items():
            if where not in self._losing:
                held = self.control("changes")["intent"]["faults"]["rules"]
                self._losing[where] = next((each for each in held if each["where"] == where), None)
            self.control("fault.set", rule=rule.model_dump(mode="json"))

    def control(self, op: str, **arguments: Any) -> dict[str, Any]:
        """Ask the controller; RunError when it does not answer, nor one that is started in its place."""
        deadline = time.monotonic() + _AGAIN_WITHIN_S
        while True:
            try:
                return ask(self.place.run.control_socket, op, **arguments)
            except (RefusedError, ConflictError, StandsByError) as error:
                raise RunError(str(error)) from None
            except ControlError as error:
                raise_if_interrupted()
                self.check()
                if time.monotonic() > deadline:
                    raise RunError(str(error)) from None
                time.sleep(0.1)


@contextmanager
def running(fabric: Fabric, target: P4Target, intent: Intent, place: Place) -> Iterator[RunningFabric]:
    """A fabric with pipeline and tables in place; down again when the body ends, however it ends."""
    fabric = fabric.with_addresses(p4runtime_addresses(fabric, place.run))
    place.run.fabric_file.write_text(fabric.to_json())
    net = build_network(fabric, target.switch_class, target.link_class)
    try:
        write_json(place.run.nodes, {node.name: node.pid for node in net.values()})
        target.start(fabric, net, place)
        in_sync_s = _start_controller(target, intent, place)
        yield RunningFabric(fabric, net, place, in_sync_s)
    finally:
        place.services.stop()
        net.stop()


def _start_controller(target: P4Target, intent: Intent, place: Place) -> float:
    """Start the controller and wait until every switch holds its tables; the seconds that took."""
    place.run.desired_file.unlink(missing_ok=True)
    save(place.run.desired_file, Stored(intent=intent))
    command = [sys.executable, "-m", "csaud_controller", "run", "--run", str(place.run.path)]
    start = partial(Service.start, "controller", [*command, "--target", target.name], place.logs)
    begun = time.monotonic()
    controller = place.services.add(start())
    pending = "it does not answer"
    while time.monotonic() - begun < _IN_SYNC_WITHIN_S:
        raise_if_interrupted()
        place.services.check()
        try:
            status = ask(place.run.control_socket, "status")["status"]
        except ControlError:
            time.sleep(0.1)
            continue
        late = {
            name: switch["error"] or "being programmed"
            for name, switch in status["switches"].items()
            if switch["applied"] < status["generation"]
        }
        if not late:
            in_sync_s = time.monotonic() - begun
            again, serves = partial(start, again=True), partial(is_served, place.run.control_socket)
            place.services.replace(controller, RestartedService(controller, again, serves, say))
            return in_sync_s
        pending = ", ".join(f"{name} ({why})" for name, why in late.items())
        time.sleep(0.1)
    log = place.logs / "controller.log"
    raise RunError(f"not all switches are programmed after {_IN_SYNC_WITHIN_S:.0f} s: {pending}; see {log}")
