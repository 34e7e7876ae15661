"""Newcomers at one rank's door: all members look at each, and each at all members and at the other newcomers,
before it counts, or it would end the job at the one that cannot go on with the other; without I/O."""

import dataclasses
from collections.abc import Callable, Collection, Iterable, Mapping, Set
from typing import Any

from csaud.config.settings import differing
from csaud.membership.messages import Body, Current, Join, Json, Look, Looked, Refused, Waiting, as_newcomer
from csaud.network.addresses import is_ipv6
from csaud.rendezvous.table import Card, Table, card_from_json

Obstacle = Callable[[Table, Card], str]
"""Why this rank could not go on with a newcomer to a table; empty where it can. Once empty, it stays so: the
MTU of later tables is the same or smaller."""

_MOST_MET = 1024  # newcomers that one is remembered to have looked at: they come and go while it waits


@dataclasses.dataclass(slots=True)
class _Visitor:
    """A newcomer that waits.

    Attributes:
        unseen: uids of the members that have not looked at it.
        unreached: why it could not go on with members, by uid; empty where it has not said that it can.
        asked: newcomers that it was shown and has said nothing about, by uid.
        met: why it could not go on with those that it has looked at, by uid; empty where it can.
    """

    card: Card
    unseen: set[str]
    unreached: dict[str, str] = dataclasses.field(default_factory=dict)
    asked: dict[str, Card] = dataclasses.field(default_factory=dict)
    met: dict[str, str] = dataclasses.field(default_factory=dict)

    def ready(self, away: Set[str]) -> bool:
        """Whether it can be let in as long as these members take no part."""
        return self.unseen <= away and self.unreached.keys() <= away and not self.asked

    def goes_with(self, other: "_Visitor") -> bool:
        """Whether both have looked at each other, and can go on together."""
        return self.met.get(other.card.uid) == other.met.get(self.card.uid) == ""


