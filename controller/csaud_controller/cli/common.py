"""What all commands share: the options --run and --json, and errors as one line with exit status 1 (2 for
usage)."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from csaud_runs.directory import ENVIRONMENT
from csaud_runs.errors import RunError
from pydantic import ValidationError
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from csaud_controller.base.working_folder import GONE, is_gone
from csaud_controller.base.yamlfile import ConfigError, FieldError, SourceError, mistake
from csaud_controller.cli.noun import controller_of
from csaud_controller.control.client import (
    ConflictError,
    ControlError,
    RefusedError,
    StandsByError,
    standing_by,
)
from csaud_controller.control.elsewhere import Elsewhere
from csaud_controller.control.here import Here
from csaud_controller.desired.history import HistoryError
from csaud_controller.inventory import Fabric
from csaud_controller.policy.model import Policy
from csaud_controller.policy.places import GRAMMAR, ports_of
from csaud_controller.program.artifacts import ArtifactsError
from csaud_controller.switches.errors import CountersError, TlsError
from csaud_controller.targets import TARGETS, Target, target_named

T = TypeVar("T")

RunOption = Annotated[
    Path | None,
    typer.Option(
        "--run",
        envvar=ENVIRONMENT,
        metavar="DIR",
        help="Directory of the running fabric; default: the one of this directory.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
AtOption = Annotated[str | None, typer.Option("--at", metavar="PLACE", help=f"Only there: {GRAMMAR}.")]
SwitchesArgument = Annotated[
    list[str] | None, typer.Argument(metavar="[SWITCH]...", help="What holds at each port of these switches.")
]
TargetOption = Annotated[
    str, typer.Option("--target", help=f"What the switches are that do not say it: {', '.join(TARGETS)}.")
]
SeedOption = Annotated[
    int | None, typer.Option(min=0, max=2**32 - 1, help="Of hashes and of everything random.")
]

_KNOWN_ERRORS = (
    RunError,
    ControlError,
    CountersError,
    ArtifactsError,
    HistoryError,
    TlsError,
    OSError,
)

USAGE = 2
"""Exit status when an argument names something that does not exist, or a file has a mistake."""


class UnknownName(Exception):
    """An argument names a host, switch, link or port that the fabric does not have."""


class NothingToDo(Exception):
    """What was asked for holds already; says so."""


@contextmanager
def errors() -> Iterator[None]:
    """Turns the errors that a user can do something about into one line on stderr and an exit status."""
    try:
        yield
    except SourceError as error:
        fail(str(error), 1)
    except (UnknownName, RefusedError, ConfigError, FieldError) as error:
        fail(str(error), USAGE)
    except ValidationError as error:
        fail(mistake(error), USAGE)
    except _KNOWN_ERRORS as error:
        if isinstance(error, FileNotFoundError) and is_gone():
            fail(GONE, USAGE)
        fail(_told(error), 1)


def _told(error: Exception) -> str:
    """Without the number that the system has for it."""
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{error.filename}: {error.strerror}"
    return str(error)


def named_target(name: str) -> Target:
    """UnknownName lists those that there are."""
    try:
        return target_named(name)
    except ValueError as error:
        raise UnknownName(str(error)) from None


def fail(message: str, status: int) -> None:
    """Print one line on stderr and exit."""
    Console(stderr=True, soft_wrap=True, highlight=False).print(
        f"csaud: {message}", style="red", markup=False
    )
    raise typer.Exit(status)


def warn(sentences: Iterable[str]) -> None:
    """Print each on stderr: what was asked for is done, and not all that somebody may expect."""
    console = Console(stderr=True, soft_wrap=True, highlight=False)
    for sentence in sentences:
        console.print(f"csaud: {sentence}", style="yellow", markup=False)


def emit(value: object, as_json: bool, render: Callable[[Console], None]) -> None:
    """Print a result for a program or for a person."""
    if as_json:
        sys.stdout.write(json.dumps(value, indent=2) + "\n")
    else:
        render(Console(highlight=False, emoji=False))


def table(title: str, *columns: str) -> Table:
    """A table in the one style that all commands have; columns after the first are right-aligned if they end
    in #."""
    made = Table(
        title=title, title_justify="left", title_style="bold", header_style="bold", box=None, pad_edge=False
    )
    for column in columns:
        made.add_column(column.rstrip("#"), justify="right" if column.endswith("#") else "left")
    return made


def request(run: Path | None, op: str, **arguments: Any) -> tuple[Here | Elsewhere, dict[str, Any]]:
    """Ask the controller of a run, or the one elsewhere that was named; ControlError when it is not there or
    refuses."""
    found = controller_of(run)
    return found, found.ask(op, **arguments)


def status_of(run: Path | None) -> tuple[Here | Elsewhere, dict[str, Any]]:
    """What its controller says of the fabric; StandsByError: another one has it."""
    found, answer = request(run, "status")
    if "status" not in answer:
        raise StandsByError(standing_by(answer))
    return found, answer


