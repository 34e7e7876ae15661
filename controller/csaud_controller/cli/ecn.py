"""csaud ecn: between which queue lengths packets are marked."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import typer
from rich.console import Console

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
    policy_of,
    table,
)
from csaud_controller.cli.noun import Noun
from csaud_controller.policy.congestion import Ecn
from csaud_controller.policy.model import Policy, ecn_of

app = Noun(
    help="Marks for senders that listen, as a queue grows.", no_args_is_help=True, add_completion=False
)


@app.command()
def show(switch: SwitchesArgument = None, run: RunOption = None, as_json: JsonOption = False) -> None:
    """What was set, or what holds at each port of the switches named; in packets waiting."""
    with errors():
        fabric, policy = policy_of(run)
        if not switch:
            result = policy.model_dump(mode="json", include={"ecn", "ecn_at"})
            emit(result, as_json, lambda console: _render(console, policy))
            return
        ports = by_port(fabric, switch, partial(ecn_of, fabric, policy))
        result = {port: found and found.model_dump() for port, found in ports.items()}
        emit(result, as_json, lambda console: _render_ports(console, ports))


@app.command(name="set")
def set_(
    low: Annotated[
        int | None, typer.Argument(min=0, max=0xFFFF, help="Packets waiting below which nothing is marked.")
    ] = None,
    high: Annotated[
        int | None, typer.Argument(min=1, max=0xFFFF, help="Packets waiting from which all are marked.")
    ] = None,
    off: Annotated[bool, typer.Option("--off", help="No marks.")] = False,
    at: AtOption = None,
    run: RunOption = None,
    as_json: JsonOption = False,
) -> None:
    """Mark packets with ECT between two queue lengths, with a probability that rises from 0 to 1.

    By default (see `clear`) that is from half of where DATA is cut up to there.
    """
    with errors():
        if off == (low is not None) or (low is None) != (high is None):
            raise UnknownName("expected LOW and HIGH, or --off")
        chosen: Any = False if off else {"low": low, "high": high}
        if at is None:
            change_policy(run, {"ecn": chosen}, as_json, _render)
            return
        place = at
        change_policy(
            run,
            lambda policy: {"ecn_at": {**_places(policy, but=place), place: chosen}},
            as_json,
            _render,
        )


@app.command()
def clear(at: AtOption = None, run: RunOption = None, as_json: JsonOption = False) -> None:
    """Back to marks that follow from the limits, or drop what was set at one place."""
    with errors():
        check_place(run, at)

        def cleared(policy: Policy) -> Patch:
            if at is None:
                return {"ecn": True, "ecn_at": {}}
            if at not in policy.ecn_at:
                raise NothingToDo(f"nothing is set at {at}; there is: {', '.join(policy.ecn_at) or 'none'}")
            return {"ecn_at": _places(policy, but=at)}

        change_policy(run, cleared, as_json, _render)


def _places(policy: Policy, but: str) -> dict[str, Any]:
    places: dict[str, Any] = policy.model_dump(mode="json")["ecn_at"]
    return {where: value for where, value in places.items() if where != but}


def describe(ecn: Ecn | bool | None) -> tuple[str, str]:
    """Where marking begins and ends, in words for two columns."""
    if ecn is True:
        return "half of trim-at", "trim-at"
    return (str(ecn.low), str(ecn.high)) if isinstance(ecn, Ecn) else ("off", "")


def _render(console: Console, policy: Policy) -> None:
    rows = table("", "packets waiting", "marks from#", "all from#")
    for where, ecn in {"everywhere": policy.ecn, **policy.ecn_at}.items():
        rows.add_row(where, *describe(ecn))
    console.print(rows)


def _render_ports(console: Console, ports: dict[str, Ecn | None]) -> None:
    rows = table("", "port", "marks from#", "all from#")
    for port, ecn in ports.items():
        rows.add_row(port, *describe(ecn))
    console.print(rows)
