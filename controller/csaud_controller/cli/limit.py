"""csaud limit: how full a port may get before it cuts, drops and raises the alarm."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import typer
from rich.console import Console

from csaud_controller.base.units import format_duration
from csaud_controller.cli.common import (
    AtOption,
    JsonOption,
    NothingToDo,
    Patch,
    RunOption,
    SwitchesArgument,
    UnknownName,
    by_port,
    change_policy,
    check_place,
    emit,
    errors,
    given,
    policy_of,
    table,
)
from csaud_controller.cli.noun import Noun
from csaud_controller.policy.congestion import Limits
from csaud_controller.policy.model import Policy, limits_of

app = Noun(
    help="How full a port may get: where DATA is cut, all is dropped, the alarm is raised.",
    no_args_is_help=True,
    add_completion=False,
)

_NAMES = ("trim_at", "no_trim_at", "other_at", "drop_at", "alarm_at")
_COLUMNS = ("trim at#", "no-trim at#", "other at#", "drop at#", "alarm at#")


@app.command()
def show(switch: SwitchesArgument = None, run: RunOption = None, as_json: JsonOption = False) -> None:
    """The limits that were set, or what holds at each port of the switches named; in packets waiting."""
    with errors():
        fabric, policy = policy_of(run)
        if not switch:
            shown = {"limits", "limits_at", "alarm_interval", "loss_share"}
            result = policy.model_dump(mode="json", include=shown, exclude_none=True)
            emit(result, as_json, lambda console: _render(console, policy))
            return
        found = by_port(fabric, switch, partial(limits_of, fabric, policy))
        ports = {port: limits._asdict() for port, limits in found.items()}
        emit(ports, as_json, lambda console: _render_ports(console, ports))


@app.command(name="set")
def set_(
    trim_at: Annotated[
        int | None, typer.Option(min=1, max=0xFFFF, help="Packets waiting at which DATA is cut.")
    ] = None,
    no_trim_at: Annotated[
        int | None,
        typer.Option(
            min=1, max=0xFFFF, help="The same for DATA that asks not to be; equal: the wish is ignored."
        ),
    ] = None,
    other_at: Annotated[
        int | None,
        typer.Option(min=1, max=0xFFFF, help="Packets of other traffic waiting at which it is dropped."),
    ] = None,
    drop_at: Annotated[
        int | None, typer.Option(min=1, max=0xFFFF, help="Packets waiting at which nothing comes in.")
    ] = None,
    alarm_at: Annotated[
        int | None, typer.Option(min=1, max=0xFFFF, help="Packets waiting from which the alarm is raised.")
    ] = None,
    alarm_interval: Annotated[
        str | None,
        typer.Option(metavar="DURATION", help="At most one alarm a port in it; 0s: only counted."),
    ] = None,
    loss_share: Annotated[
        float | None, typer.Option(help="Share of a link, up to 1, that LOSS may take before DATA.")
    ] = None,
    at: AtOption = None,
    run: RunOption = None,
    as_json: JsonOption = False,
) -> None:
    """Set limits everywhere, or with --at at some place. Those not given stay as they were; those never given
    follow from the port's buffer."""
    with errors():
        told = given(
            trim_at=trim_at, no_trim_at=no_trim_at, other_at=other_at, drop_at=drop_at, alarm_at=alarm_at
        )
        patch: dict[str, Any] = given(alarm_interval=alarm_interval, loss_share=loss_share)
        if not told and not patch:
            raise UnknownName("nothing to set: see `csaud limit set --help`")
        if at is not None and not told:
            raise UnknownName(
                "--at is of limits; the alarm's interval and LOSS's share are the same everywhere"
            )
        change_policy(run, lambda policy: {**patch, **_told(policy, told, at)}, as_json, _render)


@app.command()
def clear(at: AtOption = None, run: RunOption = None, as_json: JsonOption = False) -> None:
    """Back to limits that follow from each port's buffer, or drop those of one place."""
    with errors():
        if at is None:
            change_policy(run, {"limits": {}, "limits_at": {}}, as_json, _render)
        else:
            check_place(run, at)
            change_policy(run, partial(_cleared, at), as_json, _render)


def _told(policy: Policy, told: dict[str, int], at: str | None) -> Patch:
    """The limits that were set, with these."""
    if not told:
        return {}
    if at is None:
        return {"limits": {**policy.limits.model_dump(exclude_none=True), **told}}
    others = _places(policy)
    before = others.pop(at, {})
    return {"limits_at": {**others, at: {**before, **told}}}


def _cleared(at: str, policy: Policy) -> Patch:
    places = _places(policy)
    if at not in places:
        raise NothingToDo(f"no limits are set at {at}; there are: {', '.join(places) or 'none'}")
    del places[at]
    return {"limits_at": places}


def _places(policy: Policy) -> dict[str, dict[str, int]]:
    return {where: limits.model_dump(exclude_none=True) for where, limits in policy.limits_at.items()}


def _render(console: Console, policy: Policy) -> None:
    rows = table("", "packets waiting", *_COLUMNS)
    for where, limits in {"everywhere": policy.limits, **policy.limits_at}.items():
        rows.add_row(where, *_cells(limits))
    console.print(rows)
    interval = policy.alarm_interval
    rate = f"at most one a port in {format_duration(interval)}" if interval else "only counted"
    console.print(f"alarms: {rate}")
    console.print(f"LOSS before DATA: up to {policy.loss_share:.0%} of a link")


def _cells(limits: Limits) -> list[str]:
    values = (getattr(limits, name) for name in _NAMES)
    return ["by buffer" if value is None else str(value) for value in values]


def _render_ports(console: Console, ports: dict[str, dict[str, int]]) -> None:
    rows = table("", "port", *_COLUMNS)
    for port, limits in ports.items():
        rows.add_row(port, *(str(limits[name]) for name in _NAMES))
    console.print(rows)
