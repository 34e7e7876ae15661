"""What was in force in a run, and what happened in it, in words."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from csaud_controller.policy.model import Policy

from csaud_topologies.record.model import EventRecord, Report

_ALWAYS = ("spray", "loss_signal", "ecn")
"""Keys of the policy that are named although they have their defaults."""


def over_time(report: Report) -> dict[str, str]:
    """Spray mode, loss signal and injected loss, one after the other where they were changed."""
    policies = [change.policy for change in report.changes]
    losses = [report.run.injected_probability, *(_largest(change.faults) for change in report.changes)]
    return {
        "spray": _in_turn([report.run.spray, *(policy["spray"] for policy in policies)]),
        "loss_signal": _in_turn([report.run.loss_signal, *(policy["loss_signal"] for policy in policies)]),
        "injected": _in_turn([f"{loss * 100:.3g} %" for loss in losses]),
    }


def happened(report: Report) -> list[EventRecord]:
    """The scenario's events and what was changed meanwhile, in the order in which they happened."""
    changed = [
        EventRecord(
            at_s=change.at_s, step=change.step, what=f"{what}{_delay(change.at_s, change.in_force_s)}"
        )
        for change in report.changes
        for what in change.what
    ]
    return sorted([*report.events, *changed], key=lambda event: event.at_s)


def policy_rows(policy: dict[str, Any]) -> list[tuple[str, str]]:
    """Keys of a policy with their values: the most important ones, and those that have no default value."""
    usual = Policy().model_dump(mode="json")
    return [
        (key, value if isinstance(value, str) else json.dumps(value))
        for key, value in policy.items()
        if key in _ALWAYS or value != usual.get(key)
    ]


def _delay(asked_s: float, in_force_s: float | None) -> str:
    if in_force_s is None:
        return " (not on every switch when the job ended)"
    return f" (on every switch {(in_force_s - asked_s) * 1e3:.0f} ms later)"


def _largest(faults: Iterable[dict[str, Any]]) -> float:
    return max((float(rule["probability"]) for rule in faults), default=0.0)


def _in_turn(values: list[str]) -> str:
    """Values without those that only repeat the one before."""
    return ", then ".join(value for at, value in enumerate(values) if at == 0 or value != values[at - 1])
