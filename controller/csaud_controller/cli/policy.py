"""csaud policy: spray mode, loss signal, congestion limits."""

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
    request,
    show_pending,
    table,
)
from csaud_controller.policy import LossSignal, SprayMode

app = typer.Typer(help="How the switches spray, and what they do with losses.", no_args_is_help=True)

PortOption = Annotated[
    str | None,
    typer.Option(
        "--port", metavar="SWITCH:PORT", help="Only at this port, such as l1:2 (loss signal and limits)."
    ),
]


@app.command()
def show(run: RunOption = None, as_json: JsonOption = False) -> None:
    """The policy in force."""
    with errors():
        _, answer = request(run, "intent")
        policy = answer["intent"]["policy"]
        emit(policy, as_json, lambda console: _render(console, policy))


@app.command(name="set")
def set_(
    spray: Annotated[SprayMode | None, typer.Option(help="Spray mode of CSA packets.")] = None,
    loss_signal: Annotated[
        LossSignal | None, typer.Option(help="DATA without room is cut, or only counted.")
    ] = None,
    trim_at: Annotated[
        int | None, typer.Option(min=1, max=65535, help="Packets waiting at which DATA is cut.")
    ] = None,
    drop_at: Annotated[
        int | None, typer.Option(min=1, max=65535, help="Packets waiting at which all is lost.")
    ] = None,
    port: PortOption = None,
    honour_hosts: Annotated[
        bool | None,
        typer.Option("--honour-hosts/--no-honour-hosts", help="Grant spray modes that hosts ask for."),
    ] = None,
    override: Annotated[
        list[str] | None,
        typer.Option(
            metavar="cls=N,comm=N:MODE", help="Spray a class or communicator in another way; repeat it."
        ),
    ] = None,
    clear_overrides: Annotated[
        bool, typer.Option("--clear-overrides", help="Drop all such exceptions.")
    ] = False,
    seed: Annotated[
        int | None, typer.Option(min=0, max=2**32 - 1, help="Seed of hashes and of random.")
    ] = None,
    run: RunOption = None,
    as_json: JsonOption = False,
) -> None:
    """Change the policy; returns when every switch holds it, and says which do not."""
    with errors():
        if (trim_at is None) != (drop_at is None):
            raise UnknownName("--trim-at and --drop-at belong together: give both")
        _, answer = request(run, "intent")
        now = answer["intent"]["policy"]
        patch: dict[str, Any] = {}
        for key, value in (("spray", spray), ("honour_hosts", honour_hosts), ("seed", seed)):
            if value is not None:
                patch[key] = value
        if loss_signal is not None:
            patch |= _at(now, "loss_signal", loss_signal, port)
        if trim_at is not None:
            patch |= _at(now, "limits", {"trim_at": trim_at, "drop_at": drop_at}, port)
        if override or clear_overrides:
            kept = [] if clear_overrides else now["overrides"]
            patch["overrides"] = [*map(_override, override or []), *kept]
        if not patch:
            raise UnknownName("nothing to set: see `csaud policy set --help`")
        _, answer = request(run, "policy.set", policy=patch)
        result = {"policy": answer["intent"]["policy"], "pending": answer["pending"]}

        def render(console: Console) -> None:
            _render(console, result["policy"])
            show_pending(console, answer)

        emit(result, as_json, render)
        if answer["pending"]:
            raise typer.Exit(1)


def _override(text: str) -> dict[str, Any]:
    """{"cls": 0, "spray": "ecmp"} of "cls=0:ecmp"; the controller checks the numbers and the mode."""
    match, colon, mode = text.partition(":")
    fields = dict(part.strip().partition("=")[::2] for part in match.split(","))
    if not colon or not fields.keys() <= {"cls", "comm"} or not all(v.isdigit() for v in fields.values()):
        raise UnknownName(f"expected cls=N:MODE, comm=N:MODE or cls=N,comm=N:MODE, got {text!r}")
    return {**{key: int(value) for key, value in fields.items()}, "spray": mode}


def _at(policy: dict[str, Any], key: str, value: object, port: str | None) -> dict[str, Any]:
    """The patch that sets a value everywhere, or at one port."""
    if port is None:
        return {key: value}
    return {f"{key}_at": {**policy[f"{key}_at"], port: value}}


def _render(console: Console, policy: dict[str, Any]) -> None:
    rows = table("", "setting", "value")
    rows.add_row("spray", policy["spray"])
    rows.add_row("spray modes that hosts ask for", "granted" if policy["honour_hosts"] else "ignored")
    for override in policy["overrides"]:
        where = " ".join(f"{k}={override[k]}" for k in ("cls", "comm") if override[k] is not None)
        rows.add_row(f"spray of {where}", override["spray"])
    rows.add_row("loss signal", policy["loss_signal"])
    for port, signal in policy["loss_signal_at"].items():
        rows.add_row(f"loss signal at {port}", signal)
    rows.add_row("limits", _limits(policy["limits"]))
    for port, limits in policy["limits_at"].items():
        rows.add_row(f"limits at {port}", _limits(limits))
    rows.add_row("trimmed packets", f"DSCP {policy['trim_dscp']}, queue {policy['trim_priority']}")
    rows.add_row("seed", str(policy["seed"]))
    console.print(rows)


def _limits(limits: dict[str, int] | None) -> str:
    if limits is None:
        return "by each port's buffer: trim at 1/4, drop at 15/16"
    return f"trim at {limits['trim_at']}, drop at {limits['drop_at']} packets"
