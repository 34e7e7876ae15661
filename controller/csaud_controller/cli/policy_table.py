"""The policy in force as a table, as the commands that change it show it."""

from __future__ import annotations

from rich.console import Console

from csaud_controller.base.units import format_duration
from csaud_controller.cli.common import table
from csaud_controller.policy.model import Policy
from csaud_controller.policy.spray import SprayOverride


def packets(override: SprayOverride) -> str:
    """Which packets an exception is about, in the words of the options."""
    words = override.model_dump(mode="json", exclude={"spray", "gap", "seed"}, exclude_none=True)
    return " ".join(f"{key}={value}" for key, value in words.items()) or "all"


def _spray(mode: str, gap: int, seed: int | None = None) -> str:
    text = f"{mode}, a pause of {format_duration(gap)} begins a new flowlet" if mode == "flowlet" else mode
    return text if seed is None else f"{text}, seed {seed}"


def render(console: Console, policy: Policy) -> None:
    rows = table("", "setting", "value")
    rows.add_row("spray", _spray(policy.spray, policy.flowlet_gap))
    rows.add_row("spray modes that hosts ask for", "granted" if policy.honour_hosts else "ignored")
    for override in policy.overrides:
        gap = policy.flowlet_gap if override.gap is None else override.gap
        rows.add_row(f"spray of {packets(override)}", _spray(override.spray, gap, override.seed))
    for switch, by_destination in policy.weights.items():
        for to, by_port in by_destination.items():
            text = " ".join(f"{port}={weight}" for port, weight in by_port.items())
            rows.add_row(f"weights of {switch} to {to}", text)
    if not policy.weights:
        rows.add_row("weights", "by the rates of links")
    rows.add_row("loss signal", policy.loss_signal + (", with exceptions" if policy.signals else ""))
    limits = policy.limits.model_dump(exclude_none=True)
    text = ", ".join(f"{key} {value}" for key, value in limits.items()) or "by each port's buffer"
    rows.add_row("limits", text + (", with exceptions" if policy.limits_at else ""))
    ecn = {True: "by the limits", False: "off"}.get(policy.ecn, "") if isinstance(policy.ecn, bool) else ""
    if not isinstance(policy.ecn, bool):
        ecn = f"between {policy.ecn.low} and {policy.ecn.high} packets"
    rows.add_row("ECN marks", ecn + (", with exceptions" if policy.ecn_at else ""))
    queues = ", ".join(f"DSCP {dscp}: {queue}" for dscp, queue in policy.queues.items())
    rows.add_row("queues of other traffic", f"{queues}, others: 0" if queues else "0")
    rows.add_row("hosts", "checked" if policy.check_hosts else "not checked")
    rows.add_row("seed", str(policy.seed))
    console.print(rows)
