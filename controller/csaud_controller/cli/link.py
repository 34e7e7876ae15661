"""csaud link: links, which of them are used, and how those that flap are damped."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from csaud_controller.base.units import format_duration, parse_duration
from csaud_controller.cli.common import (
    JsonOption,
    RunOption,
    UnknownName,
    by_ends,
    change_policy,
    emit,
    errors,
    given,
    request,
    table,
)
from csaud_controller.cli.noun import Noun
from csaud_controller.links.damping import DampingSettings
from csaud_controller.links.grey import GreySettings
from csaud_controller.policy.drains import edges_of
from csaud_controller.policy.model import Policy

app = Noun(
    help="The links between switches: which are used, and why others are not.",
    no_args_is_help=True,
    add_completion=False,
)


@app.command()
def show(
    what: Annotated[
        list[str] | None, typer.Argument(metavar="[LINK|SWITCH|HOST]...", help="Only these; default: all.")
    ] = None,
    run: RunOption = None,
    as_json: JsonOption = False,
) -> None:
    """Whether links are up and used, why not, how often they failed, and what penalty is left of that.

    Of links to hosts those that failed of late, and those that are named.
    """
    with errors():
        found, answer = request(run, "links")
        fabric = found.fabric()
        states = by_ends(answer["links"])
        wanted = {str(edge) for each in what or () for edge in edges_of(fabric, each)}
        links = [
            {"link": f"{edge.a}-{edge.b}", **states[str(edge)]}
            for edge in fabric.switch_edges()
            if str(edge) in states and (not what or str(edge) in wanted)
        ]
        hosts = [
            {"link": f"{edge.a}-{edge.b}", **each}
            for each in answer["hosts"]
            for edge in fabric.edges_between(each["host"], each["at"].rpartition(":")[0])
            if each["at"] in map(str, edge.ends) and (not what or str(edge) in wanted)
        ]
        emit(
            {"links": links, "hosts": hosts},
            as_json,
            lambda console: _render(console, links, hosts, bool(what)),
        )


@app.command()
def damping(
    half_life: Annotated[
        str | None, typer.Option(metavar="DURATION", help="In which a penalty halves; default: 15s.")
    ] = None,
    suppress: Annotated[
        int | None,
        typer.Option(help="Penalty from which a link is left out (1000 a failure); default: 2500."),
    ] = None,
    reuse: Annotated[int | None, typer.Option(help="Below it, it is used again; default: 750.")] = None,
    longest: Annotated[
        str | None,
        typer.Option(metavar="DURATION", help="It waits no longer after it failed; default: 1min."),
    ] = None,
    off: Annotated[bool, typer.Option("--off", help="Damp no link.")] = False,
    default: Annotated[bool, typer.Option("--default", help="Back to the defaults.")] = False,
    run: RunOption = None,
    as_json: JsonOption = False,
) -> None:
    """How links that fail again and again are damped; without options: what holds."""
    with errors():
        chosen = given(
            half_life=_duration("--half-life", half_life),
            suppress=suppress,
            reuse=reuse,
            longest=_duration("--longest", longest),
        )
        if bool(chosen) + off + default > 1:
            raise UnknownName("expected thresholds and times, or --off, or --default")
        if not chosen and not off and not default:
            _, answer = request(run, "intent")
            policy = Policy.model_validate(answer["intent"]["policy"])
            result = {"damping": policy.damped.model_dump(mode="json") if policy.damped else None}
            emit(result, as_json, lambda console: _render_damping(console, policy))
            return

        def changed(policy: Policy) -> dict[str, Any]:
            if off or default:
                return {"damping": default}
            kept = (policy.damped or DampingSettings()).model_dump(mode="json")
            return {"damping": {**kept, **chosen}}

        change_policy(run, changed, as_json, _render_damping)


@app.command()
def grey(
    loss: Annotated[
        float | None, typer.Option(help="Share of packets lost that takes a link out; default: 0.02.")
    ] = None,
    hosts: Annotated[
        int | None, typer.Option(help="That must complain before links are examined; default: 3.")
    ] = None,
    share: Annotated[float | None, typer.Option(help="Of the links, out at most; default: 0.25.")] = None,
    pressure: Annotated[
        float | None,
        typer.Option(help="Share of DATA without room or marked that takes a slow link out; default: 0.005."),
    ] = None,
    packets: Annotated[int | None, typer.Option(help="Sent over a link to examine it; default: 200.")] = None,
    every: Annotated[
        str | None, typer.Option(metavar="DURATION", help="Between two examinations; default: 10s.")
    ] = None,
    off: Annotated[bool, typer.Option("--off", help="Look for none.")] = False,
    default: Annotated[bool, typer.Option("--default", help="Back to the defaults.")] = False,
    run: RunOption = None,
    as_json: JsonOption = False,
) -> None:
    """How links that lose packets, or are slow, are found and left out; without options: what holds."""
    with errors():
        chosen = given(
            loss=loss,
            hosts=hosts,
            share=share,
            pressure=pressure,
            packets=packets,
            every=_duration("--every", every),
        )
        if bool(chosen) + off + default > 1:
            raise UnknownName("expected numbers and times, or --off, or --default")
        if not chosen and not off and not default:
            _, answer = request(run, "intent")
            policy = Policy.model_validate(answer["intent"]["policy"])
            holds = policy.looks_for_grey
            result = {"grey": holds.model_dump(mode="json") if holds else None}
            emit(result, as_json, lambda console: _render_grey(console, policy))
            return

        def changed(policy: Policy) -> dict[str, Any]:
            if off or default:
                return {"grey": default}
            kept = (policy.looks_for_grey or GreySettings()).model_dump(mode="json")
            return {"grey": {**kept, **chosen}}

        change_policy(run, changed, as_json, _render_grey)


def _duration(option: str, text: str | None) -> int | None:
    try:
        return None if text is None else parse_duration(text)
    except ValueError as error:
        raise UnknownName(f"{option}: {error}") from None


def _render(
    console: Console, links: list[dict[str, Any]], hosts: list[dict[str, Any]], all_hosts: bool
) -> None:
    rows = table("", "link", "from", "to", "state", "failed#", "penalty#", "why it is not used")
    for link in links:
        state = "up" if link["up"] else "[red]down[/red]"
        if link["up"] and link["out"]:
            state = "[yellow]not used[/yellow]"
        rows.add_row(
            link["link"],
            link["a"],
            link["b"],
            state,
            str(link["failures"]) if link["failures"] else "",
            f"{link['penalty']:,.0f}" if link["penalty"] >= 1 else "",
            escape("; ".join(link["out"])),
        )
    for link in hosts:
        if all_hosts or link["up"] is False or link["failures"]:
            state = {True: "up", False: "[red]silent[/red]", None: "not known"}[link["up"]]
            failed = str(link["failures"]) if link["failures"] else ""
            penalty = f"{link['penalty']:,.0f}" if link["penalty"] >= 1 else ""
            why = f"flaps: told of again in {link['reused_in_s']:.0f} s" if link["damped"] else ""
            rows.add_row(link["link"], link["at"], link["host"], state, failed, penalty, why)
    console.print(rows)


def _render_damping(console: Console, policy: Policy) -> None:
    damped = policy.damped
    if damped is None:
        console.print("links are not damped")
        return
    console.print(
        f"a link is left out from a penalty of {damped.suppress} on (1000 a failure, halved every"
        f" {format_duration(damped.half_life)}), and used again below {damped.reuse}, at most"
        f" {format_duration(damped.longest)} after it last failed",
        soft_wrap=True,
    )


def _render_grey(console: Console, policy: Policy) -> None:
    holds = policy.looks_for_grey
    if holds is None:
        console.print("links that lose packets are not looked for")
        return
    console.print(
        f"where {holds.hosts} hosts complain, links are examined with {holds.packets} packets each, at most"
        f" every {format_duration(holds.every)}; those that lose {holds.loss:.1%} and more are left out,"
        f" and those that have no room for {holds.pressure:.1%} of DATA, or mark it, where their like have,"
        f" at most {holds.share:.0%} of all",
        soft_wrap=True,
    )
