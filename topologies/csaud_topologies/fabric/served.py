"""A fabric that waits for jobs of its users answers them at a unix socket, as long as it runs.

A request is a line of JSON, {"op": NAME, ...}, and so is the answer, {"ok": true, ...} or {"ok": false,
"error": TEXT}; one a connection. `link` (a, b, up) takes the links between two nodes down or up; `state`
tells which are down (`links_down`), and what switches dropped unseen by their program (`hidden_drops`).
"""

from __future__ import annotations

import json
import socket
from contextlib import suppress
from typing import Any

from csaud_runs.directory import RunDir
from csaud_runs.errors import RunError

from csaud_topologies.base.interrupt import raise_if_interrupted
from csaud_topologies.fabric.running import RunningFabric
from csaud_topologies.fabric.targets.base import P4Target

_LOOK_EVERY_S = 0.2
_ANSWER_WITHIN_S = 30.0  # reading what switches dropped waits for their process


def serve(up: RunningFabric, target: P4Target) -> None:
    """Answer until a signal ends the run; RunError when a switch has ended, or the controller for good."""
    path = up.place.run.jobs_socket
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(path))
        path.chmod(0o600)
        listener.listen()
        listener.settimeout(_LOOK_EVERY_S)
        while True:
            raise_if_interrupted()
            up.check()
            with suppress(TimeoutError):
                connection, _ = listener.accept()
                with connection, suppress(OSError):  # whoever asked may have gone
                    connection.settimeout(1.0)
                    if line := connection.makefile("rb").readline():
                        connection.sendall(json.dumps(_answer(up, target, line)).encode() + b"\n")


def _answer(up: RunningFabric, target: P4Target, line: bytes) -> dict[str, Any]:
    try:
        asked = json.loads(line)
        match asked["op"]:
            case "link":
                up.set_link(asked["a"], asked["b"], bool(asked["up"]))
            case "state":
                pass
            case other:
                raise ValueError(f"unknown op {other!r}; expected link or state")
        return {
            "ok": True,
            "links_down": sorted(sorted(link) for link in up.links_down),
            "hidden_drops": target.hidden_drops(up.place),
        }
    except (RunError, ValueError, KeyError, TypeError) as error:
        return {"ok": False, "error": str(error)}


def ask(run: RunDir, op: str, **arguments: Any) -> dict[str, Any]:
    """One request to the fabric of `run`; RunError when it cannot be asked, or refuses."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(_ANSWER_WITHIN_S)
            connection.connect(str(run.jobs_socket))
            connection.sendall(json.dumps({"op": op, **arguments}).encode() + b"\n")
            answer: dict[str, Any] = json.loads(connection.makefile("rb").readline())
    except (OSError, ValueError) as error:
        raise RunError(f"{run.path}: its fabric cannot be asked: {error}") from None
    if not answer["ok"]:
        raise RunError(f"{run.path}: {answer['error']}")
    return answer
