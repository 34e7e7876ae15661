"""How long it takes from a link's going to what all switches hold then: the controller of a whole fabric, its
switches in another process (`controller_sink`)."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from functools import partial
from statistics import median

from csaud_controller.control.fabric_controller import FabricController
from csaud_controller.inventory import Fabric, load_fabric
from csaud_controller.policy.intent import Intent
from csaud_controller.program.artifacts import find_artifacts
from csaud_controller.targets import target_named

from bench.controller_load import sinks
from bench.rig import RigError

_PATIENCE_S = 300.0


@dataclass(frozen=True)
class Links:
    """Medians, s."""

    switches: int
    planned_s: float
    """Until the tables of all switches are computed."""
    written_s: float
    """Until all switches hold them."""


def measure(fabric: str, rounds: int) -> Links:
    """A link that goes and comes back, `rounds` times; RigError."""
    inventory = load_fabric(fabric)
    with sinks(len(inventory.switches)) as (addresses, _):
        placed = inventory.with_addresses(dict(zip(inventory.switches, addresses, strict=True)))
        return asyncio.run(_measure(placed, rounds))


async def _measure(fabric: Fabric, rounds: int) -> Links:
    made = FabricController(
        fabric, find_artifacts(), target_named("soft"), probe_interval_s=0.0, audit_s=3600.0
    )
    running = asyncio.create_task(made.run())
    try:
        await _until_written(made)
        edge = fabric.switch_edges()[0]
        first = f"{edge.a}-{edge.b}"
        planned, written = [], []
        for number in range(2 * rounds):
            began = time.perf_counter()
            await made.change(partial(_with, fabric=fabric, link=first, made=made, off=number % 2 == 0))
            planned.append(time.perf_counter() - began)
            await _until_written(made)
            written.append(time.perf_counter() - began)
        return Links(len(fabric.switches), median(planned), median(written))
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


def _with(intent: Intent, fabric: Fabric, link: str, made: FabricController, off: bool) -> Intent:
    drains = intent.drains.with_drain(fabric, link, made.live) if off else intent.drains.without(link)
    return intent.model_copy(update={"drains": drains})


async def _until_written(made: FabricController) -> None:
    if pending := await made.wait_applied(made.generation, _PATIENCE_S):
        raise RigError(f"not programmed: {dict(list(pending.items())[:3])}")
