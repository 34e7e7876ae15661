"""csaud fabric check, schema: files that describe fabrics, before any controller has to do with them."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from csaud_controller.base.yamlfile import ConfigError, FieldError, blame
from csaud_controller.cli.common import USAGE, JsonOption, TargetOption, emit, errors, fail, named_target
from csaud_controller.desired.states import desired_states
from csaud_controller.inventory import Fabric, load_fabric
from csaud_controller.inventory.specs import ClientTls, ServerTls
from csaud_controller.policy.intent import Intent
from csaud_controller.program.artifacts import ArtifactsError
from csaud_controller.program.room import Room
from csaud_controller.targets.assigned import Assigned, assigned

FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="The fabric file.", show_default=False)]

SCHEMA_ID = "https://json-schema.org/draft/2020-12/schema"


def fabric_schema() -> str:
    """The JSON Schema of fabric files."""
    return json.dumps({"$schema": SCHEMA_ID, **Fabric.model_json_schema()}, indent=2) + "\n"


def schema() -> None:
    """The JSON Schema of fabric files, for editors that complete and check them while they are written."""
    sys.stdout.write(fabric_schema())


def check(file: FileArgument, target: TargetOption = "soft", as_json: JsonOption = False) -> None:
    """Report every mistake of a fabric file at once, with its line and key; exit status 2 if there is any.

    Certificates and programs that it names must be there, and the tables of each switch must have room.
    """
    with errors():
        chosen = named_target(target)
        found: list[ConfigError] = []
        fabric = None
        try:
            fabric = load_fabric(file)
            text = file.read_text(encoding="utf-8")
            beyond = blame(text, str(file), _beyond_the_file(fabric, Assigned(chosen, chosen.find_program())))
            found = [] if beyond is None else beyond.all
        except ConfigError as error:
            found = error.all
        result: dict[str, Any] = {
            "file": str(file),
            "mistakes": [{"line": each.line, "key": each.key, "message": each.message} for each in found],
        }
        if fabric is not None:
            result |= {
                "name": fabric.name,
                "switches": len(fabric.switches),
                "hosts": len(fabric.hosts),
                "links": len(fabric.edges),
            }
        if found and not as_json:
            fail("\n".join(map(str, found)), USAGE)

        def render(console: Console) -> None:
            console.print(
                f"{file}: {result['name']}: {result['switches']} switches, {result['hosts']} hosts,"
                f" {result['links']} links, no mistake",
                soft_wrap=True,
                markup=False,
            )

        emit(result, as_json, render)
        if found:
            raise typer.Exit(USAGE)


def _beyond_the_file(fabric: Fabric, default: Assigned) -> Iterator[FieldError]:
    yield from _mistaken_files(fabric.tls, ("tls",))
    yield from _mistaken_files(fabric.tls_client, ("tls_client",))
    for name, spec in fabric.switches.items():
        yield from _mistaken_files(spec.tls, ("switches", name, "tls"))
    try:
        of = assigned(fabric, default)
    except ArtifactsError as error:
        yield FieldError(("switches",), str(error))
        return
    rooms: dict[Assigned, Room] = {}
    for name, state in desired_states(fabric, Intent()).items():
        chosen = of[name]
        room = rooms.setdefault(chosen, Room(chosen.artifacts.schema))
        for told in room.misfits(chosen.target.adapt(state, fabric)):
            yield FieldError(("switches", name), f"{name} cannot hold that: {told}")
            break


def _mistaken_files(tls: ServerTls | ClientTls | None, loc: tuple[str, ...]) -> Iterator[FieldError]:
    if tls is None:
        return
    from csaud_controller.switches.certificates import certificate_mistake, mistakes, out_of_date

    found: dict[str, bytes] = {}
    for key, value in tls:
        if isinstance(value, Path):
            try:
                found[key] = value.read_bytes()
            except FileNotFoundError:
                yield FieldError((*loc, key), f"no such file: {value}")
            except OSError as error:
                yield FieldError((*loc, key), f"{value}: {error.strerror}")
    for key, mistake in mistakes(found.get("cacert"), found.get("cert"), found.get("key")):
        yield FieldError((*loc, key), f"{getattr(tls, key)} {mistake}")
    cert = found.get("cert")
    if cert is not None and not certificate_mistake(cert) and (old := out_of_date(cert)):
        yield FieldError((*loc, "cert"), f"{tls.cert} {old}")
