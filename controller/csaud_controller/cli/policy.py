"""csaud policy: how the switches spray, by destination, kind, class, communicator and what a host asks
for."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Console

from csaud_controller.cli import policy_edge, policy_files, policy_weights
from csaud_controller.cli.common import (
    JsonOption,
    NothingToDo,
    Patch,
    RunOption,
    SeedOption,
    UnknownName,
    change_policy,
    emit,
    errors,
    given,
    known_at,
    request,
    warn,
)
from csaud_controller.cli.noun import Noun, controller_of
from csaud_controller.cli.policy_table import packets, render
from csaud_controller.policy.intent import Intent
from csaud_controller.policy.model import Policy
from csaud_controller.policy.spray import SprayMode, SprayOverride
from csaud_controller.program.packets import KindName

app = Noun(
    help="How the switches spray packets over equal paths.", no_args_is_help=True, add_completion=False
)

ToOption = Annotated[
    str | None, typer.Option("--to", metavar="SWITCH", help="Packets to the hosts of this switch.")
]
KindOption = Annotated[KindName | None, typer.Option("--kind", help="Packets of this kind.")]
ClassOption = Annotated[
    int | None, typer.Option("--cls", min=0, max=7, metavar="N", help="Packets of this criticality class.")
]
CommOption = Annotated[
    int | None, typer.Option("--comm", min=0, max=0xFFFF, metavar="N", help="Packets of this communicator.")
]
QkeyOption = Annotated[
    int | None,
    typer.Option(
        "--qkey", min=0, max=2**32 - 1, metavar="N", help="Packets of this Q_Key, if switches see it."
    ),
]
SrcOption = Annotated[
    str | None, typer.Option("--src", metavar="PREFIX", help="Packets from there: all hosts of switches.")
]
DstOption = Annotated[
    str | None, typer.Option("--dst", metavar="PREFIX", help="Packets to there: all hosts of switches.")
]
AskedOption = Annotated[
    SprayMode | None, typer.Option("--asked", help="Packets whose sender asks for this mode.")
]


app.command()(policy_files.apply)
app.command()(policy_files.diff)
app.command()(policy_files.history)
app.command()(policy_files.rollback)
app.command()(policy_files.schema)
app.command()(policy_edge.queues)
app.command()(policy_edge.hosts)


@app.command()
def show(
    revision: Annotated[
        int | None, typer.Option("--revision", min=0, help="That of the history instead.")
    ] = None,
    run: RunOption = None,
    as_json: JsonOption = False,
) -> None:
    """The policy in force; `csaud signal`, `csaud limit` and `csaud ecn` tell more of their parts."""
    with errors():
        if revision is None:
            _, answer = request(run, "intent")
        else:
            answer = request(run, "policy.history", revision=revision)[1]["record"]
        intent = Intent.model_validate(answer["intent"])
        warn(intent.policy.warnings)
        emit(intent.policy.model_dump(mode="json"), as_json, lambda console: _render_intent(console, intent))


@app.command(name="set")
def set_(
    spray: Annotated[SprayMode | None, typer.Option(help="Spray mode.")] = None,
    gap: Annotated[
        str | None, typer.Option(metavar="DURATION", help="Pause that begins a new flowlet, such as 500us.")
    ] = None,
    seed: SeedOption = None,
    to: ToOption = None,
    kind: KindOption = None,
    cls: ClassOption = None,
    comm: CommOption = None,
    asked: AskedOption = None,
    qkey: QkeyOption = None,
    src: SrcOption = None,
    dst: DstOption = None,
    honour_hosts: Annotated[
        bool | None,
        typer.Option("--honour-hosts/--no-honour-hosts", help="Grant spray modes that hosts ask for."),
    ] = None,
    run: RunOption = None,
    as_json: JsonOption = False,
) -> None:
    """Set the spray mode of all CSA packets, or with --to, --kind, --cls, --comm, --asked that of some.

    Such an exception comes before what hosts ask for, and the newest before older ones. No packet is lost by
    a change. Returns when every switch holds it.
    """
    with errors():
        narrowed = given(to=to, kind=kind, cls=cls, comm=comm, asked=asked, qkey=qkey, src=src, dst=dst)
        patch: dict[str, Any] = given(honour_hosts=honour_hosts)
        if narrowed:
            if spray is None:
                raise UnknownName(f"--{next(iter(narrowed))} needs --spray: how are these packets sprayed?")
            new = {"spray": spray, **narrowed, **given(gap=gap, seed=seed)}

            def with_new(policy: Policy) -> Patch:
                return {**patch, "overrides": [new, *_without(policy, narrowed)]}

            change_policy(run, with_new, as_json, render)
            return
        patch |= given(spray=spray, flowlet_gap=gap, seed=seed)
        if not patch:
            raise UnknownName("nothing to set: see `csaud policy set --help`")
        change_policy(run, patch, as_json, render)


@app.command()
def clear(
    to: ToOption = None,
    kind: KindOption = None,
    cls: ClassOption = None,
    comm: CommOption = None,
    asked: AskedOption = None,
    qkey: QkeyOption = None,
    src: SrcOption = None,
    dst: DstOption = None,
    run: RunOption = None,
    as_json: JsonOption = False,
) -> None:
    """Drop the exception for exactly these packets, or all exceptions."""
    with errors():
        narrowed = given(to=to, kind=kind, cls=cls, comm=comm, asked=asked, qkey=qkey, src=src, dst=dst)

        def cleared(policy: Policy) -> Patch:
            kept = _without(policy, narrowed) if narrowed else []
            if narrowed and len(kept) == len(policy.overrides):
                known = "; ".join(map(packets, policy.overrides)) or "none"
                Policy(overrides=(SprayOverride(spray="ecmp", **narrowed),)).check(
                    controller_of(run).fabric()
                )
                raise NothingToDo(f"there is no such exception; those set: {known}")
            return {"overrides": kept}

        change_policy(run, cleared, as_json, render)


app.command()(policy_weights.weights)


def _without(policy: Policy, narrowed: dict[str, Any]) -> list[dict[str, Any]]:
    """The exceptions but that for exactly these packets."""
    key = SprayOverride(spray="ecmp", **narrowed).key
    return [o.model_dump(mode="json", exclude_none=True) for o in policy.overrides if o.key != key]


def _render_intent(console: Console, intent: Intent) -> None:
    render(console, intent.policy)
    if intent.ending is not None:
        console.print(f"until {known_at(intent.ending.at)}; then what was before it")
