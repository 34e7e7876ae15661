"""csaud drain and undrain: take links, switches and hosts out of use for maintenance, and use them again."""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from csaud_controller.base.units import parse_duration
from csaud_controller.cli.common import (
    JsonOption,
    RunOption,
    UnknownName,
    emit,
    errors,
    finish,
    request,
    table,
)
from csaud_controller.cli.noun import Noun
from csaud_controller.control.elsewhere import Elsewhere
from csaud_controller.control.here import Here
from csaud_controller.inventory import End, Fabric
from csaud_controller.policy.drains import Drains, edges_of

app = Noun(add_completion=False)
undrain_app = Noun(add_completion=False)

SHOW = "show"
_QUIET_S = 0.3
"""Nothing that came in for so long: what was on its way has arrived."""


@app.command()
def drain(
    what: Annotated[
        str, typer.Argument(metavar="LINK|SWITCH|HOST", help="Such as l1-s1, l1:1, s1, h1; `show`: what is.")
    ],
    force: Annotated[
        bool, typer.Option("--force", help="Even where hosts are cut off, or a host still sends.")
    ] = False,
    wait: Annotated[
        str, typer.Option(metavar="DURATION", help="Wait so long until nothing comes over its links.")
    ] = "10s",
    run: RunOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take a link, a switch or a host out of use, without the loss of a packet, until `csaud undrain`.

    What is on its way still arrives; a drained link carries nothing but what has no other way. Returns when
    nothing comes over its links any more; exits with 1 where something still does.
    """
    with errors():
        if what == SHOW:
            result = {"drains": request(run, "links")[1]["drains"]}
            emit(result, as_json, lambda console: _render(console, result["drains"]))
            return
        try:
            patience_s = parse_duration(wait) / 1e9
        except ValueError as error:
            raise UnknownName(f"--wait: {error}") from None
        found, answer = request(run, "drain.set", what=what, force=force)
        busy = [] if answer["pending"] else _until_quiet(found, what, patience_s)
        told = {"drained": what, "still_used": busy}
        finish(told, answer, as_json, lambda console: _tell(console, what, busy))
        if busy:
            raise typer.Exit(1)


@undrain_app.command()
def undrain(
    what: Annotated[
        str | None, typer.Argument(metavar="[LINK|SWITCH|HOST]", help="As it was drained, such as l1-s1.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All that is drained.")] = False,
    run: RunOption = None,
    as_json: JsonOption = False,
) -> None:
    """Use a drained link, switch or host again."""
    with errors():
        if everything == (what is not None):
            raise UnknownName("expected LINK, SWITCH or HOST, or --all")
        found, answer = request(run, "drain.clear", what=what)
        drains = Drains.model_validate(answer["intent"]["drains"])
        left = [rule.what for rule in drains.rules]
        over = drains.over(found.fabric(), what) if what is not None and left else []
        text = f"{what or 'everything'} is used again"
        if over:
            text = f"{what} is still not used: {', '.join(over)} is drained"
        finish(
            {"undrained": what or "all", "drained": left},
            answer,
            as_json,
            lambda console: console.print(
                f"{text}; drained: {', '.join(left) or 'nothing'}", markup=False, soft_wrap=True
            ),
            f"{what or 'nothing'} was {'not ' if what else ''}drained",
        )


def _until_quiet(found: Here | Elsewhere, what: str, patience_s: float) -> list[str]:
    """Wait until nothing comes over the links of what is drained; returns the ports where something still
    does after `patience_s`."""
    fabric = found.fabric()
    ends = [end for edge in edges_of(fabric, what) for end in edge.ends if end.node in fabric.switches]
    deadline = time.monotonic() + patience_s
    before = _come_in(found, fabric, ends)
    while True:
        time.sleep(_QUIET_S)
        after = _come_in(found, fabric, ends)
        busy = [str(end) for end in ends if after[end] != before[end]]
        if not busy or time.monotonic() > deadline:
            return busy
        before = after


def _come_in(found: Here | Elsewhere, fabric: Fabric, ends: list[End]) -> dict[End, int]:
    switches = {end.node for end in ends}
    counted = found.counters(fabric, switches=switches, counters=("ingress_kind",), unit="packets")
    return {end: sum(counted[end.node]["ingress_kind"][end.port].values()) for end in ends}


def _tell(console: Console, what: str, busy: list[str]) -> None:
    if busy:
        console.print(
            f"[yellow]{escape(what)} is drained, but packets still come in at {', '.join(busy)}[/yellow]:"
            " there is no other way for them",
            soft_wrap=True,
        )
    else:
        console.print(f"{what} is drained: nothing comes over its links", markup=False, soft_wrap=True)


def _render(console: Console, drains: list[dict[str, Any]]) -> None:
    if not drains:
        console.print("nothing is drained")
        return
    rows = table("Drained", "what", "links", "down", "")
    for drain in drains:
        note = "by force" if drain["force"] else ""
        rows.add_row(escape(drain["what"]), ", ".join(drain["links"]), ", ".join(drain["down"]), note)
    console.print(rows)
