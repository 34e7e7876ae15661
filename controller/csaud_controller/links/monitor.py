"""Which links and switches are alive, judged from probes. No clock and no I/O: rounds and `now` are passed
in.

Every round, each switch that is ready sends one probe out of each of its ports towards other switches. A
probe counts as lost only when there is proof that it would have been seen: it, or a later one, has come from
the same switch over another link, and what was sent after that has come in at the same receiver since. What a
switch tells comes in order, so a control channel that is busy, or slower than others, never looks like a dead
link; nor do rounds that were left out. Where there is no such proof (a switch with one link, or none left)
many more must be missed; nothing can be routed around such a switch anyway.

A switch without a session is not a dead switch: its tables stand, and its links keep the state they had until
trials (`trials`) find that nothing comes through it. So it is with one that has a session, but is silent.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from csaud_controller.inventory import Edge, End, Fabric
from csaud_controller.links.trials import MISSES, Orders, Trials
from csaud_controller.paths.live import LiveView


class Direction(NamedTuple):
    """One direction of a link: what leaves at `origin` comes in at `at`."""

    origin: End
    at: End


@dataclass
class _Heard:
    """What is known of one direction, in rounds."""

    last: int = 0
    """Newest round received."""
    history: deque[tuple[int, int]] = field(default_factory=lambda: deque(maxlen=_ROUNDS_KEPT))
    """Rounds received, and the newest round that had begun by then."""
    since: int = 0
    """Probes of this round and earlier ones are not expected: one end was not ready."""
    up: bool = True

    @property
    def seen(self) -> int:
        return max(self.last, self.since)

    def heard_before(self, round_: int) -> int:
        """The newest round that was received before round `round_` began; 0: none."""
        return next((heard for heard, begun in reversed(self.history) if begun < round_), 0)


_ROUNDS_KEPT = 64
"""more than may be missed"""


@dataclass
class _Switch:
    ready: bool = False
    """Its tables are in place and its probes are sent and heard."""
    on_trial_from: int | None = None
    """ns; it has no session, or is silent. None: it has one, or somebody else has."""
    heard: int = 0
    """Newest round of which it sent a probe that was heard, or heard one, over whatever cable."""
    silent: bool = False
    """It has a session, but nothing is heard of it."""
    alive: bool = True
    """False: it has no session, and trials found that it forwards nothing."""
    sent: int = 0
    """Newest round in which its probes were sent."""
    rounds: deque[int] = field(default_factory=lambda: deque(maxlen=_ROUNDS_KEPT))
    """Those in which they were: a busy controller leaves some out, and what was never sent is not lost."""

    def sent_between(self, after: int, until: int) -> int:
        """How many of the rounds `after` + 1 to `until` sent probes."""
        return sum(after < each <= until for each in self.rounds)


@dataclass(frozen=True)
class Change:
    """A link or switch that was found to be up or down; `what` is "l1-s1" or "s1"."""

    what: str
    up: bool
    why: str
    link: End | None = None
    """The `a` end of the link, where it is about one."""


@dataclass
class LinkMonitor:
    """Keeps the state of every link between switches.

    `misses`: lost probes in a row that make a link down; `misses_unproven`: the same without proof;
    `first_grace_ns`: how long switches are left in peace at first, as they have had no session yet;
    `stall_ns`: when the controller itself was held up for longer than this between two judgements, the rounds
    before count for nothing.
    """

    fabric: Fabric
    misses: int = 3
    misses_unproven: int = 40
    first_grace_ns: int = 3_000_000_000
    stall_ns: int = 500_000_000
    miswired: dict[End, End] = field(default_factory=dict)
    """A switch port, and the port that its probes really come from where the inventory says otherwise."""

    def __post_init__(self) -> None:
        self._switches = {name: _Switch() for name in self.fabric.switches}
        self._edge_of: dict[Direction, Edge] = {}
        for edge in self.fabric.switch_edges():
            a, b = edge.ends
            self._edge_of[Direction(a, b)] = edge
            self._edge_of[Direction(b, a)] = edge
        self._heard = {direction: _Heard() for direction in self._edge_of}
        leaving: dict[str, list[Direction]] = {}
        entering: dict[str, list[Direction]] = {}
        for direction in self._heard:
            leaving.setdefault(direction.origin.node, []).append(direction)
            entering.setdefault(direction.at.node, []).append(direction)
        self._out_of_same = {d: [o for o in leaving[d.origin.node] if o != d] for d in self._heard}
        self._into_same = {d: [o for o in entering[d.at.node] if o != d] for d in self._heard}
        """The other directions that begin, or end, at the same switch."""
        self._out_of: dict[str, list[Direction]] = {name: leaving.get(name, []) for name in self._switches}
        self._trials = Trials(self.fabric)
        self._lost_on_trial: set[Direction] = set()
        """Directions that are down because of trials, not of probes."""
        self._dead_links: set[End] = set()
        """The `a` ends of edges that are down."""
        self._unproven: set[End] = set()
        """Those of them that are new: no probe has passed them yet."""
        self._live = LiveView()
        self._round = 0
        self._judged_at: int | None = None

    def start(self, now: int, dead_links: Iterable[End] = ()) -> None:
        """Begin with what was known before (links named by their `a` end)."""
        dead = set(dead_links)
        for direction, edge in self._edge_of.items():
            self._heard[direction].up = edge.ends[0] not in dead
        self._dead_links = {e.ends[0] for e in self._edge_of.values() if e.ends[0] in dead}
        self._look()
        for switch in self._switches.values():
            switch.on_trial_from = now + self.first_grace_ns

    def rewired(self, fabric: Fabric, now: int, probed: bool) -> LinkMonitor:
        """One of another fabric, that knows of what both have what this one knows. `probed`: a link that is
        new is doubted before a probe has passed: a switch that has no other way keeps its groups over it, so
        that they are there before others send it packets."""
        made = LinkMonitor(fabric, self.misses, self.misses_unproven, self.first_grace_ns, self.stall_ns)
        made.start(now)
        made._switches |= {name: known for name, known in self._switches.items() if name in made._switches}
        for direction in made._heard:
            if direction in self._heard:
                made._heard[direction] = self._heard[direction]
            else:
                made._heard[direction].up, made._heard[direction].since = not probed, self._round
        made._lost_on_trial = self._lost_on_trial & made._heard.keys()
        made._dead_links = {e.ends[0] for e in made._edge_of.values() if not made._edge_up(e)}
        made._unproven = made._dead_links & {
            edge.ends[0]
            for direction, edge in made._edge_of.items()
            if direction not in self._heard or self._edge_of[direction].ends[0] in self._unproven
        }
        made.miswired = {
            at: origin
            for at, origin in self.miswired.items()
            if at.node in made._switches and Direction(origin, at) not in made._heard
        }
        made._round, made._judged_at = self._round, self._judged_at
        made._look()
        return made

    def switch_ready(self, name: str, round_: int) -> list[Change]:
        """The switch holds its tables and can send and receive probes from round `round_` + 1 on."""
        switch = self._switches[name]
        was_alive = switch.alive
        switch.ready, switch.silent, switch.on_trial_from = True, False, None
        switch.sent = switch.heard = round_
        self._set_alive(name, True)
        self._trials.forget(name)
        self._lost_on_trial.difference_update(self._out_of[name])
        for direction, heard in self._heard.items():
            if name in (direction.origin.node, direction.at.node):
                heard.since = round_
        return [] if was_alive else [Change(name, True, "holds its tables again")]

    def switch_lost(self, name: str, now: int) -> None:
        """The session with the switch has ended, or could still not be opened."""
        switch = self._switches[name]
        switch.silent = False
        if switch.ready or switch.on_trial_from is None:
            switch.ready, switch.on_trial_from = False, now
            self._trials.forget(name)

    def switch_unheard(self, name: str) -> None:
        """It forwards as before, but somebody else controls it: its links keep the state they have."""
        switch = self._switches[name]
        switch.ready, switch.silent, switch.on_trial_from = False, False, None
        self._trials.forget(name)

    def round_begins(self, round_: int) -> None:
        """Switches may be told to send probes of this round from now on."""
        self._round = round_

    def trials(self, now: int) -> Orders:
        """What is to be sent before the probes of this round, and what is to be read, for the sake of
        switches without a session."""
        away = {
            name
            for name, switch in self._switches.items()
            if switch.on_trial_from is not None and now >= switch.on_trial_from
        }
        if not away:
            return Orders()
        ready = {name for name, switch in self._switches.items() if switch.ready}
        return self._trials.round(self._round, away, ready, self._newest_heard)

    def counted(self, at: End, packets: int) -> list[Change]:
        """So many packets have come in at a port since its switch began to count; returns what follows from a
        trial that ends with it."""
        end = self._trials.counted(at, packets)
        return [] if end is None else self._tried(end.node)

    def _tried(self, name: str) -> list[Change]:
        """What the trials of a switch say by now. A link without packets tells of the link where others have
        had some since, and of the switch where none has."""
        switch, found, changes = self._switches[name], self._trials.outcomes(name), list[Change]()
        tried = {
            d: found[d.origin]
            for d in self._out_of[name]
            if d.origin in found and (self._heard[d].up or d in self._lost_on_trial)
        }
        passing = {d: each.since for d, each in tried.items() if each is not None and each.missed == 0}
        lost = {d: each.since for d, each in tried.items() if each is not None and each.missed >= MISSES}
        passed = max(passing.values(), default=0)
        if passing and not switch.alive:
            self._set_alive(name, True)
            self._trials.forget(name)  # what the others missed, they missed before
            return [Change(name, True, "forwards again, without a session")]
        for direction in passing:
            if direction in self._lost_on_trial:
                self._lost_on_trial.remove(direction)
                changes += self._turn(direction, True, f"packets come through {name} again")
        if passing:
            for direction, since in lost.items():
                if self._heard[direction].up and passed > since:
                    self._lost_on_trial.add(direction)
                    changes += self._turn(direction, False, f"nothing comes through {name} to {direction.at}")
        elif lost and len(lost) == len(tried):
            changes += self._nothing_comes(name, [*lost])
        return changes

    def _nothing_comes(self, name: str, lost: list[Direction]) -> list[Change]:
        """What follows where nothing comes through a switch to any neighbour. One that only has hosts behind
        it is not given up for want of a session: there is no other way to them."""
        switch, changes = self._switches[name], list[Change]()
        if name not in self.fabric.edge_switches:
            if switch.alive:
                self._set_alive(name, False)
                why = "is silent" if switch.silent else "has no session"
                changes.append(Change(name, False, f"forwards nothing, and {why}"))
        elif switch.silent:
            for direction in lost:
                self._lost_on_trial.add(direction)
                changes += self._turn(direction, False, f"nothing comes from {name}, which is silent")
        return changes

    def _turn(self, direction: Direction, up: bool, why: str) -> list[Change]:
        if self._heard[direction].up == up:
            return []
        edge = self._edge_of[direction]
        was_up = self._edge_up(edge)
        self._heard[direction].up = up
        if self._edge_up(edge) == was_up:
            return []
        self._dead_links.symmetric_difference_update({edge.ends[0]})
        self._unproven.discard(edge.ends[0])
        self._look()
        return [Change(link_name(edge), up, why, edge.ends[0])]

    def _newest_heard(self, name: str, but: str) -> int:
        """The newest round of whose probes one from this switch was heard, of those not sent to `but`."""
        return max((self._heard[d].last for d in self._out_of[name] if d.at.node != but), default=0)

    def sent(self, name: str, round_: int) -> None:
        """The switch was told to send its probes of this round."""
        switch = self._switches[name]
        switch.sent = round_
        switch.rounds.append(round_)

    def received(self, at: End, origin: End, round_: int) -> list[Change]:
        """A probe came in; returns the link that it brings back, if it does."""
        direction = Direction(origin, at)
        for name in {origin.node, at.node} & self._switches.keys():
            self._switches[name].heard = max(self._switches[name].heard, round_)
        if direction not in self._heard:
            if self.miswired.get(at) != origin:
                self.miswired[at] = origin
                expected = self.fabric.peers.get(at.node, {}).get(at.port)
                return [Change(f"{at}", False, f"is wired to {origin}; the inventory says {expected}")]
            return []
        self.miswired.pop(at, None)
        heard = self._heard[direction]
        changes: list[Change] = []
        for name in {end.node for end in direction if self._switches[end.node].silent}:
            changes += self.switch_ready(name, self._round)
        if round_ > heard.last:
            heard.last = round_
            heard.history.append((round_, self._round))
        if not all(self._switches[end.node].ready for end in direction):
            return changes  # it passes probes, but has no routes yet
        return changes + self._turn(direction, True, "probes pass again in both directions")

    def judge(self, now: int) -> list[Change]:
        """Links whose probes are missing."""
        changes: list[Change] = []
        if self._judged_at is not None and now - self._judged_at > self.stall_ns:
            self._forget()
        self._judged_at = now
        newest = max((heard.last for heard in self._heard.values()), default=0)
        for direction, heard in self._heard.items():
            if heard.up and (why := self._is_lost(direction, heard, newest)):
                if (name := self._silent_end(direction, newest)) is None:
                    changes += self._turn(direction, False, why)
                else:
                    switch = self._switches[name]
                    switch.ready, switch.silent, switch.on_trial_from = False, True, now
                    self._trials.forget(name)
        return changes

    def live(self) -> LiveView:
        """What can carry packets, for the computation of paths; the same object until that changes."""
        return self._live

    def _look(self) -> None:
        gone = frozenset(name for name, switch in self._switches.items() if not switch.alive)
        dead, unproven = frozenset(self._dead_links), frozenset(self._unproven)
        self._live = LiveView(dead - unproven, gone, doubted=unproven)

    def _set_alive(self, name: str, alive: bool) -> None:
        if self._switches[name].alive != alive:
            self._switches[name].alive = alive
            self._look()

    def _edge_up(self, edge: Edge) -> bool:
        a, b = edge.ends
        return self._heard[Direction(a, b)].up and self._heard[Direction(b, a)].up

    def _forget(self) -> None:
        """Probes of past rounds are not expected any more, nor do trials that were under way count."""
        self._trials.forget_all()
        for switch in self._switches.values():
            switch.heard = self._round
        for direction, heard in self._heard.items():
            heard.since = self._switches[direction.origin.node].sent

    def _is_lost(self, direction: Direction, heard: _Heard, newest: int) -> str:
        """Why the direction is down, empty while it is not. `newest`: round heard over any link at all."""
        origin, at = (self._switches[end.node] for end in direction)
        if not (origin.ready and at.ready):
            return ""
        proven = origin.sent_between(heard.seen, self._proof(direction))
        if proven >= self.misses:
            return f"{proven} probes from {direction.origin} to {direction.at} lost"
        unproven = origin.sent_between(heard.seen, newest)
        if unproven >= self.misses_unproven:
            return f"no probe from {direction.origin} to {direction.at} in {unproven} rounds"
        return ""

    def _silent_end(self, direction: Direction, newest: int) -> str | None:
        """The end of which nothing is heard over any link, if packets can be sent through it instead: its
        links may all be dead, but its agent may as well hang while it forwards."""
        ready = {name for name, switch in self._switches.items() if switch.ready}
        for name in (direction.origin.node, direction.at.node):
            if newest - self._switches[name].heard >= self.misses_unproven and self._trials.can_try(
                name, ready - {name}
            ):
                return name
        return None

    def _proof(self, direction: Direction) -> int:
        """The newest round whose probe must have been seen if the direction was alive."""
        told = max((self._heard[d].last for d in self._into_same[direction]), default=0)
        return max((self._heard[d].heard_before(told) for d in self._out_of_same[direction]), default=0)


def link_name(edge: Edge) -> str:
    """What people call it."""
    return f"{edge.a}-{edge.b}"
