"""csaud policy: how the switches spray, by destination, kind, class, communicator and what a host asks
for."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Console

from csaud_controller.base.units import format_duration
from csaud_controller.cli import policy_edge, policy_files
from csaud_controller.cli.common import (
    JsonOption,
    Patch,
    RunOption,
    SeedOption,
    UnknownName,
    change_policy,
    emit,
    errors,
    given,
    known_at,
    known_switches,
    policy_of,
    request,
    table,
)
from csaud_controller.cli.noun import Noun
from csaud_controller.inventory import Fabric
from csaud_controller.paths.equal_cost import prefixes
from csaud_controller.paths.live import LiveView, live_view
from csaud_controller.policy.intent import Intent
from csaud_controller.policy.model import Policy
from csaud_controller.policy.spray import SprayMode, SprayOverride
from csaud_controller.policy.weights import effective_weights
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

            change_policy(run, with_new, as_json, _render)
            return
        patch |= given(spray=spray, flowlet_gap=gap, seed=seed)
        if not patch:
            raise UnknownName("nothing to set: see `csaud policy set --help`")
        change_policy(run, patch, as_json, _render)


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
                known = "; ".join(map(_packets, policy.overrides)) or "none"
                raise UnknownName(f"there is no such exception; those set: {known}")
            return {"overrides": kept}

        change_policy(run, cleared, as_json, _render)


@app.command()
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
    """Show or set the weights of `weighted` spraying: `csaud policy weights l1 l3 1=3 2=1`.

    Shares are rounded to 1/64 of the packets; a port with 0 carries none of them.
    """
    with errors():
        fabric, policy = policy_of(run)
        if switch is not None:
            known_switches(fabric, [switch])
        if ports or derived:
            if switch is None or (destination is None and not derived):
                raise UnknownName("expected SWITCH DST PORT=W..., such as l1 l3 1=3 2=1")
            name, by_port = switch, dict(map(_port_weight, ports or []))
            change_policy(
                run,
                lambda policy: {"weights": _changed_weights(policy, name, destination, by_port)},
                as_json,
                _render,
            )
            return
        _, answer = request(run, "status")
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


def _port_weight(text: str) -> tuple[int, int]:
    port, equals, weight = text.partition("=")
    if not equals or not port.isdigit() or not weight.isdigit():
        raise UnknownName(f"expected PORT=WEIGHT with whole numbers, such as 1=3, got {text!r}")
    return int(port), int(weight)


def _weights_in_force(
    fabric: Fabric, policy: Policy, live: LiveView, switch: str | None, destination: str | None
) -> dict[str, dict[str, dict[int, int]]]:
    destinations = list(prefixes(fabric))
    if destination is not None and destination not in destinations:
        raise UnknownName(f"unknown destination {destination!r}; expected one of {', '.join(destinations)}")
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


def _without(policy: Policy, narrowed: dict[str, Any]) -> list[dict[str, Any]]:
    """The exceptions but that for exactly these packets."""
    key = SprayOverride(spray="ecmp", **narrowed).key
    return [o.model_dump(mode="json", exclude_none=True) for o in policy.overrides if o.key != key]


def _packets(override: SprayOverride) -> str:
    """Which packets an exception is about, in the words of the options."""
    words = override.model_dump(mode="json", exclude={"spray", "gap", "seed"}, exclude_none=True)
    return " ".join(f"{key}={value}" for key, value in words.items()) or "all"


def _spray(mode: str, gap: int, seed: int | None = None) -> str:
    text = f"{mode}, a pause of {format_duration(gap)} begins a new flowlet" if mode == "flowlet" else mode
    return text if seed is None else f"{text}, seed {seed}"


def _render_intent(console: Console, intent: Intent) -> None:
    _render(console, intent.policy)
    if intent.ending is not None:
        console.print(f"until {known_at(intent.ending.at)}; then what was before it")


def _render(console: Console, policy: Policy) -> None:
    rows = table("", "setting", "value")
    rows.add_row("spray", _spray(policy.spray, policy.flowlet_gap))
    rows.add_row("spray modes that hosts ask for", "granted" if policy.honour_hosts else "ignored")
    for override in policy.overrides:
        gap = policy.flowlet_gap if override.gap is None else override.gap
        rows.add_row(f"spray of {_packets(override)}", _spray(override.spray, gap, override.seed))
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
