"""One frame to many connections, beside each other: who reads slowly holds up nobody else."""

import dataclasses
import selectors
import socket
import time
from collections.abc import Iterable, Iterator
from typing import Generic, Protocol, TypeVar

from csaud.network.channels import Channel

_AT_ONCE = 64  # each holds a copy of the frame, under TLS one of its own
_LOOK = 1.0  # s between looks at who stands still
_PROGRESS = 65536  # bytes; who takes fewer in the time that it is given stands still


class Receiver(Protocol):
    """Somebody at the other end of a connection."""

    sock: socket.socket
    channel: Channel


Someone = TypeVar("Someone", bound=Receiver)


@dataclasses.dataclass(slots=True)
class _Parcel(Generic[Someone]):
    """What is on its way to one of them. `moved`: when it had taken another part of it, and only `left_then`
    was left."""

    to: Someone
    left: memoryview
    moved: float
    left_then: int


def deliver(
    frame: bytes, receivers: Iterable[Someone], patience: float, limit: float
) -> Iterator[tuple[Someone, OSError]]:
    """Send an encoded message to each; who could not be reached, and why, when that is known.

    Nothing is sent unless the result is iterated over. Sockets are non-blocking afterwards.

    Args:
        patience: seconds without 64 KiB taken, or all that is left, after which one is given up.
        limit: seconds after which all are that have not taken everything.
    """
    waiting = iter(receivers)
    deadline = time.monotonic() + limit
    under_way: dict[int, _Parcel[Someone]] = {}
    with selectors.DefaultSelector() as selector:

        def end(parcel: _Parcel[Someone]) -> None:
            selector.unregister(parcel.to.sock)
            del under_way[parcel.to.sock.fileno()]

        while True:
            while len(under_way) < _AT_ONCE and (receiver := next(waiting, None)) is not None:
                receiver.sock.setblocking(False)
                receiver.channel.send_frame(frame)
                left = memoryview(receiver.channel.outgoing())
                parcel = _Parcel(receiver, left, time.monotonic(), len(left))
                under_way[receiver.sock.fileno()] = parcel
                selector.register(receiver.sock, selectors.EVENT_WRITE, parcel)
            if not under_way:
                return
            for key, _ in selector.select(min(_LOOK, patience, limit)):
                parcel = key.data
                try:
                    parcel.left = parcel.left[parcel.to.sock.send(parcel.left) :]
                except BlockingIOError:
                    continue
                except OSError as error:
                    end(parcel)
                    yield parcel.to, error
                    continue
                if not parcel.left:
                    end(parcel)
                elif parcel.left_then - len(parcel.left) >= _PROGRESS:
                    parcel.moved, parcel.left_then = time.monotonic(), len(parcel.left)
            now = time.monotonic()
            if now >= deadline:
                late = TimeoutError(f"it has not read everything within {limit:g} s")
                yield from ((parcel.to, late) for parcel in under_way.values())
                yield from ((receiver, late) for receiver in waiting)
                return
            for parcel in [each for each in under_way.values() if each.moved <= now - patience]:
                end(parcel)
                yield parcel.to, TimeoutError(f"it has read nothing, or hardly anything, for {patience:g} s")
