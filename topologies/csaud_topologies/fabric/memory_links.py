"""Links inside the switch process: taken down and up by asking it."""

from __future__ import annotations

import json
import socket
from pathlib import Path

from csaud_topologies.base.errors import RunError

SOCKET = "softswitch.control.sock"
"""In the run directory; JSON lines."""
_ANSWER_WITHIN_S = 5.0


def set_memory_link(run_dir: Path, switch: str, port: int, up: bool) -> None:
    """Take the link at a port of a switch down or up, in both directions; RunError when that fails."""
    request = {"op": "link", "switch": switch, "port": port, "up": up}
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(_ANSWER_WITHIN_S)
            connection.connect(str(run_dir / SOCKET))
            connection.sendall(json.dumps(request).encode() + b"\n")
            answer = json.loads(connection.makefile("rb").readline())
    except (OSError, ValueError) as error:
        raise RunError(f"link at {switch}:{port}: the switch process cannot be asked: {error}") from None
    if not answer["ok"]:
        raise RunError(f"link at {switch}:{port}: {answer['error']}")
