"""csaud policy queues, hosts: what has which queue, and what switches take from hosts."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Console

from csaud_controller.cli.common import (
    AtOption,
    JsonOption,
    NothingToDo,
    Patch,
    RunOption,
    UnknownName,
    change_policy,
    check_place,
    emit,
    errors,
    number_pair,
    policy_of,
    table,
)
from csaud_controller.policy.edge import ALL_CLASSES
from csaud_controller.policy.model import Policy


def queues(
    given: Annotated[
        list[str] | None,
        typer.Argument(metavar="[DSCP=QUEUE]...", help="The queue (0 to 6) of packets by DSCP (0 to 63)."),
    ] = None,
    clear: Annotated[bool, typer.Option("--clear", help="All of them have queue 0 again.")] = False,
    run: RunOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show or set the queues of traffic that is not CSA, by DSCP: `csaud policy queues 26=3 46=5`.

    DSCPs that are not named keep theirs; `26=0` takes one back. (SONiC: DSCP_TO_TC_MAP and TC_TO_QUEUE_MAP.)
    """
    with errors():
        if not given and not clear:
            _, policy = policy_of(run)
            emit(_queues(policy), as_json, lambda console: _render_queues(console, policy))
            return
        chosen = dict(number_pair(each, "DSCP=QUEUE", "26=3") for each in given or [])

        def patch(policy: Policy) -> Patch:
            kept = {} if clear else dict(policy.queues)
            return {"queues": {dscp: queue for dscp, queue in sorted({**kept, **chosen}.items()) if queue}}

        change_policy(run, patch, as_json, _render_queues)


def _queues(policy: Policy) -> dict[str, int]:
    return {str(dscp): queue for dscp, queue in policy.queues.items()}


def _render_queues(console: Console, policy: Policy) -> None:
    rows = table("", "DSCP#", "queue#")
    for dscp, queue in policy.queues.items():
        rows.add_row(str(dscp), str(queue))
    rows.add_row("others" if policy.queues else "all", "0")
    console.print(rows)


def hosts(
    check: Annotated[
        bool | None,
        typer.Option(
            "--check/--no-check",
            help="Switches refuse LOSS, foreign sources and other classes.",
        ),
    ] = None,
    classes: Annotated[
        str | None, typer.Option(metavar="LIST", help="Classes that hosts may use: 0,2-4, `all` or `none`.")
    ] = None,
    at: AtOption = None,
    clear: Annotated[bool, typer.Option("--clear", help="Drop the classes of a place, or of all.")] = False,
    run: RunOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show or set what switches take from hosts: `csaud policy hosts --classes 0-3 --at l1:4`."""
    with errors():
        if at is not None and classes is None and not clear:
            raise UnknownName("--at is of --classes, or of --clear")
        if clear and classes is not None:
            raise UnknownName("expected --classes or --clear, not both")
        if check is None and classes is None and not clear:
            _, policy = policy_of(run)
            emit(_shown(policy), as_json, lambda console: _render_hosts(console, policy))
            return
        granted = None if classes is None else _classes(classes)
        check_place(run, at)

        def patch(policy: Policy) -> Patch:
            made: Patch = {} if check is None else {"check_hosts": check}
            places = {where: list(those) for where, those in policy.host_classes_at.items()}
            if clear:
                if at is not None and places.pop(at, None) is None:
                    if check is not None:
                        return made
                    raise NothingToDo(f"no classes are set at {at}; there are: {', '.join(places) or 'none'}")
                return {**made, "host_classes_at": places if at is not None else {}}
            if granted is None:
                return made
            if at is None:
                return {**made, "host_classes": granted}
            places.pop(at, None)
            return {**made, "host_classes_at": {**places, at: granted}}

        change_policy(run, patch, as_json, _render_hosts)


def _classes(text: str) -> list[int]:
    if text in ("all", "none"):
        return list(ALL_CLASSES) if text == "all" else []
    found: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.partition("-")
        ends = [first, last if dash else first]
        if not all(end.isdecimal() and int(end) in ALL_CLASSES for end in ends) or int(ends[0]) > int(
            ends[1]
        ):
            raise UnknownName(f"--classes: expected classes from 0 to 7 such as 0,2-4, got {text!r}")
        found |= {*range(int(ends[0]), int(ends[1]) + 1)}
    return sorted(found)


def _shown(policy: Policy) -> dict[str, Any]:
    return policy.model_dump(mode="json", include={"check_hosts", "host_classes", "host_classes_at"})


def _render_hosts(console: Console, policy: Policy) -> None:
    console.print(f"hosts are {'checked' if policy.check_hosts else 'not checked'}")
    rows = table("", "at", "classes that hosts may use")
    for where, granted in {"everywhere": policy.host_classes, **policy.host_classes_at}.items():
        rows.add_row(where, ", ".join(map(str, granted)) or "none")
    console.print(rows)
