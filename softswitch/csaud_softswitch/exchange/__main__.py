"""`python -m csaud_softswitch.exchange`: record vectors from a target, or check a target against them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from csaud_softswitch.exchange.bmv2 import Bmv2Error, Bmv2Target
from csaud_softswitch.exchange.compare import differences
from csaud_softswitch.exchange.soft import SoftTarget
from csaud_softswitch.exchange.target import Target, play
from csaud_softswitch.exchange.vector import VectorError, load_vector
from csaud_softswitch.p4runtime.proto import p4r
from csaud_softswitch.program_file import ProgramFileError, program_digest, read_config

app = typer.Typer(help="Record and check exchanges with P4 switches.", no_args_is_help=True)

Files = Annotated[list[Path], typer.Argument(help="Vectors or cases.")]
Program = Annotated[Path, typer.Option(help="The program's BMv2 JSON; its P4Info lies beside it.")]
On = Annotated[str, typer.Option("--target", help="soft or bmv2.")]


@app.command()
def record(
    files: Files,
    program: Program,
    out: Annotated[Path, typer.Option(help="Folder to write to.")],
    target: On = "bmv2",
) -> None:
    """Play each case on the target and write the vector with its answers."""
    with _errors():
        config = read_config(program, program.with_suffix(".p4info.txtpb"))
        for path in files:
            case = load_vector(path)
            with open_target(target, config, case.ports) as played:
                vector = play(case, played)
            vector.program = {"name": program.stem, "sha256": program_digest(program)}
            vector.dump(out / path.name)
            typer.echo(
                f"{out / path.name}: recorded from {vector.recorded['target']} {vector.recorded['version']}"
            )


@app.command()
def check(files: Files, program: Program, target: On = "soft") -> None:
    """Play each vector on the target and compare its answers with the recorded ones; exit 1 on a
    difference.
    """
    failed = 0
    with _errors():
        config = read_config(program, program.with_suffix(".p4info.txtpb"))
        for path in files:
            vector = load_vector(path)
            with open_target(target, config, vector.ports) as played:
                found = differences(vector, play(vector, played))
            failed += bool(found)
            typer.echo(f"{path}: {'ok' if not found else found[0]}")
    if failed:
        raise typer.Exit(1)


@contextlib.contextmanager
def open_target(name: str, config: p4r.ForwardingPipelineConfig, ports: list[int]) -> Iterator[Target]:
    """A target by name, with the program loaded."""
    if name == "soft":
        yield SoftTarget(config, ports)
    elif name == "bmv2":
        with Bmv2Target(config, ports) as target:
            yield target
    else:
        raise Bmv2Error(f"no target {name!r}: expected soft or bmv2")


@contextlib.contextmanager
def _errors() -> Iterator[None]:
    try:
        yield
    except (Bmv2Error, ProgramFileError, VectorError) as error:
        typer.echo(f"exchange: {error}", err=True)
        raise typer.Exit(1) from error


if __name__ == "__main__":
    app()
