"""How the ranks of a job find each other: rank 0 listens on TCP, everyone brings a card and gets the table.

What comes after the table is `csaud.membership`'s. A rank's death is found by neither, but by the transport
itself, which must work where no TCP exists.
"""

import dataclasses
import ipaddress
import secrets
from collections.abc import Sequence
from typing import Any

from csaud.errors import RendezvousError
from csaud.network.addresses import is_ipv6

PROTOCOL = 5  # of the rendezvous and of the packets; ranks of different versions do not mix
LAST_EPOCH = 65535  # then comes 1 again: 0 is none
_MTU = 33, 8192  # bytes: what an endpoint can be set to
_LONGEST_TEXT = 255


@dataclasses.dataclass(frozen=True, slots=True)
class Card:
    """What a rank tells of itself.

    Attributes:
        rank: its rank.
        address: the IP address that its packets come from.
        qpn: its 24-bit queue pair number.
        mtu: largest RDMA path MTU that its link carries, bytes.
        mode: "raw", "udp" or "verbs", how its device sends.
        uid: random name of its process: one that is started again at the same address is another one.
        door: "address:port" of its membership service.
        memory: which ranks it can share memory with: those that say the same; empty: none.
        trains: UDP port where it takes trains of packets from ranks on its own link; 0: nowhere.
    """

    rank: int
    address: str
    qpn: int
    mtu: int
    mode: str
    uid: str = ""
    door: str = ""
    memory: str = ""
    trains: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class Table:
    """What all ranks agree on.

    Attributes:
        cards: one per rank, in rank order.
        epoch: world epoch, 1 to 65,535.
        qkey: random 31-bit Q_Key (kernels refuse the top bit to ordinary users).
        mtu: the smallest of the ranks' path MTUs, bytes.
        job: random name of the job, the same in all its epochs.
        generation: how many epochs of the job came before; unlike `epoch` it does not wrap.
        members: how many of the ranks, the first ones, were members of the generation before.
        auth_key: by which packets are authenticated, 16 random bytes in hexadecimal.
    """

    cards: tuple[Card, ...]
    epoch: int
    qkey: int
    mtu: int
    job: str = ""
    generation: int = 0
    members: int = 0
    auth_key: str = dataclasses.field(default="", repr=False)


def make_table(cards: list[Card], epoch: int) -> Table:
    """Rank 0's decision. `epoch` 0 draws one.

    Raises:
        RendezvousError: two ranks have the same address and QP number, so packets could not tell them apart.
    """
    cards = sorted(cards, key=lambda card: card.rank)
    seen: dict[tuple[str, int], int] = {}
    for card in cards:
        other = seen.setdefault((card.address, card.qpn), card.rank)
        if other != card.rank:
            raise RendezvousError(
                f"ranks {other} and {card.rank} both are QP {card.qpn:#08x} at {card.address}"
            )
    check_families(cards)
    return Table(
        cards=tuple(cards),
        epoch=epoch or 1 + secrets.randbelow(LAST_EPOCH),
        qkey=secrets.randbits(31),
        mtu=min(card.mtu for card in cards),
        job=secrets.token_hex(8),
        auth_key=secrets.token_hex(16),
    )


def check_families(cards: Sequence[Card]) -> None:
    """RendezvousError where some ranks have IPv4 addresses and others IPv6 ones: packets are either's."""
    first = cards[0]
    for card in cards:
        if is_ipv6(card.address) != is_ipv6(first.address):
            raise RendezvousError(
                f"rank {first.rank} is at {first.address}, rank {card.rank} at {card.address}: "
                "a job is all IPv4 or all IPv6 (setting address)"
            )


def next_table(before: Table, members: Sequence[int], newcomers: Sequence[Card] = ()) -> Table:
    """Of a job that goes on among these ranks of it and newcomers, numbered anew: members in their old order,
    then newcomers in the order given. The next epoch, so that what is left of the last one is told apart.
    """
    cards = (*(before.cards[rank] for rank in sorted(members)), *newcomers)
    return Table(
        cards=tuple(dataclasses.replace(card, rank=rank) for rank, card in enumerate(cards)),
        epoch=before.epoch % LAST_EPOCH + 1,
        qkey=before.qkey,
        mtu=min([before.mtu, *(card.mtu for card in newcomers)]),
        job=before.job,
        generation=before.generation + 1,
        members=len(members),
        auth_key=before.auth_key,
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
        if not cards or [card.rank for card in cards] != list(range(len(cards))):
            raise ValueError("cards of all ranks, in their order, are expected")
        return Table(
            cards,
            _number(message, "epoch", 1, LAST_EPOCH),
            _number(message, "qkey", 0, (1 << 31) - 1),
            _number(message, "mtu", *_MTU),
            _text(message, "job"),
            _number(message, "generation", 0, 1 << 62),
            _number(message, "members", 0, len(cards)),
            _key(message, "auth_key"),
        )
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise RendezvousError(f"rank 0 sent a table that cannot be read: {error!r}") from None


def card_from_json(fields: dict[str, Any]) -> Card:
    """A card out of a message; KeyError, TypeError, ValueError or OverflowError where it is not one."""
    address = _text(fields, "address")
    try:
        parsed = ipaddress.ip_address(address)
        if "%" in address:
            raise ValueError("an interface of one host")
    except ValueError:
        raise ValueError(f"address {address!r} is not an IP address") from None
    return Card(
        rank=_number(fields, "rank", 0, 65535),
        address=str(parsed),  # one text for one address: ranks at it are told apart, and named, by that
        qpn=_number(fields, "qpn", 2, (1 << 24) - 1),  # 0 and 1 are the subnet manager's
        mtu=_number(fields, "mtu", *_MTU),
        mode=_text(fields, "mode"),
        uid=_text(fields, "uid"),
        door=_text(fields, "door"),
        memory=_text(fields, "memory"),
        trains=_number(fields, "trains", 0, 65535),
    )


def _number(fields: dict[str, Any], name: str, low: int, high: int) -> int:
    value = int(fields[name])
    if not low <= value <= high:
        raise ValueError(f"{name} {value:.12g} is not from {low} to {high}")
    return value


def _text(fields: dict[str, Any], name: str) -> str:
    value = str(fields[name])
    if len(value) > _LONGEST_TEXT or not value.isprintable():
        raise ValueError(f"{name} {value!r:.40} is not a short text")
    return value


def _key(fields: dict[str, Any], name: str) -> str:
    value = _text(fields, name)
    if len(bytes.fromhex(value)) not in (0, 16):
        raise ValueError(f"{name} does not have 16 bytes")
    return value


def name_ranks(ranks: list[int], world: int) -> str:
    """For messages: "ranks 3, 5 and 7 of 8", cut short when they are many."""
    shown = [str(rank) for rank in sorted(ranks)[:16]]
    if len(ranks) > len(shown):
        shown.append(f"{len(ranks) - len(shown)} more")
    listed = shown[0] if len(shown) == 1 else ", ".join(shown[:-1]) + " and " + shown[-1]
    return f"rank{'s' if len(ranks) > 1 else ''} {listed} of {world}"
