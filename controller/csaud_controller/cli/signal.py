"""csaud signal: what becomes of DATA for which a port has no room."""

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
    given,
    policy_of,
    table,
)
from csaud_controller.cli.noun import Noun
from csaud_controller.policy.model import Policy, signals_of
from csaud_controller.policy.signals import HEADERS_ONLY, WITH_ICRC, LossSignal, Signal, SignalRule

app = Noun(
    help="What becomes of DATA without room: trimmed, bounced, both or dropped.",
    no_args_is_help=True,
    add_completion=False,
)

ClassOption = Annotated[
    int | None, typer.Option("--cls", min=0, max=7, metavar="N", help="Only DATA of this criticality class.")
]


@app.command()
def show(switch: SwitchesArgument = None, run: RunOption = None, as_json: JsonOption = False) -> None:
    """The loss signal and its exceptions, or what holds at each port of the switches named."""
    with errors():
        fabric, policy = policy_of(run)
        if not switch:
            rules = [rule.model_dump(mode="json", exclude_none=True) for rule in policy.signals]
            result = {"everywhere": policy.signal.model_dump(), "exceptions": rules}
            emit(result, as_json, lambda console: _render(console, policy))
            return
        found = by_port(fabric, switch, partial(signals_of, fabric, policy))
        ports = {
            port: [{"cls": cls, **signal.model_dump()} for cls, signal in signals]
            for port, signals in found.items()
        }
        emit(ports, as_json, lambda console: _render_ports(console, ports))


@app.command(name="set")
def set_(
    signal: Annotated[
        LossSignal | None,
        typer.Argument(
            metavar="[trim|bounce|both|drop]",
            help="A LOSS to the receiver, to the sender, to both, or none.",
            show_default=False,
        ),
    ] = None,
    at: AtOption = None,
    cls: ClassOption = None,
    size: Annotated[
        int | None,
        typer.Option(min=HEADERS_ONLY, max=0xFFFF, help=f"Bytes of the frame kept; {HEADERS_ONLY}: headers."),
    ] = None,
    dscp: Annotated[int | None, typer.Option(min=0, max=63, help="DSCP of a LOSS.")] = None,
    priority: Annotated[
        int | None, typer.Option(min=0, max=7, help="Queue of a LOSS; 7 is served first.")
    ] = None,
    icrc: Annotated[
        bool | None,
        typer.Option(
            "--icrc/--no-icrc",
            help=f"{WITH_ICRC} bytes with an iCRC, so that a LOSS completes as a receive on verbs devices.",
        ),
    ] = None,
    run: RunOption = None,
    as_json: JsonOption = False,
) -> None:
    """Set the loss signal everywhere, or with --at and --cls at some place or for one class.

    What is not given stays as it was. How far DATA that asks not to be trimmed may go is a limit: see `csaud
    limit set --no-trim-at`.
    """
    with errors():
        told = given(signal=signal, size=size, dscp=dscp, priority=priority, icrc=icrc)
        if not told:
            raise UnknownName("nothing to set: see `csaud signal set --help`")
        if at is None and cls is None:
            names = {"signal": "loss_signal", **{key: f"trim_{key}" for key in told if key != "signal"}}
            change_policy(run, {names[key]: value for key, value in told.items()}, as_json, _render)
            return

        def with_rule(policy: Policy) -> Patch:
            old = next((rule for rule in policy.signals if rule.key == (at, cls)), None)
            before = old.model_dump(mode="json", exclude_none=True) if old else {}
            rule = {**before, **given(where=at, cls=cls), **told}
            return {"signals": [*_without(policy, at, cls), rule]}

        change_policy(run, with_rule, as_json, _render)


@app.command()
def clear(
    at: AtOption = None, cls: ClassOption = None, run: RunOption = None, as_json: JsonOption = False
) -> None:
    """Drop the exception of exactly this place and class, or all exceptions."""
    with errors():
        check_place(run, at)

        def cleared(policy: Policy) -> Patch:
            kept = [] if at is None and cls is None else _without(policy, at, cls)
            if (at is not None or cls is not None) and len(kept) == len(policy.signals):
                known = "; ".join(map(_about, policy.signals)) or "none"
                raise NothingToDo(f"there is no such exception; those set: {known}")
            return {"signals": kept}

        change_policy(run, cleared, as_json, _render)


def _without(policy: Policy, at: str | None, cls: int | None) -> list[dict[str, Any]]:
    return [
        rule.model_dump(mode="json", exclude_none=True) for rule in policy.signals if rule.key != (at, cls)
    ]


def _about(rule: SignalRule) -> str:
    where = rule.where or "everywhere"
    return where if rule.cls is None else f"{where}, class {rule.cls}"


def _cells(signal: Signal) -> tuple[str, ...]:
    if signal.signal == "drop":
        return ("drop", "", "", "", "")
    form = f"headers and iCRC, {WITH_ICRC} bytes" if signal.icrc else "without iCRC"
    return (
        signal.signal,
        "" if signal.icrc else str(signal.size),
        str(signal.dscp),
        str(signal.priority),
        form,
    )


_COLUMNS = ("signal", "bytes#", "DSCP#", "queue#", "form")


def _render(console: Console, policy: Policy) -> None:
    rows = table("", "DATA without room", *_COLUMNS)
    rows.add_row("everywhere", *_cells(policy.signal))
    for rule in policy.signals:
        rows.add_row(_about(rule), *_cells(rule.applied_to(policy.signal)))
    console.print(rows)


def _render_ports(console: Console, ports: dict[str, list[dict[str, Any]]]) -> None:
    rows = table("", "port", "class#", *_COLUMNS)
    for port, signals in ports.items():
        for each in signals:
            cls = "any" if each["cls"] is None else str(each["cls"])
            rows.add_row(port, cls, *_cells(Signal(**{k: v for k, v in each.items() if k != "cls"})))
    console.print(rows)
