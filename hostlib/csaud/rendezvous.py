"""How the ranks of a job find each other: rank 0 listens on TCP, everyone brings a card and gets the table.

The connections stay open, for one further use: `arrive` lets all ranks meet again outside of the fabric under
test (before they read their counters, and before they leave). A rank's death is not found here but by the
transport itself, which must work where no TCP exists.
"""

import dataclasses
import secrets
from typing import Any, Protocol

from csaud.errors import RendezvousError

PROTOCOL = 1  # of the rendezvous and of the packets; ranks of different versions do not mix


@dataclasses.dataclass(frozen=True, slots=True)
class Card:
    """What a rank tells of itself.

    Attributes:
        rank: its rank.
        ipv4: dotted address that its packets come from.
        qpn: its 24-bit queue pair number.
        mtu: largest RDMA path MTU that its link carries, bytes.
        mode: "raw", "udp" or "verbs", how its device sends.
    """

    rank: int
    ipv4: str
    qpn: int
    mtu: int
    mode: str


@dataclasses.dataclass(frozen=True, slots=True)
class Table:
    """What all ranks agree on.

    Attributes:
        cards: one per rank, in rank order.
        epoch: world epoch, 1 to 65,535.
        qkey: random 31-bit Q_Key (kernels refuse the top bit to ordinary users).
        mtu: the smallest of the ranks' path MTUs, bytes.
    """

    cards: tuple[Card, ...]
    epoch: int
    qkey: int
    mtu: int


class Meeting(Protocol):
    """One rank's side of the rendezvous after the table is known."""

    table: Table

    def arrive(self, point: str, timeout: float) -> None:
        """Wait until every rank has arrived at `point`; all ranks name the same points in the same order.

        Raises:
            RendezvousError: some ranks did not within `timeout` seconds, or have left; `missing` names them.
        """

    def close(self) -> None:
        """Leave. The others see it as having left."""


def make_table(cards: list[Card], epoch: int) -> Table:
    """Rank 0's decision. `epoch` 0 draws one.

    Raises:
        RendezvousError: two ranks have the same address and QP number, so packets could not tell them apart.
    """
    cards = sorted(cards, key=lambda card: card.rank)
    seen: dict[tuple[str, int], int] = {}
    for card in cards:
        other = seen.setdefault((card.ipv4, card.qpn), card.rank)
        if other != card.rank:
            raise RendezvousError(f"ranks {other} and {card.rank} both are QP {card.qpn:#08x} at {card.ipv4}")
    return Table(
        cards=tuple(cards),
        epoch=epoch or 1 + secrets.randbelow(65535),
        qkey=secrets.randbits(31),
        mtu=min(card.mtu for card in cards),
    )


def next_table(cards: list[Card], before: Table) -> Table:
    """Of a job that goes on among fewer ranks, which are numbered anew in their old order: the next epoch, so
    that what is left of the last one is told apart, under the same Q_Key.
    """
    cards = sorted(cards, key=lambda card: card.rank)
    return Table(
        cards=tuple(dataclasses.replace(card, rank=rank) for rank, card in enumerate(cards)),
        epoch=before.epoch % 65535 + 1,
        qkey=before.qkey,
        mtu=before.mtu,
    )


def table_to_json(table: Table) -> dict[str, Any]:
    """The table as a message of the rendezvous."""
    return {"type": "table", **dataclasses.asdict(table)}


def table_from_json(message: dict[str, Any]) -> Table:
    """The table out of a message.

    Raises:
        RendezvousError: fields are missing or of another type.
    """
    try:
        cards = tuple(card_from_json(card) for card in message["cards"])
        return Table(cards, int(message["epoch"]), int(message["qkey"]), int(message["mtu"]))
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise RendezvousError(f"rank 0 sent a table that cannot be read: {error!r}") from None


def card_from_json(fields: dict[str, Any]) -> Card:
    """A card out of a message; KeyError, TypeError, ValueError or OverflowError where it is not one."""
    return Card(
        rank=int(fields["rank"]),
        ipv4=str(fields["ipv4"]),
        qpn=int(fields["qpn"]),
        mtu=int(fields["mtu"]),
        mode=str(fields["mode"]),
    )


def name_ranks(ranks: list[int], world: int) -> str:
    """For messages: "ranks 3, 5 and 7 of 8", cut short when they are many."""
    shown = [str(rank) for rank in sorted(ranks)[:16]]
    if len(ranks) > len(shown):
        shown.append(f"{len(ranks) - len(shown)} more")
    listed = shown[0] if len(shown) == 1 else ", ".join(shown[:-1]) + " and " + shown[-1]
    return f"rank{'s' if len(ranks) > 1 else ''} {listed} of {world}"
