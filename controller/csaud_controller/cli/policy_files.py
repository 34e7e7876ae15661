"""csaud policy apply, diff, history, rollback, schema: policies as files and as they were."""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from csaud_controller.base.units import parse_duration
from csaud_controller.base.yamlfile import ConfigError, blame, load_model
from csaud_controller.cli.common import (
    JsonOption,
    RunOption,
    UnknownName,
    emit,
    errors,
    finish,
    known_at,
    request,
    table,
    warn,
)
from csaud_controller.cli.fabric_change import EntriesOption, RevisionOption, render_plan
from csaud_controller.cli.noun import controller_of
from csaud_controller.desired.changes import differences
from csaud_controller.policy.file import PolicyFile, policy_schema
from csaud_controller.policy.intent import Intent

FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="The policy file.", show_default=False)]


def apply(
    file: FileArgument,
    until: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="When it ends, such as 2026-12-24T18:00+01:00."),
    ] = None,
    lasts: Annotated[
        str | None, typer.Option("--for", metavar="DURATION", help="It ends after this time, such as 30min.")
    ] = None,
    revision: RevisionOption = None,
    run: RunOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make the policy that of a file; keys that the file does not have get their defaults.

    A file with a mistake, or one that asks for what the fabric does not have, changes nothing. When a policy
    ends, what was in force before it comes back, whether the controller ran all the time or not.
    """
    with errors():
        wanted = _read(file, run)
        end = _end(wanted, until, lasts)
        policy = wanted.policy.model_dump(mode="json")
        note = wanted.description or file.name
        _, answer = request(run, "policy.apply", policy=policy, **end, note=note, revision=revision)
        ends = (answer["intent"]["ending"] or {}).get("at")
        result = {"policy": answer["intent"]["policy"], "revision": answer["revision"], "until": ends}

        def render(console: Console) -> None:
            console.print(f"revision {answer['revision']}: the policy of {escape(str(file))}", soft_wrap=True)
            if ends is not None:
                console.print(f"until {known_at(ends)}; then what was before it")

        finish(result, answer, as_json, render)


def diff(
    file: Annotated[Path | None, typer.Argument(metavar="[FILE]", help="A policy file.")] = None,
    revision: Annotated[
        int | None, typer.Option("--revision", min=0, help="Instead of a file: a policy of the history.")
    ] = None,
    entries: EntriesOption = False,
    run: RunOption = None,
    as_json: JsonOption = False,
) -> None:
    """What a file, or a revision of the history, would change of the policy in force, and on which switch."""
    with errors():
        if (file is None) == (revision is None):
            raise UnknownName("expected FILE or --revision, one of them")
        _, now = request(run, "intent")
        present = Intent.model_validate(now["intent"])
        if file is not None:
            other = Intent(policy=_read(file, run).policy)
        else:
            _, answer = request(run, "policy.history", revision=revision)
            other = Intent(policy=Intent.model_validate(answer["record"]["intent"]).policy)
        warn(other.policy.warnings)
        what = differences(Intent(policy=present.policy), other)
        _, planned = request(run, "policy.plan", policy=other.policy.model_dump(mode="json"))
        result = {"differences": what, "revision": now["revision"], **planned["plan"]}

        def render(console: Console) -> None:
            for each in what:
                console.print(each, markup=False, soft_wrap=True)
            render_plan(console, planned["plan"], entries)

        emit(result, as_json, render)


def history(
    limit: Annotated[int, typer.Option("-n", min=1, max=1000, help="The last so many.")] = 20,
    run: RunOption = None,
    as_json: JsonOption = False,
) -> None:
    """Who has asked for what, and when: revisions of policy, faults and fabric, newest first."""
    with errors():
        _, answer = request(run, "policy.history", limit=limit)
        rows = answer["revisions"]
        emit(rows, as_json, lambda console: _render_history(console, rows))


def _render_history(console: Console, rows: list[dict[str, Any]]) -> None:
    shown = table("", "revision#", "when", "who", "what")
    for row in rows:
        note = [escape(f"({row['note']})")] if row["note"] else []
        what = "\n".join([*note, *map(escape, row["what"])])
        shown.add_row(str(row["revision"]), known_at(row["time"]), escape(row["who"]), what)
    console.print(shown)


def rollback(
    to: Annotated[
        int | None,
        typer.Argument(metavar="[REVISION]", min=0, help="Of the history; default: the last other policy."),
    ] = None,
    run: RunOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make the policy what it was. Faults and the fabric stay as they are, and the history goes on."""
    with errors():
        _, answer = request(run, "policy.rollback", to=to)
        result = {
            "policy": answer["intent"]["policy"],
            "revision": answer["revision"],
            "to": answer["to"],
        }
        text = f"revision {answer['revision']}: the policy of revision {answer['to']}"
        already = f"the policy of revision {answer['to']} is in force"
        finish(result, answer, as_json, lambda console: console.print(text), already)


def schema() -> None:
    """The JSON Schema of policy files, for editors that complete and check them while they are written."""
    sys.stdout.write(policy_schema())


def _read(file: Path, run: Path | None) -> PolicyFile:
    """The file, checked against the run's fabric, so that its lines can be named."""
    found = load_model(file, PolicyFile)
    mistakes = found.policy.mistakes(controller_of(run).fabric())
    told: ConfigError | None = blame(file.read_text(encoding="utf-8"), str(file), mistakes)
    if told is not None:
        raise told
    return found


def _end(wanted: PolicyFile, until: str | None, lasts: str | None) -> dict[str, float]:
    """As the request has it."""
    if until is not None and lasts is not None:
        raise UnknownName("expected --until or --for, not both")
    if lasts is not None:
        try:
            return {"lasts_s": parse_duration(lasts) / 1e9}
        except ValueError as error:
            raise UnknownName(f"--for: {error}") from None
    if until is None and wanted.lasts is not None:
        return {"lasts_s": wanted.lasts / 1e9}
    if until is None:
        return {} if wanted.until is None else {"until": wanted.until.timestamp()}
    try:
        return {"until": datetime.fromisoformat(until).timestamp()}
    except (ValueError, OverflowError):
        raise UnknownName(f"--until: expected a time such as 2026-12-24T18:00+01:00, got {until!r}") from None
