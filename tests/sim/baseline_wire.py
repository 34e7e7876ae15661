"""Two endpoints of a baseline under a test's time: packets arrive a delay later, unless it loses them."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping

from csaud_sim._core import BaselineEndpoint, PlainPacket


class Wire:
    """Host 0 sends to host 1 over links that take `delay` ns each way; a NIC sends a packet a `slot`.

    Args:
        loses: asked of each packet (with how many of its kind went before); default: none.
    """

    def __init__(
        self,
        transport: str,
        parameters: Mapping[str, float] | None = None,
        *,
        delay: int = 5_000,
        slot: int = 335,
        loses: Callable[[PlainPacket, int], bool] = lambda packet, count: False,
    ) -> None:
        self.ends = [
            BaselineEndpoint(transport, dict(parameters or {}), rank=rank, base_rtt_ns=2 * (delay + slot))
            for rank in (0, 1)
        ]
        self.delay, self.slot, self.loses = delay, slot, loses
        self.now = 0
        self.sent: list[tuple[int, PlainPacket]] = []
        """By either host, with times, lost ones included."""
        self.events: list[tuple[int, str, int]] = []
        self._flying: list[tuple[int, int, PlainPacket]] = []
        self._free = [0, 0]
        self._counts = {True: 0, False: 0}

    def run(self, until: int) -> None:
        """Let everything happen up to then."""
        while True:
            self._send()
            times = [self._flying[0][0]] if self._flying else []
            times += [end.deadline for end in self.ends if end.deadline is not None]
            times += [free for free in self._free if free > self.now]
            later = [max(time, self.now) for time in times]
            if not later or min(later) > until:
                self.now = until
                return
            self.now = max(min(later), self.now)
            while self._flying and self._flying[0][0] <= self.now:
                packet = heapq.heappop(self._flying)[2]
                self.ends[packet.dst].packet(packet, self.now)
            for end in self.ends:
                if end.deadline is not None and end.deadline <= self.now:
                    end.timer(self.now)
            for end in self.ends:
                self.events += [(self.now, what, nbytes) for what, nbytes in end.take_events()]

    def data(self) -> list[tuple[int, int]]:
        """Times and PSNs of all DATA that went."""
        return [(time, packet.psn) for time, packet in self.sent if packet.is_data]

    def _send(self) -> None:
        for rank, end in enumerate(self.ends):
            while self._free[rank] <= self.now and (packet := end.next(self.now)) is not None:
                self.sent.append((self.now, packet))
                self._free[rank] = self.now + self.slot
                count = self._counts[packet.is_data]
                self._counts[packet.is_data] += 1
                if not self.loses(packet, count):
                    there = self._free[rank] + self.delay
                    heapq.heappush(self._flying, (there, len(self.sent), packet))
