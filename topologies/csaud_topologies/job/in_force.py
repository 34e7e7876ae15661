"""What switches were really asked to do while a job ran: policy and faults, which are the scenario's until
somebody changes them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from csaud_controller.desired.changes import differences
from csaud_controller.policy.intent import Intent
from csaud_runs.errors import RunError

from csaud_topologies.fabric.running import RunningFabric
from csaud_topologies.record.model import ChangeRecord, EventRecord, InForce
from csaud_topologies.scenario.model import Scenario


@dataclass(frozen=True)
class Demands:
    """What was in force on every switch at one moment."""

    intent: Intent
    number: int
    """Changes that the controller had been asked for by then."""
    links_down: frozenset[frozenset[str]]
    controller: float
    """When the controller of then began, in seconds since the epoch."""

    def applied_to(self, scenario: Scenario) -> Scenario:
        """The scenario as it runs: with the policy and the faults that are in force."""
        ran = {"policy": self.intent.policy, "faults": list(self.intent.faults.rules)}
        return scenario.model_copy(update=ran)

    def record(self, scenario: Scenario) -> InForce:
        """For the report of a job that began then; `scenario` as it was written."""
        return InForce(
            **_parts(self.intent.model_dump(mode="json")),
            unlike_scenario=differences(scenario.intent(), self.intent),
            links_down=sorted("-".join(sorted(link)) for link in self.links_down),
        )


def demands(running: RunningFabric) -> Demands:
    """Those of now; RunError when some switch does not hold what is asked for."""
    if pending := running.control("wait")["pending"]:
        reasons = ", ".join(f"{name} ({why})" for name, why in pending.items())
        raise RunError(f"these switches do not hold what was asked for: {reasons}")
    answer = running.control("changes")
    intent = Intent.model_validate(answer["intent"])
    return Demands(intent, answer["total"], frozenset(running.links_down), answer["began"])


def changes_since(
    before: Demands, running: RunningFabric, began: float, finished: Sequence[float]
) -> tuple[list[ChangeRecord], list[EventRecord]]:
    """What has been changed since, and whether another controller has taken over. `began` is when all ranks
    had found each other and `finished` when all had finished each step, in seconds since the epoch."""
    answer = running.control("changes", since=before.number)
    changes = [
        ChangeRecord(
            at_s=change["time"] - began,
            in_force_s=None if change["in_force"] is None else change["in_force"] - began,
            step=bisect_right(finished, change["time"]),
            what=change["what"],
            **_parts(change["intent"]),
        )
        for change in answer["changes"]
    ]
    if (again := answer["began"]) == before.controller:
        return changes, []
    what = "the controller was started again"
    return changes, [EventRecord(at_s=again - began, step=bisect_right(finished, again), what=what)]


def _parts(intent: dict[str, Any]) -> dict[str, Any]:
    return {"policy": intent["policy"], "faults": intent["faults"]["rules"]}
