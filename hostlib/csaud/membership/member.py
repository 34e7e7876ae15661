"""One rank's membership in a job, through its generations; without I/O, time passed in."""

import dataclasses
import logging
from collections.abc import Collection, Mapping
from typing import Any

from csaud.config.launch import MAX_WORLD
from csaud.membership.agreement import OPERATIONS, Agreement
from csaud.membership.arbiter import Arbiter, Value
from csaud.membership.arrivals import Arrivals
from csaud.membership.checks import check_agreement, check_next
from csaud.membership.decree import Combine, Decree, Missing
from csaud.membership.door import Door, Obstacle, let_in
from csaud.membership.messages import (
    Accept,
    Arrive,
    BadMessage,
    Body,
    Current,
    Envelope,
    Join,
    Json,
    Later,
    Look,
    Looked,
    Meet,
    OfDecree,
    Prepare,
    Release,
)
from csaud.rendezvous.table import Card, Table, card_from_json, next_table

log = logging.getLogger(__name__)

NEXT = "next"  # the decision on the next generation
_KEPT = 16  # agreements whose result is kept for those who ask late


@dataclasses.dataclass(frozen=True, slots=True)
class Gone:
    """The job goes on, or has agreed, without this rank."""


@dataclasses.dataclass(frozen=True, slots=True)
class Mixed:
    """Ranks wanted to agree in different ways, by these words."""

    words: str


Outcome = Table | Agreement | Mixed | Missing | Gone


