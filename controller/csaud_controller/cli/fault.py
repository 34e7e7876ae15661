"""csaud fault: losses on purpose."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Console

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
from csaud_controller.policy.faults import DEFAULT_KINDS
from csaud_controller.policy.places import GRAMMAR
from csaud_controller.program.packets import KINDS

app = Noun(help="Losses on purpose, seeded and counted.", no_args_is_help=True, add_completion=False)

WhereOption = Annotated[
    str,
    typer.Option(
        "--where",
        metavar="PLACE",
        help=f"{GRAMMAR}; uplinks: once on each path between hosts.",
    ),
]


@app.command()
def show(run: RunOption = None, as_json: JsonOption = False) -> None:
    """The faults in force."""
    with errors():
        _, answer = request(run, "intent")
        rules = answer["intent"]["faults"]["rules"]
        emit(rules, as_json, lambda console: _render(console, rules))


@app.command(name="set")
def set_(
    probability: Annotated[float, typer.Argument(min=0.0, max=1.0, help="Of losing a packet, such as 0.01.")],
    where: WhereOption = "uplinks",
    kinds: Annotated[
        str, typer.Option(help=f"Comma-separated, of {', '.join(KINDS)}.", show_default=True)
    ] = ",".join(DEFAULT_KINDS),
    signalled: Annotated[
        bool, typer.Option("--signalled/--silent", help="Lost as in congestion, or without a word.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Chooses which packets are lost.")] = 1,
    run: RunOption = None,
    as_json: JsonOption = False,
) -> None:
    """Lose packets at some place; replaces an earlier fault of the same place."""
    with errors():
        chosen = list(dict.fromkeys(kind.strip() for kind in kinds.split(",") if kind.strip()))
        unknown = [kind for kind in chosen if kind not in KINDS]
        if unknown or not chosen:
            raise UnknownName(
                f"unknown kind {', '.join(unknown) or '(none)'}; expected some of {', '.join(KINDS)}"
            )
        rule = {
            "where": where,
            "probability": probability,
            "kinds": chosen,
            "signalled": signalled,
            "seed": seed,
        }
        _, answer = request(run, "fault.set", rule=rule)
        _finish(answer, as_json)


@app.command()
def clear(
    where: Annotated[
        str | None,
        typer.Option("--where", metavar="PLACE", help="Only this place's; default: all."),
    ] = None,
    run: RunOption = None,
    as_json: JsonOption = False,
) -> None:
    """Lose no more packets on purpose."""
    with errors():
        _, answer = request(run, "fault.clear", where=where)
        already = "no fault is set"
        if where is not None:
            others = ", ".join(rule["where"] for rule in answer["intent"]["faults"]["rules"])
            already += f" for {where}; there is: {others or 'none'}"
        _finish(answer, as_json, already)


def _finish(answer: dict[str, Any], as_json: bool, already: str = "it was so already") -> None:
    rules = answer["intent"]["faults"]["rules"]
    finish({"faults": rules}, answer, as_json, lambda console: _render(console, rules), already)


def _render(console: Console, rules: list[dict[str, Any]]) -> None:
    if not rules:
        console.print("no faults")
        return
    rows = table("", "where", "probability#", "kinds", "told", "seed#")
    for rule in rules:
        told = "signalled" if rule["signalled"] else "silent"
        rows.add_row(
            rule["where"], f"{rule['probability']:g}", ", ".join(rule["kinds"]), told, str(rule["seed"])
        )
    console.print(rows)
