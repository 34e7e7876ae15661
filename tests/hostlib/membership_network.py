"""Members of a job and newcomers in a virtual network that loses, repeats, delays and partitions."""

from __future__ import annotations

import heapq
import json
import math
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from csaud.membership.agreement import Agreement
from csaud.membership.arbiter import Arbiter, ByStore, Majority
from csaud.membership.decree import Missing
from csaud.membership.member import Gone, Member
from csaud.membership.messages import (
    Current,
    Envelope,
    Join,
    Look,
    Looked,
    Refused,
    Waiting,
    as_newcomer,
    from_json,
    to_json,
)
from csaud.rendezvous.table import Card, Table

STORE = "store"
JOB = "a job"
VALUES = 0xFF
"""What ranks agree on is this without the bit of each that takes part."""


_OF_DECREES = ("Prepare", "Promise", "Refuse", "Accept", "HasAccepted", "Decided", "Later")
_OF_DOORS = ("Current", "Join", "Waiting", "Refused", "Look", "Looked")
STEPS = (*_OF_DECREES, *_OF_DOORS, STORE)
"""Kinds of messages, at the sending of which a fault can happen; to the store and from it, too."""


@dataclass(frozen=True)
class Partition:
    """From when the `at`-th message of a kind is sent on, nothing passes between the processes of `side`
    (bits; the last one is the store) and the others, for a time."""

    step: str
    at: int
    for_s: float
    side: int


@dataclass(frozen=True)
class Pause:
    """The process does not run for a time; what comes meanwhile waits."""

    step: str
    at: int
    for_s: float
    process: int


@dataclass(frozen=True)
class Kill:
    """The process is gone."""

    step: str
    at: int
    process: int


@dataclass(frozen=True)
class Strike:
    """What befalls `count` messages of a kind from the `at`-th on."""

    step: str
    at: int
    count: int
    fate: str
    delay_s: float = 0.0


Trigger = Partition | Pause | Kill
Fault = Trigger | Strike


@dataclass(frozen=True)
class Schedule:
    """One run. Times in seconds.

    Attributes:
        starts: when each of the first generation's ranks begins.
        hints: bits of the ranks that every one begins with as failed.
        dead: bits of the ranks that are dead from the begin.
        newcomers: when each newcomer comes.
        strange: by newcomer, bits of the processes that cannot go on with it.
        unable: by newcomer, bits of the processes, newcomers too, that it cannot go on with.
        rounds: how often those that went on do so again, after the gaps.
        loss: probability that a message is lost.
        agreements: how often all agree on something before they go on.
        wire: messages are JSON on their way.
    """

    starts: tuple[float, ...]
    hints: int = 0
    dead: int = 0
    newcomers: tuple[float, ...] = ()
    strange: tuple[int, ...] = ()
    unable: tuple[int, ...] = ()
    gaps: tuple[float, ...] = ()
    timeout: float = 4.0
    loss: float = 0.0
    jitter: float = 0.001
    store: bool = False
    agreements: int = 0
    wire: bool = False
    seed: int = 0
    faults: tuple[Fault, ...] = ()


@dataclass
class Process:
    """One process of the job, or that wants to be."""

    uid: str
    card: Card
    arbiter: Arbiter
    member: Member | None = None
    state: str = "idle"
    """idle, calling, waiting (a newcomer), ended or dead"""
    resumes: float = 0.0
    deadline: float = 0.0
    name: str = ""
    """of the decision that it waits for"""
    agreed: int = 0
    """how often in this generation"""
    agreements: dict[tuple[int, str], Agreement] = field(default_factory=dict)
    """by generation and name"""
    asked: set[str] = field(default_factory=set)
    refused: bool = False
    """as a newcomer"""
    wakes: float = math.inf
    """when it looks next at what is due"""
    tables: list[Table] = field(default_factory=list)
    ends: list[Any] = field(default_factory=list)


