"""Groups of commands that ask a controller: each has the options that say which one, and who asks."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from csaud_controller.base.why import why
from csaud_controller.control.client import RefusedError
from csaud_controller.control.elsewhere import Credentials, Elsewhere
from csaud_controller.control.here import Here
from csaud_controller.run.directory import find_run

_PANEL = "A controller elsewhere"
_TOKEN = "CSAUD_REST_TOKEN"
_ASKED: ContextVar[dict[str, Any] | None] = ContextVar("asked", default=None)


class Noun(typer.Typer):
    """A group whose commands take `--controller` beside `--run`."""

    def command(
        self, name: str | None = None, *, cls: type[TyperCommand] | None = None, **settings: Any
    ) -> Callable[[Any], Any]:
        return super().command(name, cls=cls or _AskingCommand, **settings)


def controller_of(run: Path | None) -> Here | Elsewhere:
    """The controller that the options of this command name, else that of the run; RunError, RefusedError."""
    said = _ASKED.get() or {}
    if not said.get("controller"):
        return Here(find_run(run))
    credentials = Credentials(
        read_token(said["token_file"], _TOKEN),
        *(said[name] and Path(said[name]) for name in ("cacert", "cert", "key")),
    )
    return Elsewhere(said["controller"], credentials)


def _options(
    controller: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            envvar="CSAUD_REST_URL",
            rich_help_panel=_PANEL,
            help="Ask the controller behind this `csaud service` instead, such as https://fabric.example:8443.",
        ),
    ] = None,
    token_file: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            envvar="CSAUD_REST_TOKEN_FILE",
            rich_help_panel=_PANEL,
            help=f"Has one's token; or {_TOKEN} has the token itself.",
        ),
    ] = None,
    cacert: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            envvar="CSAUD_REST_CACERT",
            rich_help_panel=_PANEL,
            help="Who has signed its certificate (PEM); default: whom this machine trusts.",
        ),
    ] = None,
    cert: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            envvar="CSAUD_REST_CERT",
            rich_help_panel=_PANEL,
            help="One's certificate (PEM).",
        ),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(metavar="FILE", envvar="CSAUD_REST_KEY", rich_help_panel=_PANEL, help="Its key (PEM)."),
    ] = None,
) -> None:
    """What `_AskingCommand` adds."""


_NAMES = ("controller", "token_file", "cacert", "cert", "key")


@cache
def _made() -> tuple[Any, ...]:
    """The options as typer makes them; their classes are its own business."""
    app = typer.Typer(add_completion=False)
    app.command()(_options)
    command: Any = typer.main.get_command(app)
    return tuple(param for param in command.params if param.name in _NAMES)


class _AskingCommand(TyperCommand):
    """Those with --run."""

    def __init__(self, *args: Any, params: list[Any] | None = None, **settings: Any) -> None:
        self._asks = any(param.name == "run" for param in params or ())
        super().__init__(*args, params=[*(params or ()), *(_made() if self._asks else ())], **settings)

    def invoke(self, ctx: Any) -> Any:
        if not self._asks:  # options of these names are its own
            return super().invoke(ctx)
        said = {name: ctx.params.pop(name, None) for name in _NAMES}
        given = [name for name in ("run", "controller") if _is_given(ctx, name)]
        if len(given) == 2:
            ctx.fail("--run and --controller: expected one of them")
        if given == ["run"]:
            said = {}
        before = _ASKED.set(said)
        try:
            return super().invoke(ctx)
        finally:
            _ASKED.reset(before)


def _is_given(ctx: Any, name: str) -> bool:
    """On the command line, which comes before the environment."""
    source = ctx.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def read_token(file: str | None, variable: str) -> str:
    """That in a file, else in a variable of the environment, which may be empty; RefusedError names the
    one that has none."""
    where = variable if file is None else f"--token-file {file}"
    if file is None:
        found = os.environ.get(variable, "").strip()
        if not found:
            return ""
    else:
        try:
            found = Path(file).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise RefusedError(f"{where}: {why(error)}") from None
    if not found.isascii() or not found.isprintable() or len(found.split()) != 1:
        raise RefusedError(f"{where}: expected a token, which is one word")
    return found
