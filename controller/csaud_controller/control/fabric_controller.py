"""The controller of one fabric: a task a switch, the link monitor, and the desired state that joins them."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from csaud_controller.base.stretches import Stretches
from csaud_controller.control.alarms import AlarmLog
from csaud_controller.control.examiner import Examiner
from csaud_controller.control.fabric_change import following, in_words, table_changes, wiring_changes
from csaud_controller.control.gathering import Gathering
from csaud_controller.control.link_watch import LinkWatch
from csaud_controller.control.policy_ends import end_policies, since_boot
from csaud_controller.control.revised_intent import RevisedIntent
from csaud_controller.control.sessions import Sessions, Tasks, holds, pending, wake
from csaud_controller.control.wanted import Wanted
from csaud_controller.desired.history import History, Record, Revisions
from csaud_controller.desired.keeper import Save
from csaud_controller.desired.store import Stored
from csaud_controller.inventory import End, Fabric
from csaud_controller.links.monitor import Change
from csaud_controller.paths.host_reports import HostPaths
from csaud_controller.paths.live import LiveView
from csaud_controller.policy.intent import Intent
from csaud_controller.program.artifacts import Artifacts
from csaud_controller.program.entities import TableState
from csaud_controller.switches.channel import notice_silence
from csaud_controller.switches.failures import listening
from csaud_controller.switches.task import Hooks, shared_schema
from csaud_controller.targets import Target
from csaud_controller.targets.assigned import Assigned, assigned

LOG = logging.getLogger("csaud.controller")


_EVENTS_KEPT = 1000


class FabricController:
    """Keeps every switch of `fabric` as `intent` and the live links demand.

    `save` is called with what must outlive this process, whenever that changes, and `save_fabric` in a thread
    with a fabric that replaces this one. `target` and `artifacts` are of switches whose fabric does not say
    what they are. `probe_interval_s`: 0 switches link probes off, and all links are then taken to be up.
    `in_place` is called when the first tables were computed, and when a switch has its own after a session
    was opened.
    `clock`: seconds since the epoch, by which policies end, and `steady`: seconds that nobody sets. `place`
    gives addresses to switches that come without.
    """

    def __init__(
        self,
        fabric: Fabric,
        artifacts: Artifacts,
        target: Target,
        *,
        stored: Stored | None = None,
        save: Save = lambda stored: None,
        save_fabric: Callable[[Fabric], None] = lambda fabric: None,
        place: Callable[[Fabric], Fabric] = lambda fabric: fabric,
        probe_interval_s: float = 0.15,
        audit_s: float = 3.0,
        history: Revisions | None = None,
        in_place: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.time,
        steady: Callable[[], float] = since_boot,
    ) -> None:
        stored = stored or Stored()
        self._clock, self._steady, self._in_place = clock, steady, in_place
        self.began = clock()
        """Seconds since the epoch; of another controller of the same fabric it is another time."""
        self.fabric, self.artifacts, self.target = fabric, artifacts, target
        self._asked = RevisedIntent(stored, save, history or History(), clock, lambda: self.watch.dead_links)
        self.history, self.changes = self._asked.history, self._asked.changes
        self.generation = 1
        self.events: deque[dict[str, Any]] = deque(maxlen=_EVENTS_KEPT)
        """Changes of links and switches, oldest first: seconds since the epoch, what, up, why."""
        self.alarms = AlarmLog()
        self.host_paths = HostPaths()
        self._save_fabric, self._place = save_fabric, place
        self.watch = LinkWatch(
            fabric,
            lambda: self.tasks,
            self.tell,
            interval_s=probe_interval_s,
            damped=self.intent.policy.damped,
            dead_links=stored.dead_links,
        )
        looks_for_grey = lambda: self.intent.policy.looks_for_grey  # noqa: E731
        self.examiner = Examiner(self, self.watch.health, looks_for_grey)
        self._live = self._view(self.intent)
        self._wanted = Wanted(fabric, assigned(fabric, Assigned(target, artifacts)))
        self._desired: dict[str, TableState] = {}
        self._desired_generation = self.generation
        self._gathering = Gathering()
        self._stretches = Stretches()
        self._timer: asyncio.TimerHandle | None = None
        self._settled = asyncio.Event()
        self._group: asyncio.TaskGroup | None = None
        self._sessions = Sessions(self._hooks(), audit_s, stored.election_id)
        self.tasks: Tasks = self._sessions.of(fabric, self._wanted.of)
        self._wanted.check(self.intent, self._live)
        self._recompute()
        self._in_place()

    def _hooks(self) -> Hooks:
        return Hooks(
            desired=lambda name: (self._desired_generation, self._desired[name]),
            ready=self._on_ready,
            lost=self._on_lost,
            unheard=self._on_unheard,
            settled=self._on_settled,
            probed=self.watch.sent,
            probe=self.watch.received,
            counted=self.watch.counted,
            alarm=self._on_alarm,
        )

    async def begin(self, now: Record) -> None:
        """Go on with the history: `now` is what is asked for at the start. HistoryError."""
        await self._asked.begin(now, self.generation)

    @property
    def intent(self) -> Intent:
        """That in force."""
        return self._asked.intent

    @property
    def revision(self) -> int:
        """How often the intent, or the fabric, has changed."""
        return self._asked.revision

    async def run(self) -> None:
        """Until cancelled."""
        notice_silence()
        try:
            with listening(), shared_schema():
                await self._run()
        finally:
            self._stop_waiting()
            await self._asked.end()

    async def _run(self) -> None:
        async with asyncio.TaskGroup() as group:
            self._group = group
            self._sessions.follow(group, self.tasks)
            ends = end_policies(lambda: self.intent, self.change, self._clock, self._steady)
            group.create_task(ends, name="ends of policies")
            if self.watch.interval_s:
                group.create_task(self.watch.probe(lambda: self._live), name="link probes")
                group.create_task(self.examiner.watch(), name="grey links")

    async def change(self, change: Intent | Callable[[Intent], Intent], revision: int | None = None) -> int:
        """Take a new intent, or what a function makes of the present one; returns the generation that
        switches have to reach. Who asks is noted in the history (ASKER).

        Nothing changes with FieldError: it names unknown things, or more than a switch can hold;
        ConflictError: `revision` was given, and is not that of the present intent; NotKeptError,
        HistoryError: it cannot be kept.
        """
        async with self._asked.revising(revision):
            before = self.intent
            intent = change(before) if callable(change) else change
            wanted, _ = await self._computed(self._wanted.fork(), intent)
            await self._asked.take(intent)
            self._wanted = wanted
            self.watch.damp(intent.policy.damped)
            self._live = self._view(intent)
            self.generation += 1
            self._asked.tell_since(before, self.generation)
            self._follow()
            return self.generation

    async def change_fabric(self, fabric: Fabric, revision: int | None = None) -> tuple[int, bool]:
        """Take another fabric while switches forward; the rest as `change`. Nothing changes, either, with
        TlsError or ArtifactsError. Also returns whether it is another one."""
        async with self._asked.revising(revision):
            wanted, _ = await self._computed(self._wanted_of(fabric), self.intent)
            if wanted.fabric == self._place(following(self.fabric, self.fabric)):
                return self.generation, False  # ids of groups that were only not written down are none, too
            tasks = self._sessions.of(wanted.fabric, wanted.of, self.tasks)
            what = in_words(wiring_changes(self.fabric, wanted.fabric))
            await self._asked.revise(what, self.intent, lambda: self._save_fabric(wanted.fabric))
            # from here on nothing is waited for: all of it takes effect at once
            self.generation += 1
            self.fabric, self._wanted, self.tasks = wanted.fabric, wanted, tasks
            self.watch.follow(wanted.fabric, self.intent.policy.damped)
            self._live = self._view(self.intent)
            self._asked.tell(what, self.generation)
            self._follow()
            self._sessions.follow(self._group, tasks)
            return self.generation, True

    def keep(self) -> None:
        """Save what is current, should it not be."""
        self._asked.keep_soon()

    async def plan_fabric(self, fabric: Fabric) -> dict[str, Any]:
        """What `change_fabric` would change, as JSON values; its errors."""
        async with self._asked.revising():
            before = self._desired
            wanted, after = await self._computed(self._wanted_of(fabric), self.intent)
            tables = await self._stretches.compute(table_changes(before, after))
            return {**wiring_changes(self.fabric, wanted.fabric), "tables": tables}

    async def plan_intent(self, change: Callable[[Intent], Intent]) -> dict[str, Any]:
        """What `change` would write, as JSON values; its errors."""
        async with self._asked.revising():
            before = self._desired
            _, after = await self._computed(self._wanted.fork(), change(self.intent))
            return {"tables": await self._stretches.compute(table_changes(before, after))}

    async def _computed(self, wanted: Wanted, intent: Intent) -> tuple[Wanted, dict[str, TableState]]:
        """What this intent asks of every switch, checked, while links are heard and others answered; with
        what made it, which nobody else has, and which knows the rest of the way."""
        live = self.watch.seen(wanted.fabric, intent.drains)
        return wanted, await self._stretches.compute(wanted.checking(intent, live))

    def _view(self, intent: Intent) -> LiveView:
        """What can carry packets, where this is asked for."""
        return self.watch.seen(self.fabric, intent.drains)

    def _wanted_of(self, fabric: Fabric) -> Wanted:
        fabric = self._place(following(self.fabric, fabric))
        return Wanted(fabric, assigned(fabric, Assigned(self.target, self.artifacts)))

    async def wait_applied(self, generation: int, timeout_s: float) -> dict[str, str]:
        """Wait until every switch holds this generation, but for updates that it refuses; returns those that
        do not hold it all, with the reason."""
        await self.wait_until(lambda: holds(self.tasks, generation), timeout_s)
        return self.pending(generation)

    async def wait_in_sync(self, timeout_s: float) -> dict[str, str]:
        """Like wait_applied, for whatever is desired when the wait ends: links and switches may change
        meanwhile."""
        await self.wait_until(lambda: holds(self.tasks, self.generation), timeout_s)
        return self.pending(self.generation)

    async def wait_until(self, reached: Callable[[], bool], timeout_s: float) -> bool:
        """Wait until `reached()`, asked again whenever a switch or link changed; False if it never is."""
        try:
            async with asyncio.timeout(timeout_s):
                while not reached():
                    self._settled.clear()
                    await self._settled.wait()
        except TimeoutError:
            return False
        return True

    def status(self) -> dict[str, Any]:
        """Everything that `csaud fabric show` tells, as JSON values."""
        live = self._live
        return {
            "fabric": self.fabric.name,
            "target": "+".join(dict.fromkeys(each.target.name for each in self._wanted.of.values())),
            "pipeline": {"digest": self.artifacts.digest, "cookie": f"{self.artifacts.cookie:#018x}"},
            "generation": self.generation,
            "switches": {
                name: {
                    **asdict(task.status),
                    "address": task.address,
                    "target": task.target.name,
                    "alive": name not in live.dead_switches,
                }
                for name, task in self.tasks.items()
            },
            "links": self.links(),
            "hosts": self.watch.hosts.links(),
            "miswired": self.watch.miswired,
            "probes": {"interval_s": self.watch.interval_s, "rounds": self.watch.round},
            "events": [*self.events][-100:],
            "revision": self.revision,
            "not_kept": self._asked.not_kept,
            "alarms": {"total": self.alarms.total, "by_port": dict(self.alarms.by_port)},
        }

    def links(self) -> list[dict[str, Any]]:
        """Those between switches, in the fabric's order, as JSON values: whether they are up, and why they
        are not used where they are not."""
        return self.watch.links(self._live, self.intent.drains)

    @property
    def live(self) -> LiveView:
        """What can carry packets at present."""
        return self._live

    def pending(self, generation: int) -> dict[str, str]:
        """The switches that do not hold all of it yet, with the reason."""
        return pending(self.tasks, generation)

    def _on_alarm(self, name: str, digest: Mapping[str, Any]) -> None:
        LOG.warning("alarm: %s", self.alarms.add(name, self._wanted.of[name].target.alarm(digest)))
        self._settled.set()

    def _on_settled(self, _name: str) -> None:
        self.changes.settle(lambda generation: not self.pending(generation))
        self._settled.set()

    def _on_ready(self, name: str) -> None:
        status = self.tasks[name].status
        LOG.info("%s: %d entries in place after %.3f s", name, status.held, status.programmed_s or 0)
        self._in_place()
        self.watch.ready(name)

    def _on_lost(self, name: str) -> None:
        self.watch.lost(name)
        self._settled.set()

    def _on_unheard(self, name: str) -> None:
        self.watch.unheard(name)
        self._settled.set()

    def tell(self, changes: list[Change]) -> None:
        """Links that are used no more, or again, for the log and for those who ask."""
        for change in changes:
            level = logging.INFO if change.up else logging.WARNING
            LOG.log(level, "%s %s: %s", change.what, "up" if change.up else "down", change.why)
            self.events.append({"time": time.time(), "what": change.what, "up": change.up, "why": change.why})
        self._look()

    def set_examined(self, links: frozenset[End]) -> int:
        """Have switches know the addresses of these links; returns the generation to wait for."""
        self.watch.examined = links
        self._look()
        return self.generation

    def _look(self) -> None:
        """Compute anew where what can carry packets has changed."""
        self._settled.set()
        live = self._view(self.intent)
        if live != self._live:
            self._live = live
            self.generation += 1
            now = time.monotonic_ns()
            if (due := self._gathering.event(now)) is not None:
                self._timer = asyncio.get_running_loop().call_later((due - now) / 1e9, self._follow)

    def _follow(self) -> None:
        """Compute what is desired by now and tell every switch."""
        self._stop_waiting()
        began = time.monotonic_ns()
        try:
            self._recompute()
        finally:  # whatever went wrong, the next event is computed again
            self._gathering.computed(began, time.monotonic_ns())
        wake([*self.tasks.values()])
        self._asked.keep_soon()

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _recompute(self) -> None:
        self._desired = self._wanted.states(self.intent, self._live)
        self._desired_generation = self.generation
