"""csaud service: REST, page and metrics of a controller over HTTP."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from csaud_controller.base.units import parse_duration
from csaud_controller.cli.common import USAGE, JsonOption, RunOption, UnknownName, emit, errors, fail
from csaud_controller.cli.logs import LogFormat, LogOption, start_log
from csaud_controller.run.directory import find_run

if TYPE_CHECKING:
    from csaud_controller.service.serving import Tls

app = typer.Typer(
    help="REST, a page and metrics of a controller over HTTP.", no_args_is_help=True, add_completion=False
)
token_app = typer.Typer(help="Who may ask it.", no_args_is_help=True)
app.add_typer(token_app, name="token")

_EXTRA = {"fastapi", "starlette", "uvicorn", "prometheus_client"}
TokensOption = Annotated[
    Path, typer.Option("--tokens", metavar="FILE", help="Has digests of tokens, and roles.")
]


@app.command()
def run(
    run: RunOption = None,
    listen: Annotated[
        str,
        typer.Option(metavar="ADDRESS:PORT", help="Where; other than this machine only with TLS and tokens."),
    ] = "127.0.0.1:8080",
    tokens: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Who may ask. Without it everybody looks, and nobody changes anything."
        ),
    ] = None,
    tls_cert: Annotated[
        Path | None, typer.Option(help="Certificate (PEM); replaced files are taken.")
    ] = None,
    tls_key: Annotated[Path | None, typer.Option(help="Its key (PEM).")] = None,
    tls_client_ca: Annotated[
        Path | None, typer.Option(help="Clients need a certificate that is signed by one of these, too.")
    ] = None,
    name: Annotated[
        list[str] | None,
        typer.Option(help="A name by which it may be asked for, beside ADDRESS and localhost."),
    ] = None,
    interval: Annotated[str, typer.Option(help="Between two samples for a page that is open.")] = "1s",
    audit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Who changed what; default: audit.jsonl of the run.")
    ] = None,
    log_format: LogOption = LogFormat.TEXT,
) -> None:
    """Serve until SIGTERM or Ctrl-C. The controller is asked over its control socket."""
    with _needs_the_extra(), errors():
        from csaud_controller.service.application import create_app
        from csaud_controller.service.audit import Audit
        from csaud_controller.service.principals import load_principals
        from csaud_controller.service.sampling import Sampler
        from csaud_controller.service.serving import ListenError, serve
        from csaud_controller.service.site import Site

        start_log(log_format)
        logging.getLogger("uvicorn").setLevel(logging.WARNING)
        found = find_run(run)
        seconds = _seconds(interval)
        host, port = _address(listen)
        try:
            tls = _tls(tls_cert, tls_key, tls_client_ca)
            _may_listen(host, tls, tokens)
            if tls is not None:
                tls.context()  # files that do not do are a mistake of whoever names them
        except ListenError as error:
            fail(str(error), USAGE)
        try:
            site = Site(found, Sampler(found), Audit(audit or found.path / "audit.jsonl"), seconds)
            principals = None if tokens is None else load_principals(tokens)
            application = create_app(site, principals, _names(host, name or []))
            asyncio.run(serve(application, host, port, tls))
        except ListenError as error:
            fail(str(error), 1)


@app.command()
def openapi() -> None:
    """Print the description of the interface (OpenAPI, JSON)."""
    with _needs_the_extra():
        from csaud_controller.service.application import create_app

        sys.stdout.write(json.dumps(create_app(None).openapi(), indent=1) + "\n")


@token_app.command("add")
def token_add(
    name: Annotated[str, typer.Argument(help="Whose it is.")],
    tokens: TokensOption,
    role: Annotated[str, typer.Option(help="viewer: may look; operator: may change.")] = "viewer",
    as_json: JsonOption = False,
) -> None:
    """Make a token, and print it: it is nowhere else. A service takes it when it is started the next time."""
    from csaud_controller.service.principals import Role, add_token

    with errors():
        if role not in [*Role]:
            raise UnknownName(f"--role: expected {' or '.join(Role)}, got {role!r}")
        if not 0 < len(name) <= 64:
            raise UnknownName("NAME: expected 1 to 64 letters")
        made = {"name": name, "role": role, "token": add_token(tokens, name, Role(role))}
        emit(made, as_json, lambda console: console.print(made["token"], markup=False, soft_wrap=True))


@token_app.command("remove")
def token_remove(name: Annotated[str, typer.Argument(help="Whose it is.")], tokens: TokensOption) -> None:
    """Take somebody's token away; as `add`, when the service is started again."""
    from csaud_controller.service.principals import remove_token

    with errors():
        remove_token(tokens, name)


class _needs_the_extra:
    """One line where the packages of the extra are missing."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] in _EXTRA:
            fail(f"csaud service needs {error.name}: pip install 'csaud[service]'", 1)


def _seconds(text: str) -> float:
    try:
        seconds = parse_duration(text) / 1e9
    except ValueError as error:
        raise UnknownName(f"--interval: {error}") from None
    if seconds <= 0:
        raise UnknownName(f"--interval: expected more than nothing, got {text}")
    return seconds


def _names(host: str, others: list[str]) -> tuple[str, ...]:
    """By which it may be asked for, as requests have them."""
    return (f"[{host}]" if ":" in host else host, "localhost", *(name.lower() for name in others))


def _address(listen: str) -> tuple[str, int]:
    host, _, port = listen.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise UnknownName(f"--listen: expected an address and a port such as 127.0.0.1:8443, got {listen!r}")
    return host.strip("[]"), int(port)


def _tls(cert: Path | None, key: Path | None, client_ca: Path | None) -> Tls | None:
    from csaud_controller.service.serving import ListenError, Tls

    if cert is None and key is None and client_ca is None:
        return None
    if cert is None or key is None:
        raise ListenError("--tls-cert and --tls-key belong together")
    return Tls(cert, key, client_ca)


def _may_listen(host: str, tls: Tls | None, tokens: Path | None) -> None:
    """Whoever is elsewhere needs a token, and tokens do not travel in the clear."""
    from csaud_controller.service.serving import ListenError, is_loopback

    if is_loopback(host):
        return
    if tokens is None:
        raise ListenError(f"--listen {host}: others reach it, so it needs --tokens (csaud service token add)")
    if tls is None:
        raise ListenError(
            f"--listen {host}: tokens would go there in the clear, so it needs --tls-cert and --tls-key"
        )
