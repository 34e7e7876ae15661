"""Asks the controller of a running fabric over its control socket (see `server`)."""

from __future__ import annotations

import json
import socket
import struct
import time
from pathlib import Path
from typing import Any

from csaud_runs.directory import is_served
from pydantic import BaseModel

APPLY_TIMEOUT_S = 10.0
"""How long a change may take, where a request says nothing else."""
_MARGIN_S = 5.0

Answer = dict[str, Any]


class ControlError(RuntimeError):
    """The controller cannot be reached."""


class RefusedError(ControlError):
    """The controller refused a request: it names something unknown, or a value that cannot be."""


class ConflictError(ControlError):
    """What the request changes was changed by somebody else since its revision was read:
    nothing is wrong with it."""


class StandsByError(ControlError):
    """Another controller is primary; the text says which."""


_ERRORS = {"conflict": ConflictError, "failed": ControlError, "standby": StandsByError}
"""By `kind` of an answer; others are refusals."""


def standing_by(answer: Answer) -> str:
    """What a controller that has no fabric says of itself, from its answer to `status`."""
    return f"this controller stands by; {answer.get('primary') or 'none'} is primary"


def ask(path: Path, op: str, *, timeout_s: float = APPLY_TIMEOUT_S, **arguments: Any) -> Answer:
    """One request to the controller at `path`, which may take `timeout_s` for it.

    ControlError when there is no controller or no answer, or what was asked for failed; RefusedError when it
    refuses; ConflictError when it was asked with a revision that is not in force any more.
    """
    arguments |= {"op": op, "timeout_s": timeout_s}
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(timeout_s + _MARGIN_S)
        try:
            connection.connect(str(path))
            connection.sendall(json.dumps(arguments, default=plain).encode() + b"\n")
            line = connection.makefile("rb").readline()
            pid = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
        except FileNotFoundError:
            raise ControlError(f"no controller runs: {path} does not exist") from None
        except ConnectionRefusedError:
            raise ControlError(f"no controller runs: nobody listens at {path}") from None
        except TimeoutError:
            raise ControlError(
                f"the controller at {path} gave no answer within {timeout_s + _MARGIN_S:g} s"
            ) from None
        except OSError as error:
            raise ControlError(f"the controller at {path} cannot be reached: {error}") from None
    if not line.endswith(b"\n"):  # it may have begun one
        raise ControlError(f"the controller at {path} ended without an answer")
    answer: Answer = json.loads(line)
    if "pid" in answer and pid:
        answer["pid"] = pid  # as it is here: the controller of `csaud net up` has another in its namespace
    if not answer["ok"]:
        raise _ERRORS.get(answer.get("kind", ""), RefusedError)(answer["error"])
    return answer


def wait_served(path: Path, timeout_s: float = 30.0) -> None:
    """Wait until a controller accepts connections at `path`; ControlError when none does in time."""
    deadline = time.monotonic() + timeout_s
    while not is_served(path):
        if time.monotonic() > deadline:
            raise ControlError(f"no controller serves {path} after {timeout_s:g} s")
        time.sleep(0.02)


def wait_programmed(path: Path, timeout_s: float = 30.0) -> None:
    """Wait until a controller serves `path` and every switch holds its tables.

    ControlError says which switches do not after `timeout_s`, or that no controller came.
    """
    deadline = time.monotonic() + timeout_s
    wait_served(path, timeout_s)
    left = max(0.1, deadline - time.monotonic())
    pending = ask(path, "wait", timeout_s=left)["pending"]
    if pending:
        raise not_programmed(pending, timeout_s)


def not_programmed(pending: dict[str, str], timeout_s: float) -> ControlError:
    """Of these switches, with the reasons."""
    reasons = ", ".join(f"{name} ({why})" for name, why in pending.items())
    return ControlError(f"not programmed after {timeout_s:g} s: {reasons}")


def plain(value: object) -> object:
    """For json: a model as its values; TypeError of anything else."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    raise TypeError(f"not JSON: {value!r}")
