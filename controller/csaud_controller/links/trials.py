"""Whether switches forward that have no session: packets are sent through them. No clock and no I/O: rounds
are passed in, packets and readings are asked for.

What a switch without a session hears of probes nobody is told, so its links cannot be judged by probes. But
its tables stand. A neighbour sends a packet that it must forward, out to the neighbour behind the link in
question; there its time to live ends, after it was counted at the port that it came in by. Any packet that
comes in there proves as much, so a link under traffic passes every trial.

A trial is missed only with proof that its packet was sent: a probe that its sender was given later has been
heard, or the sender has answered since and had plenty of time. What is not proven leaves things as they are.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count, islice
from typing import NamedTuple

from csaud_controller.inventory import End, Fabric
from csaud_controller.paths.equal_cost import next_ports

MISSES = 3
"""Missed trials in a row that tell."""

_SENDERS = 2
"""of one trial, where there are so many"""
_TURNS = 4
"""packets for each port that a switch may choose for them: other source ports, so that hashes differ"""
_PLENTY = 7
"""rounds within which a sender that answers has done what it was told before"""

_SOURCE = bytes((192, 0, 2, 1))  # TEST-NET-1: nobody's
_MACS = bytes.fromhex("0200c5a00001 0200c5a00000")  # locally administered
_IPV4, _UDP, _DISCARD_PORT, _PAYLOAD = 0x0800, 17, 9, bytes(18)
_FIRST_PORT, _SOURCE_PORTS = 49152, 8192
_TTL = 2
"""the switch on trial makes 1 of it, and the one behind it ends it"""


class Shot(NamedTuple):
    """A packet to be sent out of a port."""

    out_of: End
    frame: bytes


@dataclass
class Orders:
    """What a round of trials asks for."""

    shots: dict[str, list[Shot]] = field(default_factory=dict)
    """By sender."""
    readings: dict[str, list[int]] = field(default_factory=dict)
    """By switch: the ports at which it is to say how many packets have come in."""


class Outcome(NamedTuple):
    """Of the trials of one direction."""

    missed: int
    """In a row, until now; 0: the last one passed."""
    since: int
    """Round in which the packets of the first of those, or of the one that passed, were sent."""


_UNTRIED = Outcome(0, 0)


@dataclass
class _Trial:
    """Of the direction from a switch without a session to a neighbour."""

    seen: int | None = None
    """Packets counted at the neighbour, when last read."""
    asked: bool = False
    """A reading is under way."""
    sent: int | None = None
    """Round in which packets were sent; None: none are on their way."""
    senders: tuple[str, ...] = ()
    proven: bool = False
    """Probes that a sender was given after the packets have been heard, when a reading was last due."""
    number: int = 0
    outcome: Outcome = _UNTRIED


@dataclass
class Trials:
    """Those of a fabric; a direction of a link is its two ends, of which the first has no session."""

    fabric: Fabric

    def __post_init__(self) -> None:
        self._trials: dict[End, _Trial] = {}
        """By the end that the switch on trial has."""
        self._answered: dict[str, int] = {}
        """Newest round in which each switch gave a reading."""
        self._round = 0

    def forget(self, name: str) -> None:
        """A switch has got or lost its session: what was found with it counts no more."""
        for end in [*self._trials]:
            if name in (end.node, self._behind(end).node):
                del self._trials[end]

    def forget_all(self) -> None:
        """The controller was held up."""
        self._trials.clear()

    def round(
        self,
        round_: int,
        away: Collection[str],
        ready: Collection[str],
        heard: Callable[[str, str], int],
    ) -> Orders:
        """What to do in this round: `away` are on trial, `ready` take part; `heard(name, but)` is the newest
        round of whose probes one from switch `name` was heard, not counting those sent to switch `but`. What
        is to be sent goes before the probes of the round."""
        self._round = round_
        orders = Orders()
        for name in away:
            for port, at in self.fabric.peers[name].items():
                if at.node in ready:
                    self._go_on(End(name, port), at, ready, heard, orders)
        return orders

    def _go_on(
        self,
        end: End,
        at: End,
        ready: Collection[str],
        heard: Callable[[str, str], int],
        orders: Orders,
    ) -> None:
        trial = self._trials.setdefault(end, _Trial())
        if trial.asked:
            return
        if trial.seen is not None and trial.sent is None:
            shots = list(self._shots(end, at, trial.number, ready))
            trial.senders = tuple({shot.out_of.node for shot in shots})
            if shots:
                trial.sent = self._round
            for shot in shots:
                orders.shots.setdefault(shot.out_of.node, []).append(shot)
        elif trial.seen is None or self._is_due(trial, end.node, heard):
            trial.asked = True
            orders.readings.setdefault(at.node, []).append(at.port)

    def _is_due(self, trial: _Trial, through: str, heard: Callable[[str, str], int]) -> bool:
        """Whether it is time to read: at once with proof that the packets were sent, else now and then."""
        if trial.sent is None or self._round == trial.sent:
            return False
        trial.proven = any(heard(sender, through) >= trial.sent for sender in trial.senders)
        return trial.proven or (self._round - trial.sent) % _PLENTY == 0

    def _was_sent(self, trial: _Trial) -> bool:
        if trial.proven or trial.sent is None:
            return trial.proven
        answered = any(self._answered.get(sender, 0) > trial.sent for sender in trial.senders)
        return answered and self._round - trial.sent >= _PLENTY

    def can_try(self, name: str, ready: Collection[str]) -> bool:
        """Whether packets can be sent through this switch at all."""
        return any(
            next(self._shots(End(name, port), at, 0, ready), None) is not None
            for port, at in self.fabric.peers[name].items()
            if at.node in ready
        )

    def counted(self, at: End, packets: int) -> End | None:
        """So many have come in there; returns the end on trial if that ends a trial."""
        self._answered[at.node] = self._round
        end = self.fabric.peers[at.node][at.port]
        trial = self._trials.get(end)
        if trial is None or not trial.asked:
            return None
        before, trial.seen, trial.asked = trial.seen, packets, False
        if before is None or (packets == before and not self._was_sent(trial)):
            return None
        began = self._round if trial.sent is None else trial.sent
        missed, since = trial.outcome
        if packets != before:
            trial.outcome = Outcome(0, began)
        else:
            trial.outcome = Outcome(missed + 1, since if missed else began)
        trial.number, trial.sent = trial.number + 1, None
        return end

    def outcomes(self, name: str) -> Mapping[End, Outcome | None]:
        """Of a switch on trial, by its end of each link that is tried; None: the first trial has not ended
        yet."""
        return {
            end: t.outcome if t.number else None
            for end, t in self._trials.items()
            if end.node == name and (t.number or t.sent is not None)
        }

    def _behind(self, end: End) -> End:
        return self.fabric.peers[end.node][end.port]

    def _shots(self, end: End, at: End, number: int, ready: Collection[str]) -> Iterator[Shot]:
        """Packets that the switch on trial has to send out of `end`, or may, among others."""
        found = self._destinations.get(end, ())
        senders = [
            peer
            for peer in self.fabric.peers[end.node].values()
            if peer.node in ready and peer.node != at.node
        ]
        if not found or not senders:
            return
        address, choices = found[number % len(found)]
        variants = 1 if choices == 1 else _TURNS * choices
        for sender in islice(senders[number % len(senders) :] + senders, min(_SENDERS, len(senders))):
            for turn in islice(count(number * variants), variants):
                yield Shot(sender, frame(address, turn))

    @cached_property
    def _destinations(self) -> dict[End, list[tuple[int, int]]]:
        """For each end towards another switch: addresses of hosts that it leads to, and to how many ports the
        choice among equal paths is. One a switch with hosts; the fewest ports first, and no others."""
        found: dict[End, list[tuple[int, int]]] = {}
        for leaf in self.fabric.switches:
            ports = self.fabric.host_ports(leaf)
            if not ports:
                continue
            address = int(self.fabric.nic_at(leaf, ports[0]).ip)
            for switch, chosen in next_ports(self.fabric, leaf).items():
                for port in chosen:
                    found.setdefault(End(switch, port), []).append((address, len(chosen)))
        return {
            end: [each for each in those if each[1] == min(n for _, n in those)]
            for end, those in found.items()
        }


def frame(address: int, turn: int) -> bytes:
    """An Ethernet frame, without FCS, to a host that it never reaches. `turn` chooses its UDP source port."""
    return udp_frame(address, turn, _PAYLOAD, _TTL)


def udp_frame(address: int, turn: int, payload: bytes, ttl: int) -> bytes:
    """An Ethernet frame, without FCS, from nobody to the discard port of an address."""
    udp = struct.pack("!HHHH", _FIRST_PORT + turn % _SOURCE_PORTS, _DISCARD_PORT, 8 + len(payload), 0)
    length = 20 + len(udp) + len(payload)
    head = struct.pack("!BBHHHBBH", 0x45, 0, length, 0, 0x4000, ttl, _UDP, 0) + _SOURCE
    head += address.to_bytes(4, "big")
    total = sum(int.from_bytes(head[at : at + 2]) for at in range(0, len(head), 2))
    total = (total & 0xFFFF) + (total >> 16)
    checksum = ~(total + (total >> 16)) & 0xFFFF
    head = head[:10] + checksum.to_bytes(2) + head[12:]
    return _MACS + _IPV4.to_bytes(2) + head + udp + payload
