"""Which ranks are near: those of its user on its host share memory with this one, and others that are on its
link may get trains of packets."""

import os
from collections.abc import Sequence
from pathlib import Path

from csaud.devices import Opened
from csaud.network import addresses
from csaud.network.host import this_host
from csaud.rendezvous.table import Table

_USERS = Path("/proc/self/ns/user")  # in which a user has its number


def memory_place() -> str:
    """Host and user, which ranks that share memory have in common; empty where the kernel does not tell."""
    try:
        return f"{this_host()} {_USERS.readlink()} {os.getuid()}"
    except OSError:
        return ""


def all_share_memory(table: Table) -> bool:
    """Whether no packet of the job leaves its host."""
    first = table.cards[0].memory
    return first != "" and all(card.memory == first for card in table.cards)


def hosts_of(table: Table) -> list[int]:
    """Of each rank the lowest one that it shares memory with, perhaps itself."""
    first: dict[str, int] = {}
    return [first.setdefault(card.memory, card.rank) if card.memory else card.rank for card in table.cards]


def share_memory(
    opened: Opened, table: Table, rank: int, known: Sequence[int], window: int
) -> tuple[int, ...]:
    """Tell a device which ranks it shares memory with.

    Args:
        known: by which addresses the endpoint knows ranks.
        window: packets that one of them may have in flight.

    Returns:
        Those ranks.
    """
    own = table.cards[rank]
    if opened.share is None:
        return ()
    others = [card for card in table.cards if card.rank != rank and own.memory and card.memory == own.memory]
    opened.share(
        (known[rank], own.qpn),
        [(card.rank, known[card.rank], card.qpn, card.address) for card in others],
        all_share_memory(table),
        table.mtu,
        window,
    )
    return tuple(card.rank for card in others)


def link_trains(opened: Opened, table: Table, rank: int, local_ranks: Sequence[int]) -> None:
    """Tell a device which ranks may be on its link; those that share memory need not be."""
    if opened.link is None:
        return
    near = {rank, *local_ranks}
    opened.link(
        [
            (card.rank, addresses.to_int(card.address), card.trains, card.mode == "udp")
            for card in table.cards
            if card.trains != 0 and card.rank not in near
        ],
        table.mtu,
    )
