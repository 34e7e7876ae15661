"""What every switch of one fabric should hold, as what it is can hold it."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from copy import copy

from csaud_controller.base.stretches import at_once
from csaud_controller.base.yamlfile import FieldError
from csaud_controller.desired.states import DesiredStates
from csaud_controller.inventory import Fabric
from csaud_controller.paths.live import LiveView
from csaud_controller.policy.intent import Intent
from csaud_controller.program.artifacts import Artifacts
from csaud_controller.program.entities import TableState
from csaud_controller.program.room import Room
from csaud_controller.targets.assigned import Assigned


class Wanted:
    """Of one fabric, whose switches are what `of` says."""

    def __init__(self, fabric: Fabric, of: Mapping[str, Assigned]) -> None:
        self.fabric, self.of = fabric, of
        self._states_of = DesiredStates(fabric)
        self._made: dict[str, tuple[TableState, TableState]] = {}
        """What a switch should hold, and the same as its target can."""
        self._rooms: dict[Artifacts, Room] = {}
        self._fits: dict[str, TableState] = {}
        """What a switch can hold, as far as it was looked at."""

    def fork(self) -> Wanted:
        """Another one that knows as much: what it is asked does not move this one."""
        made = copy(self)
        made._states_of = self._states_of.fork()
        made._made, made._fits = {**self._made}, {**self._fits}
        return made

    def states(self, intent: Intent, live: LiveView) -> dict[str, TableState]:
        """What every switch should hold; the same object as before where nothing has changed."""
        return at_once(self._steps(intent, live))

    def check(self, intent: Intent, live: LiveView) -> dict[str, TableState]:
        """The same; FieldError when the fabric, a target or its program does not have what is asked for."""
        return at_once(self.checking(intent, live))

    def checking(self, intent: Intent, live: LiveView) -> Generator[None, None, dict[str, TableState]]:
        """`check` in steps of some milliseconds; what goes for those of DesiredStates goes for these."""
        intent.check(self.fabric)
        for target in {each.target.name: each.target for each in self.of.values()}.values():
            target.check(intent.policy)
        states = yield from self._steps(intent, live)
        for name, state in states.items():
            if self._fits.get(name) is state:
                continue
            artifacts = self.of[name].artifacts
            room = self._rooms.get(artifacts) or self._rooms.setdefault(artifacts, Room(artifacts.schema))
            if (misfit := next(room.misfits(state), None)) is not None:
                raise FieldError((), f"{name} ({self.of[name].target.name}) cannot hold that: {misfit}")
            self._fits[name] = state
            yield
        return states

    def _steps(self, intent: Intent, live: LiveView) -> Generator[None, None, dict[str, TableState]]:
        states = yield from self._states_of.steps(intent, live)
        for name, state in states.items():
            states[name] = self._adapted(name, state)
            yield
        return states

    def _adapted(self, name: str, state: TableState) -> TableState:
        before = self._made.get(name)
        if before is None or before[0] is not state:
            adapted = self.of[name].target.adapt(state, self.fabric)
            before = self._made[name] = state, adapted
        return before[1]
