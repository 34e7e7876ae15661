"""A member of a job of three, alone: what it says to a message."""

from csaud.membership.arbiter import Majority
from csaud.membership.member import NEXT, Member
from csaud.membership.messages import Ballot, Body, Envelope, Meet, Prepare
from csaud.rendezvous.table import Card, Table, next_table

CARDS = tuple(
    Card(rank, f"10.0.0.{rank}", 7, 4096, "raw", f"p{rank}", f"10.0.0.{rank}:1") for rank in range(3)
)
FIRST = Table(CARDS, 65_535, 1, 4096, "a job", 0, 3)
SECOND = next_table(FIRST, [0, 1, 2])
ASKS = Prepare(NEXT, Ballot(1, 0))


def member(table: Table = FIRST, rank: int = 1) -> Member:
    return Member(table, f"p{rank}", Majority(), {})


def answers(one: Member, sender: str, generation: int, body: Body) -> list[tuple[str, Body]]:
    one.outbox.clear()
    one.receive(Envelope("a job", generation, sender, body), 0.0)
    return sent(one)


def sent(one: Member) -> list[tuple[str, Body]]:
    """What it has to send, without what opens a connection to rank 0."""
    one.flush()
    said = [(peer, envelope.body) for peer, envelope in one.outbox]
    return [(peer, body) for peer, body in said if not isinstance(body, Meet)]
