"""csaud fabric import, export: fabric files out of other tools' files, and into them."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml
from csaud_runs.whole import write_whole
from pydantic import ValidationError
from rich.console import Console

from csaud_controller.base.yamlfile import ConfigError, mistake
from csaud_controller.cli.common import JsonOption, RunOption, UnknownName, emit, errors, fail
from csaud_controller.cli.noun import controller_of, read_token
from csaud_controller.control.elsewhere import Credentials
from csaud_controller.inventory import Fabric, load_fabric
from csaud_controller.inventory.imports import FORMATS, containerlab, netbox_rest, read_files
from csaud_controller.inventory.imports.draft import Draft, Source
from csaud_controller.policy.file import PolicyFile

_TOKEN = "NETBOX_TOKEN"
_EXPORTS = ("containerlab",)
OutOption = Annotated[
    Path | None, typer.Option("-o", "--out", metavar="FILE", help="Where to; default: the terminal.")
]


def import_(
    format: Annotated[str, typer.Argument(metavar="FORMAT", help=", ".join(FORMATS))],
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE|URL...",
            help="sonic, netbox and lldp take several: one a device. netbox takes URLs.",
        ),
    ],
    out: OutOption = None,
    policy: Annotated[
        Path | None, typer.Option("--policy", metavar="FILE", help="Where to put what of them is a policy.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="The fabric's; default: the file's.")] = None,
    switch: Annotated[
        list[str] | None, typer.Option("--switch", metavar="PATTERN", help="Nodes that are switches: leaf*.")
    ] = None,
    host: Annotated[
        list[str] | None, typer.Option("--host", metavar="PATTERN", help="Nodes that are hosts: gpu*.")
    ] = None,
    token_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help=f"Has one's token for NetBox; or {_TOKEN} has the token itself."),
    ] = None,
    cacert: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Who has signed NetBox's certificate (PEM); default: whom this machine trusts.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Make a fabric file of other tools' files. What it has no place for is named, and so is what they do not
    say and is assumed; both are in the file's first lines, too.

    Formats: containerlab (topologies), p4-utils (p4app.json and the topology.json that it saves), sonic
    (config_db.json), netbox (cables: CSV, REST JSON, or the URL of a NetBox, which is asked page by page; its
    query chooses cables: https://netbox.example/?site=pod1), lldp (lldpcli show neighbors -f json).
    """
    with errors():
        if format not in FORMATS:
            raise UnknownName(f"unknown format {format!r}; expected one of {', '.join(FORMATS)}")
        asked = partial(_cables, token_file=token_file, cacert=cacert) if format == "netbox" else None
        draft = read_files(format, files, switch or (), host or (), asked)
        draft.name = name or draft.name
        told = " ".join(files)
        try:
            document = draft.document()
        except (ValueError, OverflowError) as error:
            raise ConfigError(told, None, "", str(error)) from None
        try:
            Fabric.model_validate(document)
        except ValidationError as error:
            raise ConfigError(told, None, "", f"makes no fabric: {mistake(error)}") from None
        if draft.policy:
            try:
                PolicyFile.model_validate(draft.policy)
            except ValidationError as error:
                raise ConfigError(told, None, "", f"makes no policy: {mistake(error)}") from None
        if draft.policy and policy is None:
            keys = ", ".join(f"{key}: {value}" for key, value in draft.policy.items())
            draft.leave(f"{keys}: of a policy (--policy FILE)")
        left = [what if n == 1 else f"{what} ({n} times)" for what, n in sorted(draft.left_out.items())]
        text = _header(told, draft, left) + document_text(document)
        if policy is not None and draft.policy:
            _put(policy, yaml.safe_dump(draft.policy, sort_keys=False))
        if out is not None:
            _put(out, text)
        result = {"fabric": document, "policy": draft.policy, "left_out": left, "assumed": draft.assumed}

        def render(console: Console) -> None:
            if out is None:
                sys.stdout.write(text)
            notes = Console(stderr=True, highlight=False)
            for kind, lines in (("left out", left), ("assumed", draft.assumed)):
                for line in lines:
                    notes.print(f"{kind}: {line}", markup=False, soft_wrap=True)

        emit(result, as_json, render)


def _cables(url: str, token_file: Path | None, cacert: Path | None) -> Source:
    token = read_token(None if token_file is None else str(token_file), _TOKEN)
    return netbox_rest.cables(url, token, Credentials(token, cacert).context())


def _header(told: str, draft: Draft, left: list[str]) -> str:
    lines = [f"Imported from {told}."]
    lines += [f"Left out: {what}" for what in left]
    lines += [f"Assumed: {what}" for what in draft.assumed]
    return "".join(f"# {''.join(map(_visible, line))}\n" for line in lines)


def _visible(character: str) -> str:
    """A line break in a key would end the comment that tells of it."""
    return character if character.isprintable() else character.encode("unicode_escape").decode()


def _put(path: Path, text: str) -> None:
    """Whole, or not at all; into what is no plain file, such as /dev/stdout, as it comes."""
    try:
        if path.is_symlink() or (path.exists() and not path.is_file()):
            path.write_text(text, encoding="utf-8")
        else:
            write_whole(path, text)
    except OSError as error:  # its own text has the name of the draft, or none
        fail(f"{path}: cannot be written: {error.strerror}", 1)


def document_text(document: dict[str, Any]) -> str:
    """YAML as people write it: a line a switch, host and edge."""
    text = ""
    for key, value in document.items():
        if isinstance(value, dict) and value:
            text += f"{key}:\n" + "".join(f"  {_flow(name)}: {_flow(part)}\n" for name, part in value.items())
        elif isinstance(value, list) and value:
            text += f"{key}:\n" + "".join(f"  - {_flow(part)}\n" for part in value)
        else:
            text += f"{key}: {_flow(value)}\n"
    return text


def _flow(value: object) -> str:
    dumped: str = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=10**6)
    return dumped.removesuffix("\n").removesuffix("\n...")


def export(
    format: Annotated[str, typer.Argument(metavar="FORMAT", help=", ".join(_EXPORTS))],
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="A fabric file; default: the running fabric.")
    ] = None,
    out: OutOption = None,
    switch_kind: Annotated[str, typer.Option(help="Kind of the nodes that are switches.")] = "linux",
    switch_image: Annotated[str, typer.Option(help="Their image; some kinds need none.")] = "",
    host_image: Annotated[
        str, typer.Option(help="Image of hosts, which are of kind linux.")
    ] = "debian:stable",
    run: RunOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make another tool's file of a fabric. What that has no place for is named."""
    with errors():
        if format not in _EXPORTS:
            raise UnknownName(f"unknown format {format!r}; expected one of {', '.join(_EXPORTS)}")
        fabric = controller_of(run).fabric() if file is None else load_fabric(file)
        document, left = containerlab.write(fabric, switch_kind, switch_image, host_image)
        text: str = yaml.safe_dump(document, sort_keys=False, default_flow_style=None, width=110)
        if out is not None:
            _put(out, text)

        def render(console: Console) -> None:
            if out is None:
                sys.stdout.write(text)
            Console(stderr=True, highlight=False).print(
                f"left out: {', '.join(left)}", markup=False, soft_wrap=True
            )

        emit({format: document, "left_out": left}, as_json, render)
