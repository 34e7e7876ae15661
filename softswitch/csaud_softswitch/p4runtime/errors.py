"""Errors as P4Runtime tells them: a canonical code and a message, one per update of a batch.

Source: P4Runtime specification 1.4, sections 10 (error reporting messages) and 12.3 (batches).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum

import grpc

from csaud_softswitch import _core
from csaud_softswitch.p4runtime.proto import p4r, rpc_status


class Code(IntEnum):
    """Canonical codes (google.rpc.Code); the numbers are also those of gRPC's status."""

    OK = 0
    CANCELLED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    OUT_OF_RANGE = 11
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    DATA_LOSS = 15
    UNAUTHENTICATED = 16


class P4RuntimeError(Exception):
    """One request, or one update of a batch, was refused."""

    def __init__(self, code: Code, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message

    def to_status(self) -> rpc_status.Status:
        return rpc_status.Status(code=int(self.code), message=self.message)


class BatchError(P4RuntimeError):
    """Some updates of a Write, or entities of a Read, failed: code UNKNOWN, and for each of them (in order)
    None or why it failed.
    """

    def __init__(self, results: Sequence[P4RuntimeError | None], what: str = "updates") -> None:
        failed = [error for error in results if error is not None]
        message = f"{len(failed)} of {len(results)} {what} failed; the first: {failed[0].message}"
        super().__init__(Code.UNKNOWN, message)
        self.results = list(results)

    def to_status(self) -> rpc_status.Status:
        status = super().to_status()
        for error in self.results:
            detail = p4r.Error()
            if error is not None:
                detail.canonical_code = int(error.code)
                detail.message = error.message
                detail.space = "csaud-softswitch"
            status.details.add().Pack(detail)
        return status


def codes_of(error: grpc.RpcError, count: int) -> list[Code]:
    """What a server said of each of the `count` updates of a Write; raises `error` where it said less."""
    for key, value in error.trailing_metadata():  # type: ignore[attr-defined]
        if key == "grpc-status-details-bin":
            codes = []
            for detail in rpc_status.Status.FromString(value).details:
                one = p4r.Error()
                detail.Unpack(one)
                codes.append(Code(one.canonical_code))
            if len(codes) == count:
                return codes
    raise error


def invalid(message: str) -> P4RuntimeError:
    return P4RuntimeError(Code.INVALID_ARGUMENT, message)


def not_found(message: str) -> P4RuntimeError:
    return P4RuntimeError(Code.NOT_FOUND, message)


def out_of_range(message: str) -> P4RuntimeError:
    return P4RuntimeError(Code.OUT_OF_RANGE, message)


def denied(message: str) -> P4RuntimeError:
    return P4RuntimeError(Code.PERMISSION_DENIED, message)


def unimplemented(message: str) -> P4RuntimeError:
    return P4RuntimeError(Code.UNIMPLEMENTED, message)


_CORE_CODES: tuple[tuple[type[Exception], Code], ...] = (
    (_core.NotFound, Code.NOT_FOUND),
    (_core.AlreadyExists, Code.ALREADY_EXISTS),
    (_core.ResourceExhausted, Code.RESOURCE_EXHAUSTED),
    (_core.InvalidArgument, Code.INVALID_ARGUMENT),
    (_core.FailedPrecondition, Code.FAILED_PRECONDITION),
    (_core.ProgramError, Code.INVALID_ARGUMENT),
)
_CORE_ERRORS = tuple(kind for kind, _ in _CORE_CODES)


@contextmanager
def core_errors() -> Iterator[None]:
    """Turn the native core's exceptions into P4RuntimeError; anything else is a bug and passes through."""
    try:
        yield
    except _CORE_ERRORS as error:
        code = next(code for kind, code in _CORE_CODES if isinstance(error, kind))
        raise P4RuntimeError(code, str(error.args[0] if error.args else error)) from error
