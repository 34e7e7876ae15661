"""Wires that keep RoCE packets of a job's first epoch back until its next one has begun."""

import os
import select
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.support.guest_wires import TapNetwork
from tests.support.roce import ROCE_PORT

ETHERNET = 14
# Of frames with an IPv4 header without options.
ETHER_TYPE, PROTOCOL, PORT, EPOCH = 12, 23, 36, 14 + 48 + 6
IPV4, UDP = b"\x08\x00", 17
ETH_P_ALL = 3  # linux/if_ether.h; what leaves is shown to such sockets alone
LONGEST = 1 << 16
STEP_S = 0.1  # to look whether the end has come
See = Callable[[bytes, Callable[[bytes], object]], None]


def epoch_of(frame: bytes) -> int | None:
    """The epoch in a RoCE packet's CSA header; None: it is not such a packet."""
    if len(frame) < EPOCH + 2 or frame[ETHER_TYPE:ETHERNET] != IPV4 or frame[PROTOCOL] != UDP:
        return None
    if int.from_bytes(frame[PORT : PORT + 2]) != ROCE_PORT:
        return None
    return int.from_bytes(frame[EPOCH : EPOCH + 2])


class HeldBack:
    """What is kept back of one epoch: each `every`-th packet."""

    def __init__(self, epoch: int, every: int) -> None:
        self.count = 0
        self.released = False
        self._epoch = epoch
        self._every = every
        self._seen = 0
        self._frames: list[bytes] = []

    def keeps(self, frame: bytes) -> bool:
        """Whether to keep this frame back, which is then done."""
        epoch = epoch_of(frame)
        if epoch is not None and epoch != self._epoch:
            self.released = True
        if epoch != self._epoch or self.released:
            return False
        self._seen += 1
        if self._seen % self._every != 0:
            return False
        self.count += 1
        self._frames.append(frame)
        return True

    def take(self) -> list[bytes]:
        """What is to go on its way now."""
        if not self.released:
            return []
        frames, self._frames = self._frames, []
        return frames


@contextmanager
def relay(one: TapNetwork, other: TapNetwork, epoch: int, every: int) -> Iterator[list[HeldBack]]:
    """A wire between the hosts of two networks that lacks each `every`-th packet of `epoch`, until the first
    packet of another epoch comes along; then those follow it. One HeldBack for each direction."""
    taps = {one.nic.tap: other.nic.tap, other.nic.tap: one.nic.tap}
    held = {tap: HeldBack(epoch, every) for tap in taps}
    ended = threading.Event()

    def work() -> None:
        while not ended.is_set():
            for tap in select.select(list(taps), [], [], STEP_S)[0]:
                frame = os.read(tap, LONGEST)
                if held[tap].keeps(frame):
                    continue
                os.write(taps[tap], frame)
                for late in held[tap].take():
                    os.write(taps[tap], late)

    worker = threading.Thread(target=work)
    worker.start()
    try:
        yield list(held.values())
    finally:
        ended.set()
        worker.join()


@contextmanager
def watched(network: TapNetwork, see: See, met: See | None = None) -> Iterator[None]:
    """see(frame, send) of each frame that the network's host sends, `met` of those that come to it; send()
    puts one on the wire."""
    ended = threading.Event()

    def work() -> None:
        while not ended.is_set():
            if not select.select([wire], [], [], STEP_S)[0]:
                continue
            frame, source = wire.recvfrom(LONGEST)
            if source[2] == socket.PACKET_OUTGOING:
                see(frame, wire.send)
            elif met is not None:
                met(frame, wire.send)

    with network.entered():
        wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    with wire:
        wire.bind((network.host.interface, ETH_P_ALL))
        worker = threading.Thread(target=work)
        worker.start()
        try:
            yield
        finally:
            ended.set()
            worker.join()


@contextmanager
def repeated(network: TapNetwork, epoch: int, every: int, most: int) -> Iterator[HeldBack]:
    """Each `every`-th packet of `epoch`, `most` at most, that the network's host sends comes a second time,
    when the first one of another epoch has come: whoever sent that is in it by then."""
    held = HeldBack(epoch, every)

    def see(frame: bytes, send: Callable[[bytes], object]) -> None:
        if held.count < most and epoch_of(frame) == epoch:
            held.keeps(frame)

    def met(frame: bytes, send: Callable[[bytes], object]) -> None:
        held.released |= epoch_of(frame) not in (None, epoch)
        for late in held.take():
            send(late)

    with watched(network, see, met):
        yield held