class Member:
    """What this rank knows of the job, and its part in decisions.

    Args:
        agreed, obstacle: as for `Door`.

    Attributes:
        table: the generation that this rank is in.
        rank: its rank there.
        arrivals: where the ranks of this generation meet.
        outbox: (uid, or `as_newcomer` of it, message) to be sent, emptied by the caller.
        outcomes: what became of decisions, by name.
    """

    def __init__(
        self,
        table: Table,
        uid: str,
        arbiter: Arbiter,
        agreed: Mapping[str, Any],
        obstacle: Obstacle = lambda table, card: "",
    ) -> None:
        self.uid = uid
        self.outbox: list[tuple[str, Envelope]] = []
        self.outcomes: dict[str, Outcome] = {}
        self._arbiter = arbiter
        self._door = Door(uid, agreed, obstacle)
        self._decrees: dict[str, Decree] = {}
        # by member, its last question about what we have not begun yet, and of which generation that is
        self._early: dict[str, tuple[int, Prepare]] = {}
        self._agreements = 0
        self._enter(table)

    @property
    def wake(self) -> float | None:
        """When `tick` is due, None: not before something comes."""
        open_ = (decree.wake for name, decree in self._decrees.items() if name not in self.outcomes)
        return min(open_, default=None)

    @property
    def newcomers(self) -> Mapping[str, Card]:
        """Those at this rank's door that can be let in."""
        return self._door.newcomers

    # --- what the rank wants

    def next(self, failed: Collection[int], admit: bool, now: float, timeout: float) -> str:
        """Take part in the decision on who is in the next generation; its name in `outcomes`.

        Args:
            failed: ranks that need not be waited for.
            admit: newcomers become members, too, where all ranks say so.
        """
        contribution = {"admit": admit, **self._door.contribution(failed)}
        self._begin(NEXT, contribution, self._next_value, failed, now, timeout)
        return NEXT

    def agree(self, value: int, op: str, failed: Collection[int], now: float, timeout: float) -> str:
        """Take part in the generation's next agreement; its name in `outcomes`."""
        self._agreements += 1
        name = f"agree {self._agreements}"
        for old in [name for name in self._decrees if name != NEXT][:-_KEPT]:
            del self._decrees[old]
            self.outcomes.pop(old, None)

        def combine(contributions: Mapping[int, Json]) -> Value:
            ranks = sorted(contributions)
            others = [rank for rank in ranks if contributions[rank]["op"] != op]
            if others:
                text = f"{contributions[others[0]]['op']!r} at rank {others[0]}, {op!r} at rank {self.rank}"
                return {"value": 0, "ranks": ranks, "differs": text}
            values = [int(contributions[rank]["value"]) for rank in ranks]
            return {"value": OPERATIONS[op](values), "ranks": ranks, "differs": ""}

        self._begin(name, {"value": value, "op": op}, combine, failed, now, timeout)
        return name

    def proposals(self) -> list[tuple[str, str, Value]]:
        """(decree, key, value) that are to be put into the arbiter's store, unless the key has a value."""
        return [
            (name, f"csaud/{self.table.job}/{self.table.generation}/{name}", decree.proposal)
            for name, decree in self._decrees.items()
            if decree.proposal is not None and decree.outcome is None
        ]

    def stored(self, generation: int, name: str, value: Value) -> None:
        """What the store holds for a decree of a generation."""
        if generation == self.table.generation and name in self._decrees:
            self._decrees[name].stored(value)
            self._collect()

    def tick(self, now: float) -> None:
        """Do what is due."""
        for decree in self._decrees.values():
            decree.tick(now)
        self._collect()

    # --- what comes

    def check(self, envelope: Envelope) -> None:
        """What can be said of a message before its sender is taken for who it says.

        Raises:
            BadMessage: it is of another job, or not what a member or a newcomer says.
        """
        if not isinstance(envelope.body, Join) and envelope.job != self.table.job:
            raise BadMessage("of another job")
        newcomer = envelope.generation < 0
        if newcomer != isinstance(envelope.body, Join) and not isinstance(envelope.body, Looked):
            raise BadMessage(f"a {type(envelope.body).__name__} in generation {envelope.generation}")

    def receive(self, envelope: Envelope, now: float) -> None:
        """A message.

        Raises:
            BadMessage: it makes no sense; its connection should be dropped.
        """
        self.check(envelope)
        body = envelope.body
        if isinstance(body, Join):
            self._door.knock(envelope.uid, body)
            return
        if envelope.generation < 0:
            assert isinstance(body, Looked)
            self._door.reached(envelope.uid, body)
            return
        self._door.met(envelope.uid)
        if isinstance(body, Current):
            self._table(body.table)
        elif isinstance(body, Look | Looked):  # of whatever generation: what they say holds in all later ones
            self._of_newcomer(envelope.uid, body)
        elif envelope.generation < self.table.generation:
            if isinstance(body, Prepare | Accept | Later):
                self._send(envelope.uid, Current(self.table))
        elif envelope.generation > self.table.generation:
            # It was decided that we are in, and we have not been told so far: the answer will be the table.
            self._keep(envelope)
            self._send(envelope.uid, Later(NEXT))
        else:
            self._of_this_generation(envelope, now)

    def absent(self, peer: str, now: float, gone: bool = False) -> None:
        """The connection to `peer` has ended, or could not be made.

        Args:
            peer: a member's uid, or a newcomer (`as_newcomer`).
            gone: nobody listens at its address, as a member does until it leaves.
        """
        self._early.pop(peer, None)  # nobody waits for the answer
        self._door.absent(peer)
        rank = self._ranks.get(peer)
        if rank is None:
            return
        for decree in self._decrees.values():
            decree.absent(rank, now, gone)
        self.arrivals.left(rank)
        self._collect()

    def door_of(self, uid: str) -> str:
        """ "address:port" of a member's service; "" of who is none."""
        rank = self._ranks.get(uid)
        return "" if rank is None else self.table.cards[rank].door

    def flush(self) -> None:
        """Move what parts want to send into the outbox."""
        for rank, message in self.arrivals.outbox:
            self._send(self.table.cards[rank].uid, message)
        self.arrivals.outbox.clear()
        for peer, body in self._door.outbox:
            self._send(peer, body)
        self._door.outbox.clear()

    # --- inside

    def _enter(self, table: Table) -> None:
        self.table = table
        self._ranks = {card.uid: card.rank for card in table.cards}
        self.rank = self._ranks[self.uid]
        self.arrivals = Arrivals(self.rank, len(table.cards))
        self._decrees, self._agreements = {}, 0
        self._early = {
            uid: (generation, asked)
            for uid, (generation, asked) in self._early.items()
            if uid in self._ranks and generation >= table.generation
        }
        self._door.enter(table)

    def _begin(
        self,
        name: str,
        contribution: Json,
        combine: Combine,
        failed: Collection[int],
        now: float,
        timeout: float,
    ) -> None:
        if name in self._decrees:
            raise ValueError(f"{name!r} is decided once: what this rank has promised must not be forgotten")
        self.outcomes.pop(name, None)  # of the generation before
        self._decrees[name] = Decree(
            name, self.rank, len(self.table.cards), contribution, combine, self._arbiter,
            failed=failed, now=now, timeout=timeout,
        )  # fmt: skip
        here = [
            uid
            for uid, (generation, asked) in self._early.items()
            if generation == self.table.generation and asked.decree == name
        ]
        for uid in here:
            _, asked = self._early.pop(uid)
            if self._ranks[uid] not in failed:  # or it would count as one who is there, and lead
                self._decrees[name].receive(self._ranks[uid], asked, now)
        self._collect()

    def _of_newcomer(self, sender: str, body: Look | Looked) -> None:
        if sender == self.uid:
            raise BadMessage("of this rank itself")
        if isinstance(body, Look):
            self._door.look(sender, body.card)
        else:
            self._door.looked(sender, body)

    def _keep(self, envelope: Envelope) -> None:
        """For when this rank begins with what it is asked about: its answer then is as one to a message that
        was long under way, and nobody has to ask again for it. Of members of this generation alone, also
        where it asks about a later one: others ask again."""
        if isinstance(envelope.body, Prepare) and envelope.uid in self._ranks and envelope.uid != self.uid:
            self._early[envelope.uid] = envelope.generation, envelope.body

    def _of_this_generation(self, envelope: Envelope, now: float) -> None:
        uid, body = envelope.uid, envelope.body
        sender = self._ranks.get(uid)
        if sender is None or sender == self.rank:
            raise BadMessage("of nobody in this generation")
        if isinstance(body, Meet | Arrive | Release):
            self.arrivals.receive(sender, body)
        elif isinstance(body, OfDecree):
            decree = self._decrees.get(body.decree)
            if decree is not None:
                (check_next if body.decree == NEXT else check_agreement)(body, len(self.table.cards))
                decree.receive(sender, body, now)
                self._collect()
            elif isinstance(body, Prepare | Accept):
                self._keep(envelope)
                self._send(uid, Later(body.decree))
                if body.decree == NEXT:  # it meets nobody in this generation any more
                    self.arrivals.left(sender)
        else:
            raise BadMessage(f"a {type(body).__name__} that nobody asked for")

    def _table(self, table: Table) -> None:
        """Somebody is in another generation, perhaps a later one."""
        if table.job != self.table.job or table.generation <= self.table.generation:
            return
        ours = self._decrees.get(NEXT)
        if (
            ours is not None
            and ours.outcome is None
            and table.generation == self.table.generation + 1
            and any(card.uid == self.uid for card in table.cards)
        ):
            self.outcomes[NEXT] = table
            self._enter(table)
            return
        for name, decree in self._decrees.items():
            if decree.outcome is None:
                decree.give_up()
                self.outcomes[name] = Gone()

    def _collect(self) -> None:
        """Take what decrees want to send, and what became of them."""
        for name, decree in list(self._decrees.items()):
            for rank, body in decree.outbox:
                self._send(self.table.cards[rank].uid, body)
            decree.outbox.clear()
            if decree.outcome is None or name in self.outcomes:
                continue
            self.outcomes[name] = (
                decree.outcome
                if isinstance(decree.outcome, Missing)
                else self._entered(decree.outcome)
                if name == NEXT
                else self._agreed_on(decree.outcome)
            )

    def _next_value(self, contributions: Mapping[int, Json]) -> Value:
        members = sorted(contributions)
        taken = {(self.table.cards[rank].address, self.table.cards[rank].qpn) for rank in members}
        newcomers: list[Json] = []
        for card in let_in(contributions):
            if (card.address, card.qpn) not in taken and len(members) + len(newcomers) < MAX_WORLD:
                newcomers.append(dataclasses.asdict(card))
                taken.add((card.address, card.qpn))
        return {"members": members, "newcomers": newcomers}

    def _entered(self, value: Value) -> Outcome:
        newcomers = [card_from_json(fields) for fields in value["newcomers"]]
        table = next_table(self.table, value["members"], newcomers)
        if self.rank not in value["members"]:
            return Gone()
        self._enter(table)
        return table

    def _agreed_on(self, value: Value) -> Outcome:
        if self.rank not in value["ranks"]:
            return Gone()
        ranks = range(len(self.table.cards))
        if value["differs"]:
            return Mixed(value["differs"])
        return Agreement(value["value"], tuple(rank for rank in ranks if rank not in value["ranks"]))

    def _send(self, peer: str, body: Body) -> None:
        self.outbox.append((peer, Envelope(self.table.job, self.table.generation, self.uid, body)))