def policy_of(run: Path | None) -> tuple[Fabric, Policy]:
    """The fabric of a run, and the policy that its controller is asked for."""
    found, answer = request(run, "intent")
    return found.fabric(), Policy.model_validate(answer["intent"]["policy"])


Patch = dict[str, Any]
"""Keys of the policy and their new values, as JSON values."""
_ATTEMPTS = 100


def change_policy(
    run: Path | None,
    patch: Patch | Callable[[Policy], Patch],
    as_json: bool,
    render: Callable[[Console, Policy], None],
) -> None:
    """Change some keys of the policy, to values that may depend on the present ones: if somebody else changes
    them at the same time, both changes are made; NothingToDo of the function: none is. Tells the outcome, and
    exits with 1 when it is not in force everywhere."""
    for _ in range(_ATTEMPTS):
        try:
            answer = _change_policy(run, patch)
            break
        except ConflictError:
            continue
        except NothingToDo as said:
            nothing_to_do({"policy": policy_of(run)[1].model_dump(mode="json")}, str(said), as_json)
            return
    else:
        raise ControlError(f"others changed the policy {_ATTEMPTS} times meanwhile: try again")
    policy = answer["intent"]["policy"]
    finish(
        {"policy": policy}, answer, as_json, lambda console: render(console, Policy.model_validate(policy))
    )


def _change_policy(run: Path | None, patch: Patch | Callable[[Policy], Patch]) -> dict[str, Any]:
    if not callable(patch):
        return request(run, "policy.set", policy=patch)[1]
    _, before = request(run, "intent")
    made = patch(Policy.model_validate(before["intent"]["policy"]))
    return request(run, "policy.set", policy=made, revision=before["revision"])[1]


def nothing_to_do(result: dict[str, Any], said: str, as_json: bool) -> None:
    """Print that a change was none."""
    text = f"nothing changed: {said}"
    emit(
        {**result, "pending": {}, "changed": False},
        as_json,
        lambda console: console.print(text, markup=False, soft_wrap=True),
    )


def finish(
    result: dict[str, Any],
    answer: dict[str, Any],
    as_json: bool,
    render: Callable[[Console], None],
    already: str = "it was so already",
) -> None:
    """Print what a change led to, or that it was none (`already` says why), and which switches do not hold it
    yet; exit status 1 when there are any."""
    pending: dict[str, str] = answer["pending"]
    changed: bool = answer.get("changed", True)

    def show(console: Console) -> None:
        render(console)
        for name, reason in pending.items():
            console.print(f"[red]{name}[/red]: not applied yet: {escape(reason)}")
        if not pending:
            text = "applied on all switches" if changed else f"nothing changed: {already}"
            console.print(text, markup=False, soft_wrap=True)

    warn(answer.get("warnings", ()))
    emit({**result, "pending": pending, "changed": changed}, as_json, show)
    if pending:
        raise typer.Exit(1)


def check_place(run: Path | None, at: str | None) -> None:
    """FieldError where the fabric has no such place."""
    if at is not None:
        ports_of(controller_of(run).fabric(), at, ("--at",))


def number_pair(text: str, expected: str, example: str) -> tuple[int, int]:
    """Of an argument `expected`, such as PORT=WEIGHT; UnknownName: it is not two whole numbers."""
    first, equals, second = text.partition("=")
    if not equals or not first.isdecimal() or not second.isdecimal():
        raise UnknownName(f"expected {expected} with whole numbers, such as {example}, got {text!r}")
    return int(first), int(second)


def known_switches(fabric: Fabric, names: Iterable[str] | None) -> list[str]:
    """These switches, or all where none is named, in the fabric's order; UnknownName lists what there is."""
    named = list(names or ())
    for name in named:
        if name not in fabric.switches:
            raise UnknownName(f"unknown switch {name!r}; expected one of {', '.join(fabric.switches)}")
    return [name for name in fabric.switches if not named or name in named]


def by_port(fabric: Fabric, switches: Iterable[str], value: Callable[[str, int], T]) -> dict[str, T]:
    """What holds at each port of these switches, by the port's name; UnknownName for those there are not."""
    return {
        f"{name}:{port}": value(name, port)
        for name in known_switches(fabric, switches)
        for port in fabric.peers[name]
    }


def by_ends(links: Iterable[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """What the controller says of links, by their names in a fabric; it may have another one than was read
    just before."""
    return {f"{link['a']}-{link['b']}": link for link in links}


def known_at(seconds: float) -> str:
    """A time since the epoch as people read it, in their own zone."""
    return datetime.fromtimestamp(seconds).astimezone().isoformat(sep=" ", timespec="seconds")


def given(**values: Any) -> dict[str, Any]:
    """The options that were given at all."""
    return {key: value for key, value in values.items() if value is not None}
