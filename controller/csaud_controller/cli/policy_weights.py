"""csaud policy weights: shares of the paths of `weighted` spraying."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from csaud_controller.cli.common import (
    JsonOption,
    RunOption,
    UnknownName,
    change_policy,
    emit,
    errors,
    known_switches,
    number_pair,
    policy_of,
    status_of,
    table,
    warn,
)
from csaud_controller.cli.policy_table import render
from csaud_controller.inventory import Fabric
from csaud_controller.paths.equal_cost import prefixes
from csaud_controller.paths.live import LiveView, live_view
from csaud_controller.policy.model import Policy
from csaud_controller.policy.weights import EVERYWHERE, effective_weights


def weights(
    switch: Annotated[str | None, typer.Argument(help="Whose weights; default: of all switches.")] = None,
    destination: Annotated[
        str | None, typer.Argument(metavar="DST", help="Towards the hosts of this switch, or `all`.")
    ] = None,
    ports: Annotated[
        list[str] | None, typer.Argument(metavar="PORT=W...", help="A weight for each port that leads there.")
    ] = None,
    derived: Annotated[
        bool, typer.Option("--derived", help="Back to weights that follow from the rates of links.")
    ] = False,
    run: RunOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show or set the weights of `weighted` spraying: `csaud policy weights l1 l3 1=3 2=1`. Other modes take
    none.

    Shares are rounded to 1/64 of the packets; a port with 0 carries none of them.
    """
    with errors():
        fabric, policy = policy_of(run)
        if switch is not None:
            known_switches(fabric, [switch])
        if ports or derived:
            if switch is None or (destination is None and not derived):
                raise UnknownName("expected SWITCH DST PORT=W..., such as l1 l3 1=3 2=1")
            name, by_port = switch, dict(number_pair(each, "PORT=WEIGHT", "1=3") for each in ports or [])
            if destination not in (None, EVERYWHERE):
                _check_destination(fabric, destination)
            change_policy(
                run,
                lambda policy: {"weights": _changed_weights(policy, name, destination, by_port)},
                as_json,
                render,
            )
            return
        _, answer = status_of(run)
        warn(policy.warnings)
        found = _weights_in_force(fabric, policy, live_view(fabric, answer["status"]), switch, destination)
        emit(found, as_json, lambda console: _render_weights(console, fabric, found))


def _changed_weights(
    policy: Policy, switch: str, destination: str | None, ports: dict[int, int]
) -> dict[str, dict[str, dict[int, int]]]:
    """The policy's weights with these in place of what was there; without `ports`, less what was there."""
    changed = {name: dict(by_destination) for name, by_destination in policy.weights.items()}
    here = changed.setdefault(switch, {})
    if destination is None:
        here.clear()
    else:
        here.pop(destination, None)
        if ports:
            here[destination] = ports
    return {name: by_destination for name, by_destination in changed.items() if by_destination}


def _check_destination(fabric: Fabric, name: str) -> None:
    destinations = list(prefixes(fabric))
    if name not in destinations:
        raise UnknownName(f"unknown destination {name!r}; expected one of {', '.join(destinations)}")


def _weights_in_force(
    fabric: Fabric, policy: Policy, live: LiveView, switch: str | None, destination: str | None
) -> dict[str, dict[str, dict[int, int]]]:
    destinations = list(prefixes(fabric))
    if destination is not None:
        _check_destination(fabric, destination)
    return {
        name: {
            to: dict(effective_weights(fabric, policy.weights, name, to, live))
            for to in destinations
            if to != name and destination in (None, to)
        }
        for name in known_switches(fabric, switch and [switch])
    }


def _render_weights(console: Console, fabric: Fabric, found: dict[str, dict[str, dict[int, int]]]) -> None:
    rows = table("", "switch", "to", "weight by port")
    for switch, by_destination in found.items():
        for to, by_port in by_destination.items():
            peers = fabric.peers[switch]
            text = "  ".join(f"{port}={weight} ({peers[port].node})" for port, weight in by_port.items())
            rows.add_row(switch, to, text or "no path")
    console.print(rows)
