"""The controller as a process: one event loop that serves a run directory until it is stopped."""

from __future__ import annotations

import asyncio
import logging
import signal
import time
from ipaddress import IPv4Network
from pathlib import Path

from csaud_runs.directory import is_served

from csaud_controller.control.client import ControlError
from csaud_controller.control.fabric_controller import FabricController
from csaud_controller.control.server import ControlServer
from csaud_controller.desired import store
from csaud_controller.desired.changes import differences
from csaud_controller.desired.history import History, Record
from csaud_controller.inventory import Fabric
from csaud_controller.policy.intent import Intent
from csaud_controller.run.directory import RunDir
from csaud_controller.targets import Target

LOG = logging.getLogger("csaud.controller")


async def serve(
    run: RunDir,
    fabric: Fabric,
    target: Target,
    *,
    intent: Intent | None = None,
    program: Path | None = None,
    probe_interval_s: float = 0.15,
    audit_s: float = 3.0,
    reports: tuple[str, int] | None = None,
    take_over: bool = False,
    socket_group: int | None = None,
    report_networks: tuple[IPv4Network, ...] = (),
) -> None:
    """Control `fabric` until SIGTERM, SIGINT or a request to stop.

    `reports`: host and port where path reports of hosts are taken, too, from the fabric's hosts and
    `report_networks`. `socket_group`: id of the group whose members may use the control socket, beside root
    and the controller's own user.

    ControlError: one already runs; nothing of it is changed.

    The desired state is that of desired.json, if an earlier controller of this run left one; `intent`
    replaces it. `take_over`: take switches that another run directory's controller had, too.
    """
    if is_served(run.control_socket):
        raise ControlError(f"a controller already runs: {run.control_socket} is in use")
    stored = before = store.load(run.desired_file) or store.Stored()
    now = time.time()
    asked = (stored.intent if intent is None else intent).at(now)
    if intent is not None or asked != stored.intent:
        stored = stored.model_copy(update={"intent": asked, "revision": stored.revision + 1})
    election_id = max(stored.election_id + 1, int(time.time()) if take_over else 0)
    stored = stored.model_copy(update={"election_id": election_id})
    controller = FabricController(
        fabric,
        target.find_program(program),
        target,
        stored=stored,
        save=lambda changed: store.save(run.desired_file, changed),
        save_fabric=lambda changed: store.replace_file(run.fabric_file, changed.to_json()),
        probe_interval_s=probe_interval_s,
        audit_s=audit_s,
        history=(history := History(run.history_file)),
    )
    what = differences(before.intent, asked) or ["as it was when the controller started"]
    await history.begin(Record(stored.revision, now, "controller", what, "", asked))
    store.save(run.desired_file, stored)
    server = ControlServer(
        controller, run.control_socket, reports, group=socket_group, report_networks=report_networks
    )
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, server.stopped.set)
    started = time.monotonic()
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(controller.run()),
                group.create_task(_tell_when_programmed(controller, started)),
            ]
            await server.serve()
            for task in tasks:
                task.cancel()
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)
    LOG.info("stopped; the switches keep their tables")


async def _tell_when_programmed(controller: FabricController, started: float) -> None:
    generation = controller.generation
    pending = await controller.wait_applied(generation, 30)
    if pending:
        reasons = ", ".join(f"{name} ({why})" for name, why in pending.items())
        LOG.warning("not programmed after 30 s: %s", reasons)
    else:
        seconds = time.monotonic() - started
        LOG.info("%d switches hold their tables after %.3f s", len(controller.tasks), seconds)
