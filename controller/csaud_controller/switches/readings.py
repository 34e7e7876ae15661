"""Requests to several switches at once by whoever wants to know something: no session, no controller."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Self, TypeVar

from finsy.proto import p4r_grpc

from csaud_controller.inventory import Fabric
from csaud_controller.switches.errors import CountersError
from csaud_controller.switches.tls import open_channel

T = TypeVar("T")


class Readings:
    """Channels to switches, open as long as the body of `with` runs.

    Calls are made in a thread beside the caller's: Ctrl-C raises wherever the main thread is, and within
    gRPC that loses a call for whose end `close()` then waits for ever.

    Raises:
        CountersError: the address of a switch is not known.
    """

    def __init__(self, fabric: Fabric, switches: Iterable[str] | None = None) -> None:
        with ExitStack() as stack:
            self._thread = stack.enter_context(ThreadPoolExecutor(1, "gRPC"))
            self.stubs: dict[str, Any] = {}
            """By switch. To be used within `call`."""
            for name in fabric.switches if switches is None else switches:
                address = fabric.switches[name].p4runtime
                if address is None:
                    raise CountersError(f"no P4Runtime address is known for {name}")
                channel = open_channel(fabric, name, address)
                stack.callback(channel.close)  # before the thread: what it waits for ends so
                self.stubs[name] = p4r_grpc.P4RuntimeStub(channel)
            self._open = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    def call(self, function: Callable[[], T]) -> T:
        """What the function returns or raises, in the thread that may use the stubs."""
        return self._thread.submit(function).result()
