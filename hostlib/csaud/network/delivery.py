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


class Receiver(Protocol):
    """Somebody at the other end of a connection."""

    sock: socket.socket
    channel: Channel


Someone = TypeVar("Someone", bound=Receiver)


@dataclasses.dataclass(slots=True)
class _Parcel(Generic[Someone]):
    """What is on its way to one of them. `moved`: when something of it was taken last."""

    to: Someone
    left: memoryview
    moved: float


def deliver(frame: bytes, receivers: Iterable[Someone], patience: float) -> Iterator[tuple[Someone, OSError]]:
    """Send an encoded message to each; who could not be reached, and why, when that is known.

    Nothing is sent unless the result is iterated over. Sockets are non-blocking afterwards.

    Args:
        patience: seconds without a byte taken, after which one is given up.
    """
    waiting = iter(receivers)
    under_way: dict[int, _Parcel[Someone]] = {}
    with selectors.DefaultSelector() as selector:

        def end(parcel: _Parcel[Someone]) -> None:
            selector.unregister(parcel.to.sock)
            del under_way[parcel.to.sock.fileno()]

        while True:
            while len(under_way) < _AT_ONCE and (receiver := next(waiting, None)) is not None:
                receiver.sock.setblocking(False)
                receiver.channel.send_frame(frame)
                parcel = _Parcel(receiver, memoryview(receiver.channel.outgoing()), time.monotonic())
                under_way[receiver.sock.fileno()] = parcel
                selector.register(receiver.sock, selectors.EVENT_WRITE, parcel)
            if not under_way:
                return
            for key, _ in selector.select(min(_LOOK, patience)):
                parcel = key.data
                try:
                    parcel.left = parcel.left[parcel.to.sock.send(parcel.left) :]
                    parcel.moved = time.monotonic()
                except BlockingIOError:
                    continue
                except OSError as error:
                    end(parcel)
                    yield parcel.to, error
                    continue
                if not parcel.left:
                    end(parcel)
            long_ago = time.monotonic() - patience
            for parcel in [each for each in under_way.values() if each.moved <= long_ago]:
                end(parcel)
                yield parcel.to, TimeoutError(f"it has read nothing for {patience:g} s")
