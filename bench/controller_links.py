"""How long it takes from a link's going to what all switches hold then: the controller of a whole fabric, its
switches in another process (`controller_sink`); another policy; and what moves when a host's link flaps.

Nobody sends link probes: what the link monitor would find of them is said in its place.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from statistics import median

import numpy as np
from csaud_controller.base.garbage import collect_little
from csaud_controller.control.fabric_controller import FabricController
from csaud_controller.inventory import Edge, Fabric, load_fabric
from csaud_controller.links.monitor import Change, Direction, link_name
from csaud_controller.policy.model import Policy
from csaud_controller.policy.spray import SprayMode
from csaud_controller.program.artifacts import find_artifacts
from csaud_controller.targets import target_named

from bench.controller_load import lateness, sinks
from bench.rig import RigError

_PATIENCE_S = 300.0
_FLAPS, _FLAP_S = 100, 0.1
_STEP = 37
"""From one link that is measured to the next, in the fabric's order."""


@dataclass(frozen=True)
class Links:
    """Medians, s."""

    switches: int
    planned_s: float
    """Until the tables of all switches are computed."""
    written_s: float
    """Until all switches hold them."""
    updates: int
    """That a link's going or coming back took."""
    policy_written_s: float
    """Until all switches hold what another policy asks for."""
    policy_late_p99_s: float
    """How late the event loop was meanwhile."""
    flaps_told: int
    """Events of a host's link that failed and came back a hundred times."""
    flaps_moved: int
    """Updates written and generations of tables meanwhile."""
    flaps_late_p99_s: float
    """How late the event loop was meanwhile, with all tables read back every 3 s."""


class Watched(FabricController):
    """One that notes when it has computed."""

    planned_at = 0.0

    def _recompute(self) -> None:
        super()._recompute()
        self.planned_at = time.perf_counter()

    def find_host(self, edge: Edge, up: bool) -> None:
        """As if its switch's counters said so."""
        at = edge.ends[edge.a in self.fabric.hosts]
        self.watch.hosts.found([Change(link_name(edge), up, "measured", at)])

    def find(self, edge: Edge, up: bool) -> None:
        """As if probes said so."""
        self.watch._found(self.watch._monitor._turn(Direction(*edge.ends), up, "measured"))


def measure(fabric: str, rounds: int) -> Links:
    """So many links, of each tier alike, go and come back, one after the other; RigError."""
    inventory = load_fabric(fabric)
    with sinks(len(inventory.switches)) as (addresses, _):
        placed = inventory.with_addresses(dict(zip(inventory.switches, addresses, strict=True)))
        return asyncio.run(_measure(placed, rounds))


@asynccontextmanager
async def _running(fabric: Fabric, audit_s: float) -> AsyncIterator[Watched]:
    # With frozen tables, as in the controller's process (`csaud_controller.control.daemon`).
    made = Watched(
        fabric,
        find_artifacts(),
        target_named("soft"),
        probe_interval_s=0.0,
        audit_s=audit_s,
        in_place=collect_little,
    )
    running = asyncio.create_task(made.run())
    try:
        await _until_written(made)
        yield made
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def _measure(fabric: Fabric, rounds: int) -> Links:
    async with _running(fabric, audit_s=3600.0) as made:  # what sinks decode for an audit is not measured
        edges = fabric.switch_edges()
        planned, written, updates = [], [], []
        for number in range(rounds):
            edge = edges[_STEP * number % len(edges)]  # never the same again: it would be damped
            for up in (False, True):
                before = sum(task.status.updates for task in made.tasks.values())
                began = time.perf_counter()
                made.find(edge, up)
                await _until_written(made)
                written.append(time.perf_counter() - began)
                planned.append(made.planned_at - began)
                updates.append(sum(task.status.updates for task in made.tasks.values()) - before)
        policies, late_then = [], list[float]()
        for number in range(rounds):
            began = time.perf_counter()
            late_then += await _change_policy(made, "ecmp" if number % 2 == 0 else "round-robin")
            policies.append(time.perf_counter() - began)
    async with _running(fabric, audit_s=3.0) as made:
        told, moved, late = await _flap(made)
    return Links(
        len(fabric.switches), median(planned), median(written), round(median(updates)),
        median(policies), float(np.percentile(late_then, 99)), told, moved, late,
    )  # fmt: skip


async def _change_policy(made: FabricController, spray: SprayMode) -> list[float]:
    """How late the loop was until all switches held what another mode of spraying asks for."""
    policy = Policy(spray=spray)
    changing = asyncio.create_task(made.change(lambda intent: intent.model_copy(update={"policy": policy})))
    holding, found = asyncio.create_task(_until_held(made, changing)), list[float]()
    while not holding.done():
        found += await lateness(0.01)
    await holding
    return found


async def _until_held(made: FabricController, changing: asyncio.Task[int]) -> None:
    await changing
    await _until_written(made)


async def _flap(made: Watched) -> tuple[int, int, float]:
    """A hundred failures of a host's link in ten seconds, while all switches are read back."""
    edge = next(edge for edge in made.fabric.edges if {edge.a, edge.b} & made.fabric.hosts.keys())

    def moved() -> int:
        return made.generation + sum(task.status.updates for task in made.tasks.values())

    before, events = moved(), len(made.events)
    ticking = asyncio.create_task(lateness(_FLAPS * _FLAP_S))
    for number in range(2 * _FLAPS):
        made.find_host(edge, number % 2 == 1)
        await asyncio.sleep(_FLAP_S / 2)
    late = float(np.percentile(await ticking, 99))
    return len(made.events) - events, moved() - before, late


async def _until_written(made: FabricController) -> None:
    if pending := await made.wait_applied(made.generation, _PATIENCE_S):
        raise RigError(f"not programmed: {dict(list(pending.items())[:3])}")
