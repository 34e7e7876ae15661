"""One of several controllers of a fabric: it stands by, is primary, and stands by again.

Whoever is primary has a term, kept by a lease in the store that they share. It is over when the lease ends,
or when all switches that had this controller as primary have none any more: a process that is killed is
missed at once by them, and after two seconds by the store. The next one takes a higher term, which is its
election id: from then on neither switches nor store take anything from the one before, should it come back.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable

from csaud_runs.etcd import StoreError

from csaud_controller.control.fabric_controller import FabricController
from csaud_controller.control.renewing import Renewing
from csaud_controller.control.server import ControlServer
from csaud_controller.desired.changes import differences
from csaud_controller.desired.history import HistoryError, Record, Revisions
from csaud_controller.desired.keeper import Save
from csaud_controller.desired.shared import Held, SharedStore, SupersededError
from csaud_controller.desired.shared_history import SharedHistory
from csaud_controller.desired.store import Stored
from csaud_controller.inventory import Fabric
from csaud_controller.switches.primacy import Primacy

LOG = logging.getLogger("csaud.controller")

SaveFabric = Callable[[Fabric], None]
Make = Callable[[Fabric, Stored, Save, SaveFabric, Revisions], FabricController]

_LOOK_S = 0.25
_SURE_S = 0.2
"""A primary that opens its sessions anew is back by then."""


class Turns:
    """Of this controller. `fabric` and `stored` are what the store begins with, where it has nothing; `make`
    makes a controller; `keep_fabric` keeps the fabric in the run directory."""

    def __init__(
        self,
        store: SharedStore,
        server: ControlServer,
        fabric: Fabric,
        stored: Stored,
        make: Make,
        keep_fabric: SaveFabric,
    ) -> None:
        self._store, self._server, self._fabric, self._stored = store, server, fabric, stored
        self._make, self._keep_fabric = make, keep_fabric
        self._trouble = ""
        self._fabric_is_kept = True
        """False: nobody knows which the store has."""
        self._leading: FabricController | None = None

    async def take(self) -> None:
        """Until cancelled."""
        while True:
            term = await self._stand_by()
            began = time.monotonic()
            LOG.info("%s is primary from now on, term %d", self._store.name, term)
            try:
                await self._lead(term, began)
            except (SupersededError, HistoryError) as error:
                LOG.warning("not primary any more: %s", error)
            except BaseException:
                with contextlib.suppress(StoreError):
                    await asyncio.to_thread(self._store.release)  # who asks meanwhile is answered
                raise

    async def _stand_by(self) -> int:
        """Until this controller is primary; its term."""
        told = asyncio.Event()
        watched: Fabric | None = None
        primacy, watching = Primacy(self._fabric, told.set), None
        try:
            while True:
                try:
                    if (term := await self._tried(primacy)) is not None:
                        return term
                    if watched is not (known := await self._known_fabric()):
                        watched = known
                        if watching is not None:
                            watching.cancel()
                        primacy = Primacy(known, told.set)
                        watching = asyncio.create_task(primacy.watch(), name="primacy")
                    self._trouble = ""
                except StoreError as error:
                    self._troubled(error)
                    self._server.primary = f"nobody knows who ({error})"
                told.clear()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_LOOK_S):
                        await told.wait()
        finally:
            if watching is not None:
                watching.cancel()

    async def _tried(self, primacy: Primacy) -> int | None:
        """The term, if nobody is primary any more and this controller became it."""
        seen = await asyncio.to_thread(self._store.held)
        self._server.primary = seen.name
        if seen.is_held and not await self._is_gone(seen, primacy):
            return None
        return await asyncio.to_thread(self._store.take, seen)

    async def _is_gone(self, seen: Held, primacy: Primacy) -> bool:
        if not primacy.lost(seen.term):
            return False
        await asyncio.sleep(_SURE_S)
        return primacy.lost(seen.term)

    async def _known_fabric(self) -> Fabric:
        """That of the store; its file in the run directory is the same from then on."""
        found = await asyncio.to_thread(self._store.fabric)
        if found is not None and found != self._fabric:
            await asyncio.to_thread(self._keep_fabric, found)
            self._fabric = found
        return self._fabric

    async def _lead(self, term: int, began: float) -> None:
        async with Renewing(self._store.renew, self._renewed) as renewing:
            await self._reign(await self._made_for(term), renewing, began)

    async def _made_for(self, term: int) -> FabricController:
        fabric, kept = await self._known_fabric(), await asyncio.to_thread(self._store.load)
        before = kept or self._stored
        now = time.time()
        asked = before.intent.at(now)
        revision = before.revision + (asked != before.intent)
        stored = before.model_copy(update={"intent": asked, "revision": revision, "election_id": term})
        history = SharedHistory(self._store)
        controller = self._make(fabric, stored, self._save, self._save_fabric, history)
        what = differences(before.intent, asked) or [f"as it was when {self._store.name} became primary"]
        await controller.begin(Record(revision, now, "controller", what, "", asked))
        await asyncio.to_thread(self._store.save_fabric, fabric)
        await asyncio.to_thread(self._store.save, stored)
        self._fabric_is_kept = True
        return controller

    async def _reign(self, controller: FabricController, renewing: Renewing, began: float) -> None:
        tasks = [
            asyncio.create_task(controller.run(), name="controller"),
            asyncio.create_task(tell_when_programmed(controller, began)),
        ]
        self._server.lead(controller)
        self._leading = controller
        try:
            done, _ = await asyncio.wait((tasks[0], renewing.over), return_when=asyncio.FIRST_COMPLETED)
            for each in done:
                each.result()
        finally:
            self._server.lead(None)
            self._leading = None
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    def _renewed(self, error: StoreError | None) -> None:
        """The term was, or for this reason was not: without the store nobody else can be primary."""
        if error is not None:
            self._troubled(error)
        elif self._trouble:
            LOG.info("the store is back")
            self._trouble = ""
            if self._leading is not None:
                self._leading.keep()

    def _save(self, stored: Stored) -> None:
        if not self._fabric_is_kept:
            self._store.save_fabric(self._fabric)
            self._fabric_is_kept = True
        self._store.save(stored)

    def _save_fabric(self, fabric: Fabric) -> None:
        self._fabric_is_kept = False  # the store may take it, and its answer be lost
        self._store.save_fabric(fabric)
        self._fabric, self._fabric_is_kept = fabric, True
        try:
            self._keep_fabric(fabric)
        except OSError as error:  # whoever is primary next has it all the same
            LOG.warning("the store has the fabric, the run directory has not: %s", error)

    def _troubled(self, error: StoreError) -> None:
        if str(error) != self._trouble:
            LOG.warning("%s", error)
        self._trouble = str(error)


async def tell_when_programmed(controller: FabricController, began: float | None = None) -> None:
    """In the log: how long it took from `began`, or from now."""
    began = time.monotonic() if began is None else began
    pending = await controller.wait_applied(controller.generation, 30)
    if pending:
        reasons = ", ".join(f"{name} ({why})" for name, why in pending.items())
        LOG.warning("not programmed after 30 s: %s", reasons)
    else:
        LOG.info(
            "%d switches hold their tables after %.3f s", len(controller.tasks), time.monotonic() - began
        )