class Door:
    """This rank's.

    Args:
        uid: of this process.
        agreed: settings that a newcomer must have, too.
        obstacle: asked about newcomers at every member; those that there is one for are refused.

    Attributes:
        outbox: (uid, or `as_newcomer` of it, message) to be sent, emptied by the caller.
        newcomers: those that can be let in, by `as_newcomer`: they and whoever of the members is there have
            looked at each other. Never changed, but replaced: other threads read it.
    """

    def __init__(self, uid: str, agreed: Mapping[str, Any], obstacle: Obstacle) -> None:
        self.outbox: list[tuple[str, Body]] = []
        self.newcomers: dict[str, Card] = {}
        self._uid, self._agreed, self._obstacle = uid, agreed, obstacle
        self._visitors: dict[str, _Visitor] = {}
        self._lost: set[str] = set()  # members that there is no connection with
        self._ranks: dict[str, int] = {}

    def enter(self, table: Table) -> None:
        """A generation begins."""
        self._table, before = table, self._ranks.keys()
        self._ranks = {card.uid: card.rank for card in table.cards}
        self._lost &= self._ranks.keys()
        for uid in self._ranks:
            if self._visitors.pop(as_newcomer(uid), None) is not None and uid != self._uid:
                self.outbox.append((as_newcomer(uid), Current(table)))
        new = self._ranks.keys() - before
        for visitor in self._visitors.values():
            visitor.unseen = visitor.unseen & self._ranks.keys() | new
            left = {uid: reason for uid, reason in visitor.unreached.items() if uid in self._ranks}
            visitor.unreached = dict.fromkeys(new, "") | left
            visitor.met = {uid: reason for uid, reason in visitor.met.items() if uid not in self._ranks}
            self._show(visitor, visitor.unseen)
            self._show_members(visitor, new)
        self._count()

    def knock(self, uid: str, body: Join) -> None:
        """A newcomer comes, or asks again."""
        peer = as_newcomer(uid)
        if uid in self._ranks:
            self.outbox.append((peer, Current(self._table)))
            return
        if reason := self._refusal(body):
            self.outbox.append((peer, Refused(reason)))
            return
        card, unseen = dataclasses.replace(body.card, uid=uid), self._ranks.keys() - {self._uid}
        visitor = self._visitors.setdefault(peer, _Visitor(card, unseen, dict.fromkeys(self._ranks, "")))
        self.outbox.append((peer, Waiting()))
        self._show(visitor, visitor.unseen)
        self._show_members(visitor, visitor.unreached)
        self._introduce(card)
        others = (other.card for other in self._visitors.values() if other is not visitor)
        visitor.asked |= {other.uid: other for other in others if other.uid not in visitor.met}
        self._show_newcomers(visitor, visitor.asked.values())
        self._count()

    def look(self, sender: str, card: Card) -> None:
        """Another member's visitor: ours look at it, and it at those of them that did not know it."""
        self.outbox.append((sender, Looked(card.uid, self._obstacle(self._table, card))))
        if card.uid not in self._ranks:
            self.outbox += [(sender, Look(visitor.card)) for visitor in self._introduce(card)]
            self._count()

    def reached(self, newcomer: str, body: Looked) -> None:
        """A visitor has looked at a member, or at another newcomer."""
        visitor = self._visitors.get(as_newcomer(newcomer))
        if visitor is None:
            return
        if visitor.asked.pop(body.subject, None):  # before it was a member, if it is one now
            visitor.met[body.subject] = body.reason
            if len(visitor.met) > _MOST_MET:
                del visitor.met[next(iter(visitor.met))]
        elif body.subject not in visitor.unreached:
            return
        elif body.reason:
            visitor.unreached[body.subject] = body.reason
            self._refuse_if_there(visitor, body.subject)
        else:
            del visitor.unreached[body.subject]
        self._count()

    def looked(self, sender: str, body: Looked) -> None:
        """Another member has looked at a visitor, and perhaps found something."""
        visitor = self._visitors.get(as_newcomer(body.subject))
        if sender not in self._ranks or visitor is None:
            return
        if body.reason:
            self._refuse(visitor, f"at rank {self._ranks[sender]}: {body.reason}")
        else:
            visitor.unseen.discard(sender)
            self._refuse_if_there(visitor, sender)
        self._count()

    def met(self, uid: str) -> None:
        """A member is there; what it was asked may be lost."""
        if uid in self._lost:
            self._lost.discard(uid)
            for visitor in list(self._visitors.values()):
                if uid in visitor.unseen:
                    self._show(visitor, [uid])
                self._refuse_if_there(visitor, uid)
            self._count()

    def absent(self, peer: str) -> None:
        """The connection to a member, or to a newcomer (`as_newcomer`), has ended or could not be made."""
        if peer in self._ranks:
            self._lost.add(peer)
        else:
            self._visitors.pop(peer, None)
        self._count()

    def contribution(self, failed: Collection[int]) -> Json:
        """What a decision on the next generation is to know of newcomers.

        Args:
            failed: ranks that need not be waited for.
        """
        away = self._lost | {uid for uid, rank in self._ranks.items() if rank in failed}
        ready: list[_Visitor] = []
        for visitor in self._visitors.values():  # in the order in which they came
            if visitor.ready(away) and all(visitor.goes_with(other) for other in ready):
                ready.append(visitor)
        unseen = {
            visitor.card.uid: [self._ranks[uid] for uid in visitor.unseen | visitor.unreached.keys()]
            for visitor in ready
        }
        return {
            "newcomers": [dataclasses.asdict(visitor.card) for visitor in ready],
            "unseen": {uid: ranks for uid, ranks in unseen.items() if ranks},
            "met": {
                visitor.card.uid: [
                    uid
                    for uid, reason in visitor.met.items()
                    if not reason and as_newcomer(uid) not in self._visitors
                ]
                for visitor in ready
            },
        }

    def _count(self) -> None:
        ready = (peer for peer, visitor in self._visitors.items() if visitor.ready(self._lost))
        self.newcomers = {peer: self._visitors[peer].card for peer in ready}

    def _show(self, visitor: _Visitor, members: Collection[str]) -> None:
        look = Look(visitor.card)  # one object: it is encoded once
        self.outbox += [(uid, look) for uid in self._ranks if uid in members]

    def _show_members(self, visitor: _Visitor, members: Collection[str]) -> None:
        peer, mtu = as_newcomer(visitor.card.uid), self._table.mtu
        for card in self._table.cards:
            if card.uid in members:  # with the MTU of the job, which is what their packets have
                self.outbox.append((peer, Look(dataclasses.replace(card, mtu=mtu))))

    def _introduce(self, card: Card) -> list[_Visitor]:
        """Show a newcomer to the others that are here; those that it is news to."""
        others = [
            visitor
            for visitor in self._visitors.values()
            if card.uid != visitor.card.uid and card.uid not in {**visitor.met, **visitor.asked}
        ]
        for visitor in others:
            visitor.asked[card.uid] = card
            self._show_newcomers(visitor, [card])
        return others

    def _show_newcomers(self, visitor: _Visitor, cards: Iterable[Card]) -> None:
        peer, mtu = as_newcomer(visitor.card.uid), self._table.mtu
        for card in cards:
            self.outbox.append((peer, Look(dataclasses.replace(card, mtu=min(card.mtu, mtu)))))

    def _refuse(self, visitor: _Visitor, reason: str) -> None:
        peer = as_newcomer(visitor.card.uid)
        del self._visitors[peer]
        self.outbox.append((peer, Refused(reason)))

    def _refuse_if_there(self, visitor: _Visitor, uid: str) -> None:
        """A newcomer need not go on with a member that is gone: one that has looked at it is there."""
        if uid not in visitor.unseen and uid not in self._lost and (reason := visitor.unreached.get(uid)):
            self._refuse(visitor, reason)

    def _refusal(self, body: Join) -> str:
        if reason := differing({"this job": self._agreed, "the newcomer": body.agreed}):
            return reason
        own = self._table.cards[self._ranks[self._uid]].address
        if is_ipv6(body.card.address) != is_ipv6(own):
            return f"the newcomer is at {body.card.address}, this job at {own}: all IPv4 or all IPv6"
        return self._obstacle(self._table, body.card)


def let_in(contributions: Mapping[int, Json]) -> list[Card]:
    """The newcomers that the ranks which brought these contributions, and those before them, can go on with:
    at a lower rank's door before others, at one door in the order in which they came. None where one of the
    ranks admits none."""
    if not all(contribution["admit"] for contribution in contributions.values()):
        return []
    met: dict[str, set[str]] = {}  # by newcomer, those at other doors that it can go on with
    for contribution in contributions.values():
        for uid, others in contribution.get("met", {}).items():
            met.setdefault(uid, set()).update(others)
    found: dict[str, Card] = {}
    for _, contribution in sorted(contributions.items()):
        unseen = contribution.get("unseen", {})
        cards = [card_from_json(fields) for fields in contribution["newcomers"]]
        before = found.keys() - {card.uid for card in cards}  # those at one door have met
        for card in cards:
            known = {uid for uid in met.get(card.uid, ()) if card.uid in met.get(uid, ())}
            if contributions.keys().isdisjoint(unseen.get(card.uid, ())) and before <= known:
                found[card.uid] = card
    return list(found.values())
