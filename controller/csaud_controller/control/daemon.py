"""The controller as a process: one event loop that serves a run directory until it is stopped."""

from __future__ import annotations

import asyncio
import logging
import signal
import time
from collections.abc import Callable
from ipaddress import IPv4Network
from pathlib import Path

from csaud_runs.directory import is_served
from csaud_runs.whole import write_whole

from csaud_controller.base.garbage import collect_little
from csaud_controller.base.yamlfile import ConfigError, FieldError, key_text
from csaud_controller.control.client import ControlError
from csaud_controller.control.fabric_controller import FabricController
from csaud_controller.control.server import ControlServer
from csaud_controller.control.turns import Turns, tell_when_programmed
from csaud_controller.desired import store
from csaud_controller.desired.changes import differences
from csaud_controller.desired.history import History, Record, Revisions
from csaud_controller.desired.keeper import Save
from csaud_controller.desired.shared import SharedStore
from csaud_controller.inventory import Fabric
from csaud_controller.policy.intent import Intent
from csaud_controller.run.directory import RunDir
from csaud_controller.switches.primacy import Primacy
from csaud_controller.targets import Target

_HIGHEST = 1 << 63
"""Election ids from here on leave no room for those that are to come: nobody gets above them."""

LOG = logging.getLogger("csaud.controller")


async def serve(
    run: RunDir,
    fabric: Fabric,
    target: Target,
    *,
    intent: Intent | None,
    program: Path | None,
    probe_interval_s: float,
    audit_s: float,
    reports: tuple[str, int] | None,
    take_over: bool,
    socket_group: int | None,
    report_networks: tuple[IPv4Network, ...],
    shared: SharedStore | None,
) -> None:
    """Control `fabric` until SIGTERM, SIGINT or a request to stop.

    `reports`: host and port where path reports of hosts are taken, too, from the fabric's hosts and
    `report_networks`. `socket_group`: id of the group whose members may use the control socket, beside root
    and the controller's own user.

    ControlError: one already runs; nothing of it is changed. ConfigError: desired.json asks for what the
    fabric does not have or hold.

    The desired state is that of desired.json, if an earlier controller of this run left one; `intent`
    replaces it. `take_over`: take switches that another run directory's controller had, too. With
    `shared`, the desired state is there, and all of these are only what it begins with; as long as another
    controller is primary, this one stands by.
    """
    if is_served(run.control_socket):
        raise ControlError(f"a controller already runs: {run.control_socket} is in use")
    stored = before = store.load(run.desired_file) or store.Stored()
    now = time.time()
    asked = (stored.intent if intent is None else intent).at(now)
    if intent is None:
        _check_kept(asked, fabric, run.desired_file)
    if intent is not None or asked != stored.intent:
        stored = stored.model_copy(update={"intent": asked, "revision": stored.revision + 1})
    election_id = stored.election_id + 1
    if take_over:  # by a clock that may be behind that of whoever took over before
        election_id = max(election_id, int(time.time()), await _above_all(fabric))
    stored = stored.model_copy(update={"election_id": election_id})

    def made(
        fabric: Fabric,
        stored: store.Stored,
        save: Save,
        save_fabric: Callable[[Fabric], None],
        history: Revisions,
    ) -> FabricController:
        return FabricController(
            fabric,
            target.find_program(program),
            target,
            stored=stored,
            save=save,
            save_fabric=save_fabric,
            place=run.with_sockets,
            probe_interval_s=probe_interval_s,
            audit_s=audit_s,
            history=history,
            in_place=collect_little,
        )

    def save_fabric(changed: Fabric) -> None:
        write_whole(run.fabric_file, changed.to_json(), synced=True)

    alone = None
    if shared is None:
        history = History(run.history_file)
        save: Save = lambda changed: store.save(run.desired_file, changed)  # noqa: E731
        alone = made(fabric, stored, save, save_fabric, history)
        what = differences(before.intent, asked) or ["as it was when the controller started"]
        await alone.begin(Record(stored.revision, now, "controller", what, "", asked))
        store.save(run.desired_file, stored)
    server = ControlServer(
        alone,
        run.control_socket,
        reports,
        group=socket_group,
        report_networks=report_networks,
    )
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, server.stopped.set)
    try:
        async with asyncio.TaskGroup() as group:
            if alone is not None:
                work = group.create_task(_control(alone))
            elif shared is not None:
                turns = Turns(shared, server, fabric, stored, made, save_fabric)
                work = group.create_task(turns.take())
            await server.serve()
            work.cancel()
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)
    LOG.info("stopped; the switches keep their tables")


async def _above_all(fabric: Fabric) -> int:
    """An election id above those that the switches have seen."""
    seen = await Primacy(fabric, lambda: None).highest()
    return seen + 1 if seen < _HIGHEST else 0


def _check_kept(kept: Intent, fabric: Fabric, file: Path) -> None:
    try:
        kept.check(fabric)
    except FieldError as error:
        told = f"kept by an earlier controller, and does not hold any more: {error}"
        raise ConfigError(str(file), None, key_text(error.loc), told) from None


async def _control(controller: FabricController) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(controller.run())
        group.create_task(tell_when_programmed(controller))
