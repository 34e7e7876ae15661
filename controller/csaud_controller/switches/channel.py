"""How soon a switch that is gone without a word is noticed.

A machine that loses power closes no connection: what is sent to it is just never acknowledged. TCP gives up
after minutes, unless it is told otherwise (TCP_USER_TIMEOUT, RFC 5482). gRPC tells it so with the timeout of
its keepalive. Its own pings do not come into it: they would have to come every few hundred milliseconds, and
servers end connections that send more than one in five minutes. Link probes are sent more often than that,
and what is sent is enough.
"""

from __future__ import annotations

from typing import Any

import finsy.p4client
from finsy.grpcutil import GRPCOptions

UNACKNOWLEDGED_MS = 700
"""What is sent to a switch and not acknowledged for so long ends the session."""
_PING_MS = 10 * 60 * 1000
"""Longer than the five minutes that gRPC servers ask for."""


class _Options(GRPCOptions):
    def to_native(self) -> Any:
        return [
            *super().to_native(),
            ("grpc.keepalive_time_ms", _PING_MS),
            ("grpc.keepalive_timeout_ms", UNACKNOWLEDGED_MS),
        ]


def notice_silence() -> None:
    """From now on, channels that finsy opens notice it; finsy (0.30) makes their options itself."""
    untyped: Any = finsy.p4client
    untyped.GRPCOptions = _Options
