"""`csaud completion` and `csaud manual`: what a shell and man(1) know of the commands."""

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.completion

from csaud.cli.tree import NAME


class Shell(StrEnum):
    """That commands can be completed in."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


_PAGES = Path("~/.local/share/man/man1")

manual = typer.Typer(no_args_is_help=True, help="Manual pages, made from the commands themselves.")


@manual.callback()
def _group() -> None:
    """Makes `write` a word of its own though it is the only command."""


@manual.command()
def write(
    out: Annotated[
        Path, typer.Option(help="Folder of the pages; the default is where man looks for one's own.")
    ] = _PAGES,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, for programs.")] = False,
) -> None:
    """Write a manual page for each command: then `man csaud-policy-set` shows one."""
    from csaud.cli.command import app
    from csaud.cli.manual import write_pages

    folder = out.expanduser()
    try:
        written = write_pages(app, folder)
    except OSError as error:
        typer.echo(f"csaud: {error}", err=True)
        raise typer.Exit(1) from None
    if as_json:
        typer.echo(json.dumps({"folder": str(folder), "pages": [path.name for path in written]}, indent=2))
    else:
        typer.echo(f"{folder}: {len(written)} pages")


def completion(
    shell: Annotated[Shell, typer.Argument(help="Which one.")],
) -> None:
    """Print what makes a shell complete csaud's commands and options.

    bash: `csaud completion bash > ~/.local/share/bash-completion/completions/csaud`

    zsh: `csaud completion zsh > DIR/_csaud`, DIR in $fpath

    fish: `csaud completion fish > ~/.config/fish/completions/csaud.fish`
    """
    shells: Any = typer.completion
    script = shells.get_completion_script(
        prog_name=NAME, complete_var=f"_{NAME.upper()}_COMPLETE", shell=shell.value
    )
    sys.stdout.write(script + "\n")
