"""The task of each switch, and what runs them: those of switches that come begin, of those that go end."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial

from csaud_controller.base.pace import Pace
from csaud_controller.base.rotation import Rotation
from csaud_controller.base.stretches import Stretches
from csaud_controller.base.yamlfile import FieldError
from csaud_controller.inventory import Fabric
from csaud_controller.switches.task import Hooks, SwitchTask
from csaud_controller.switches.tls import credentials, in_words
from csaud_controller.targets.assigned import Assigned

Tasks = dict[str, SwitchTask]

_WOKEN_AT_ONCE = 8


class Sessions:
    """Those of one controller."""

    def __init__(self, hooks: Hooks, audit_s: float, election_id: int) -> None:
        self._hooks, self._audit_s, self._election_id = hooks, audit_s, election_id
        self._stretches, self._opening, self._rotation = Stretches(), Pace(), Rotation()
        self._known: dict[SwitchTask, object] = {}
        """What a task was made of."""
        self._running: dict[SwitchTask, asyncio.Task[None]] = {}

    def of(self, fabric: Fabric, of: Mapping[str, Assigned], before: Mapping[str, SwitchTask] = {}) -> Tasks:
        """A task a switch: that of `before` where nothing about the way to the switch has changed.

        FieldError: no address is known of a switch. TlsError: a certificate cannot be read.
        """
        for name, spec in fabric.switches.items():
            if spec.p4runtime is None:
                raise FieldError(("switches", name, "p4runtime"), "no P4Runtime address is known")
        return {name: self._task(fabric, name, of[name], before.get(name)) for name in fabric.switches}

    def _task(self, fabric: Fabric, name: str, of: Assigned, before: SwitchTask | None) -> SwitchTask:
        spec, files = fabric.switches[name], partial(credentials, fabric, name)
        made_of = (spec.p4runtime, spec.device_id, of, fabric.tls_client, files() is None)
        if before is not None and self._known.get(before) == made_of:
            return before
        made = SwitchTask(
            name,
            spec.p4runtime or "",
            spec.device_id,
            of.artifacts,
            of.target,
            self._hooks,
            credentials=files,
            unreachable=partial(in_words, fabric, name),
            audit_s=self._audit_s,
            election_id=self._election_id,
            stretches=self._stretches,
            opening=self._opening,
            rotation=self._rotation,
        )
        self._known[made] = made_of
        return made

    def follow(self, group: asyncio.TaskGroup | None, tasks: Mapping[str, SwitchTask]) -> None:
        """Run these tasks in the group, and end all others. A switch whose way has changed is left on the old
        one before it is reached on the new."""
        ending: dict[str, asyncio.Task[None]] = {}
        for task in {*self._known} - {*tasks.values()}:
            del self._known[task]
            if (running := self._running.pop(task, None)) is not None:
                running.cancel()
                ending[task.name] = running
        for task in tasks.values():
            if group is not None and task not in self._running:
                run = _after(ending.get(task.name), task)
                self._running[task] = group.create_task(run, name=task.name)


async def _after(ending: asyncio.Task[None] | None, task: SwitchTask) -> None:
    if ending is not None:
        await asyncio.wait([ending])
    await task.run()


def holds(tasks: Tasks, generation: int) -> bool:
    """Whether every switch has been written this generation, but for updates that it refuses."""
    return all(task.status.applied >= generation for task in tasks.values())


def pending(tasks: Tasks, generation: int) -> dict[str, str]:
    """The switches that do not hold all of this generation, with the reason."""
    found = {}
    for name, task in tasks.items():
        status = task.status
        if status.applied < generation:
            waits = "still being written" if status.connected else "not connected"
            found[name] = status.error or waits
        elif status.refused:
            more = f", and {status.refused_total - 1} more" if status.refused_total > 1 else ""
            found[name] = f"refuses to {status.refused[0]}{more}"
    return found


def wake(tasks: list[SwitchTask]) -> None:
    """A few in each round of the event loop: each computes what it has to write as soon as it wakes."""
    for task in tasks[:_WOKEN_AT_ONCE]:
        task.wake()
    if rest := tasks[_WOKEN_AT_ONCE:]:
        asyncio.get_running_loop().call_soon(wake, rest)