class Network:
    """Plays one schedule; what became of it is in `processes`."""

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.now = 0.0
        self.late: list[str] = []
        self._random = random.Random(schedule.seed)
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._number = 0
        self._sent: Counter[str] = Counter()
        self._held: dict[str, str] = {}
        self._apart: list[tuple[float, int]] = []
        self._strikes = [fault for fault in schedule.faults if isinstance(fault, Strike)]
        self._triggers: list[Trigger] = [fault for fault in schedule.faults if not isinstance(fault, Strike)]
        world = len(schedule.starts)
        self.names = [f"p{number}" for number in range(world + len(schedule.newcomers))] + [STORE]
        self._bit = {name: number for number, name in enumerate(self.names)}
        self._uid_of = {peer: uid for uid in self.names for peer in (uid, as_newcomer(uid))}
        arbiter: Arbiter = ByStore(self) if schedule.store else Majority()  # type: ignore[arg-type]
        cards = [
            Card(number if number < world else 0, f"10.0.0.{number}", 7, 4096, "raw", name, f"{name}:1")
            for number, name in enumerate(self.names[:-1])
        ]
        self.first = Table(tuple(cards[:world]), 65_534, 1, 4096, JOB, 0, world)
        self.processes = {card.uid: Process(card.uid, card, arbiter) for card in cards}
        hints = {rank for rank in range(world) if schedule.hints >> rank & 1}
        for number, process in enumerate(self.processes.values()):
            if number >= world:
                process.state = "waiting"
                self._at(schedule.newcomers[number - world], lambda p=process: self._knock(p))
            elif schedule.dead >> number & 1:
                process.state = "dead"
            else:
                process.member = self._member(process, self.first)
                process.tables.append(self.first)
                self._at(schedule.starts[number], lambda p=process: self._call(p, hints))

    def play(self) -> None:
        """Until nothing is under way any more."""
        while self._events:
            self.now, _, event = heapq.heappop(self._events)
            event()

    def strange(self, uid: str, newcomer: str) -> bool:
        """Whether a process cannot go on with a newcomer."""
        return self._marked(self.schedule.strange, newcomer, uid)

    def unable(self, newcomer: str, uid: str) -> bool:
        """Whether a newcomer cannot go on with a process."""
        return self._marked(self.schedule.unable, newcomer, uid)

    def _marked(self, bits: tuple[int, ...], newcomer: str, uid: str) -> bool:
        number = self._bit[newcomer] - len(self.schedule.starts)
        return 0 <= number < len(bits) and bool(bits[number] >> self._bit[uid] & 1)

    # --- processes

    def _member(self, process: Process, table: Table) -> Member:
        def obstacle(table: Table, card: Card) -> str:
            apart = self.strange(process.uid, card.uid) or self.unable(process.uid, card.uid)
            return "strange" if apart else ""

        return Member(table, process.uid, process.arbiter, {}, obstacle)

    def _at(self, when: float, event: Callable[[], None]) -> None:
        self._number += 1
        heapq.heappush(self._events, (when, self._number, event))

    def _runs(self, process: Process, again: Callable[[], None]) -> bool:
        """Whether it can do something now; where it is paused it will do so later."""
        if process.state in ("dead", "ended"):
            return False
        if self.now < process.resumes:
            self._at(process.resumes, again)
            return False
        return True

    def _call(self, process: Process, failed: set[int]) -> None:
        if not self._runs(process, lambda: self._call(process, failed)):
            return
        assert process.member is not None
        process.state = "calling"
        process.deadline = self.now + self.schedule.timeout
        if process.agreed < self.schedule.agreements:
            process.agreed += 1
            mine = VALUES & ~(1 << self._bit[process.uid])
            process.name = process.member.agree(mine, "and", failed, self.now, self.schedule.timeout)
        else:
            process.name = process.member.next(failed, True, self.now, self.schedule.timeout)
        self._after(process)

    def _after(self, process: Process) -> None:
        """Whatever it did: what it sends, what ended, and when it wants to be woken."""
        member = process.member
        assert member is not None
        member.flush()
        outbox, member.outbox = member.outbox, []
        for peer, envelope in outbox:
            self._send(process.uid, peer, envelope)
        for name, key, value in member.proposals():
            if key not in process.asked:
                process.asked.add(key)
                self._ask_store(process, member.table.generation, name, key, json.dumps(value))
        if process.state == "calling" and process.name in member.outcomes:
            outcome = member.outcomes[process.name]
            process.ends.append(outcome)
            if self.now > max(process.deadline, process.resumes) + 1e-6:
                self.late.append(process.uid)
            if isinstance(outcome, Missing | Gone):
                process.state = "ended"
                return
            if isinstance(outcome, Agreement):
                process.agreements[member.table.generation, process.name] = outcome
                process.state = "idle"
                self._at(self.now, lambda: self._call(process, set(outcome.failed)))
                return
            assert isinstance(outcome, Table)
            self._goes_on(process, outcome)
        if process.state == "calling":
            self._wake(process, member)

    def _goes_on(self, process: Process, table: Table) -> None:
        process.state = "idle"
        process.agreed = 0
        process.tables.append(table)
        if table.generation - 1 < len(self.schedule.gaps):
            self._at(self.now + self.schedule.gaps[table.generation - 1], lambda: self._call(process, set()))

    def _wake(self, process: Process, member: Member) -> None:
        """When something is due, unless it looks before that anyway."""
        due = member.wake
        assert due is not None
        when = max(due, self.now)
        if when < process.wakes:
            process.wakes = when
            self._at(when, lambda: self._tick(process, when))

    def _tick(self, process: Process, when: float) -> None:
        if process.state != "calling":
            process.wakes = math.inf
        elif when == process.wakes and self._runs(process, lambda: self._tick(process, when)):
            process.wakes = math.inf
            member = process.member
            assert member is not None and member.wake is not None
            if self.now >= member.wake:
                member.tick(self.now)
                self._after(process)
            else:
                self._wake(process, member)

    def _knock(self, process: Process) -> None:
        """A newcomer asks everybody, again and again."""
        if process.state != "waiting" or not self._runs(process, lambda: self._knock(process)):
            return
        if self.now > self.schedule.newcomers[self._bit[process.uid] - len(self.schedule.starts)] + 20.0:
            process.state = "ended"
            return
        hello = Envelope("", -1, process.uid, Join(process.card, {}))
        for card in self.first.cards:
            self._send(process.uid, card.uid, hello)
        self._at(self.now + 2.0, lambda: self._knock(process))

    # --- messages

    def _separated(self, one: str, other: str) -> bool:
        if not self._apart:
            return False
        bits = self._bit[one], self._bit[other]
        return any(
            self.now < until and (side >> bits[0] & 1) != (side >> bits[1] & 1) for until, side in self._apart
        )

    def _strike(self) -> None:
        """Faults that are due at this number of messages."""
        for fault in [fault for fault in self._triggers if fault.at < self._sent[fault.step]]:
            self._triggers.remove(fault)
            if isinstance(fault, Partition):
                self._apart.append((self.now + fault.for_s, fault.side))
                continue
            process = self.processes[self.names[fault.process % len(self.processes)]]
            if isinstance(fault, Kill):
                process.state = "dead"
            else:
                process.resumes = max(process.resumes, self.now + fault.for_s)

    def _count(self, step: str) -> None:
        self._sent[step] += 1
        if self._triggers:
            self._strike()

    def _send(self, sender: str, peer: str, envelope: Envelope) -> None:
        receiver = self._uid_of[peer]
        step = type(envelope.body).__name__
        self._count(step)
        struck = self._strikes and [
            strike
            for strike in self._strikes
            if strike.step == step and 0 < self._sent[step] - strike.at <= strike.count
        ]
        fates = {strike.fate for strike in struck}
        if self._separated(sender, receiver) or "drop" in fates or self._random.random() < self.schedule.loss:
            return
        delay = 0.0001 + self._random.random() * self.schedule.jitter
        late = sum(strike.delay_s for strike in struck if strike.fate != "drop")
        copies = [delay, delay + late] if "repeat" in fates else [delay + late]
        for each in copies:
            self._at(self.now + each, lambda: self._deliver(sender, peer, envelope))

    def _deliver(self, sender: str, peer: str, envelope: Envelope) -> None:
        receiver = self._uid_of[peer]
        process = self.processes[receiver]
        if process.state in ("dead", "ended"):
            self._lost(sender, peer)
            return
        if self._separated(sender, receiver):
            return
        if not self._runs(process, lambda: self._deliver(sender, peer, envelope)):
            return
        if self.schedule.wire:
            envelope = from_json(json.loads(json.dumps(to_json(envelope))))
        if process.member is None:
            self._to_newcomer(process, sender, envelope)
            return
        process.member.receive(envelope, self.now)
        self._after(process)

    def _lost(self, member: str, peer: str) -> None:
        """A connection of the member's is closed, or nobody listens at its other end."""
        process = self.processes[member]
        if (
            process.member is not None
            and process.state in ("idle", "calling")
            and self.now >= process.resumes
        ):
            process.member.absent(peer, self.now)
            self._after(process)

    def _to_newcomer(self, process: Process, sender: str, envelope: Envelope) -> None:
        match envelope.body:
            case Current(table) if any(card.uid == process.uid for card in table.cards):
                process.member = self._member(process, table)
                self._goes_on(process, table)
                self._after(process)
                for card in self.first.cards:  # it waits at nobody's door any more
                    delay = self._random.random() * self.schedule.jitter
                    self._at(self.now + delay, lambda uid=card.uid: self._lost(uid, as_newcomer(process.uid)))
            case Look(card) if process.state == "waiting":
                looked = Looked(card.uid, "unable" if self.unable(process.uid, card.uid) else "")
                self._send(process.uid, sender, Envelope(envelope.job, -1, process.uid, looked))
            case Refused() if process.state == "waiting":
                process.state, process.refused = "ended", True
            case Current() | Waiting() | Refused():
                pass
            case _:  # it is a member and does not know so far; a connection would wait for its door to open
                pass

    # --- the store

    def put_if_absent(self, key: str, value: str) -> str:
        """As the store does it."""
        return self._held.setdefault(key, value)

    def _ask_store(self, process: Process, generation: int, name: str, key: str, value: str) -> None:
        def arrive() -> None:
            if self._separated(process.uid, STORE):
                process.asked.discard(key)
                self._at(self.now + 0.2, lambda: self._poke(process))
                return
            held = self.put_if_absent(key, value)
            self._count(STORE)
            self._at(self.now + delay, lambda: answer(held))

        def answer(held: str) -> None:
            if self._separated(process.uid, STORE):
                process.asked.discard(key)
                self._at(self.now + 0.2, lambda: self._poke(process))
            elif self._runs(process, lambda: answer(held)):
                assert process.member is not None
                process.member.stored(generation, name, json.loads(held))
                self._after(process)

        delay = 0.0001 + self._random.random() * self.schedule.jitter
        self._count(STORE)
        self._at(self.now + delay, arrive)

    def _poke(self, process: Process) -> None:
        """It asks the store again."""
        if process.state == "calling" and self._runs(process, lambda: self._poke(process)):
            self._after(process)
