"""Takes links inside the switch process down and up, and changes rates of ports, for whoever runs the fabric,
over a Unix socket.

A client sends lines of JSON, {"op": "link", "switch": NAME, "port": NUMBER, "up": BOOL} or {"op": "rate",
"switch": NAME, "port": NUMBER, "rate_bps": NUMBER}, and gets a line for each, {"ok": true} or {"ok": false,
"error": TEXT}. (A link between network interfaces goes down and up with them.)
"""

from __future__ import annotations

import asyncio
import json
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any

from csaud_runs.errors import RunError

if TYPE_CHECKING:
    from csaud_softswitch import _core

SOCKET = "softswitch.control.sock"
"""Its name in the run directory."""
_ANSWER_WITHIN_S = 5.0


class LinkServer:
    """Listens while the fabric runs."""

    def __init__(self, fabric: _core.Fabric, path: Path) -> None:
        self._fabric, self._path = fabric, path
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        """OSError when the socket cannot be made."""
        self._path.unlink(missing_ok=True)
        self._server = await asyncio.start_unix_server(self._accept, self._path)
        self._path.chmod(0o600)

    async def stop(self) -> None:
        """Listen no more. Idempotent."""
        if self._server is not None:
            self._server.close()
            self._server = None
            self._path.unlink(missing_ok=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                writer.write(json.dumps(self._answer(line)).encode() + b"\n")
                await writer.drain()
        except OSError:
            pass  # the client has gone
        finally:
            writer.close()

    def _answer(self, line: bytes) -> dict[str, Any]:
        try:
            asked = json.loads(line)
            switch, port = str(asked["switch"]), int(asked["port"])
            match asked["op"]:
                case "link":
                    self._fabric.set_link(switch, port, bool(asked["up"]))
                case "rate":
                    self._fabric.set_port_queue(switch, port, rate_bps=int(asked["rate_bps"]))
                case other:
                    raise ValueError(f"unknown op {other!r}; expected link or rate")
        except (ValueError, KeyError, TypeError, LookupError) as error:
            return {"ok": False, "error": str(error.args[0] if error.args else error)}
        return {"ok": True}


def set_link(run_dir: Path, switch: str, port: int, up: bool) -> None:
    """Take the link at a port of a switch down or up, in both directions; RunError when that fails."""
    _ask(run_dir, "link", switch, port, up=up)


def set_rate(run_dir: Path, switch: str, port: int, rate_bps: int) -> None:
    """Let a port of a switch send at this rate from now on, 0: without limit; RunError when that fails."""
    _ask(run_dir, "rate", switch, port, rate_bps=rate_bps)


def _ask(run_dir: Path, op: str, switch: str, port: int, **arguments: int) -> None:
    request = {"op": op, "switch": switch, "port": port, **arguments}
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(_ANSWER_WITHIN_S)
            connection.connect(str(run_dir / SOCKET))
            connection.sendall(json.dumps(request).encode() + b"\n")
            answer = json.loads(connection.makefile("rb").readline())
    except (OSError, ValueError) as error:
        raise RunError(f"{op} at {switch}:{port}: the switch process cannot be asked: {error}") from None
    if not answer["ok"]:
        raise RunError(f"{op} at {switch}:{port}: {answer['error']}")
