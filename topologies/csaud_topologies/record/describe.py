"""What was run, for the report."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

from csaud_controller.base.units import format_duration, format_rate
from csaud_controller.inventory import Fabric

from csaud_topologies.record import model
from csaud_topologies.scenario.events import LinkEvent
from csaud_topologies.scenario.model import Scenario


def describe_run(
    scenario: Scenario, fabric: Fabric, hosts: list[str], command: Sequence[str], **known: Any
) -> model.Run:
    """`scenario` as it ran, `hosts` by rank; `known`: what does not follow from those, by its key."""
    return model.Run(
        **{
            "scenario": scenario.name,
            "about": scenario.about,
            "fabric": fabric.name,
            "seed": scenario.seed,
            "ipv6": scenario.ipv6,
            "spray": scenario.policy.spray,
            "loss_signal": scenario.policy.loss_signal,
            "loss_icrc": scenario.policy.trim_icrc,
            "ecn": scenario.policy.ecn is not False,
            "injected_probability": max((rule.probability for rule in scenario.faults), default=0.0),
            "workload": scenario.workload.model_dump(),
            "host": scenario.host,
            "background": [
                incast.model_dump(mode="json", exclude_defaults=True) for incast in scenario.background
            ],
            "events": [_event(each) for each in scenario.events],
            "ranks": hosts,
            "link_rate_bps": fabric.link.rate,
            "command": shlex.join(command),
            **known,
        }
    )


def _event(event: LinkEvent) -> dict[str, Any]:
    when = {"at_step": event.at_step} if event.after is None else {"after": format_duration(event.after)}
    more = event.model_dump(mode="json", include={"times", "loss"}, exclude_none=True)
    if event.every is not None:
        more["every"] = format_duration(event.every)
    if event.rate is not None:
        more["rate"] = format_rate(event.rate)
    return {**when, "link": event.name, "do": event.do, **more}
