"""Which ranks share memory with this one: those of its user on its host, where a host is a network namespace,
so that hosts of an emulated fabric stay apart."""

import os
from collections.abc import Sequence
from pathlib import Path

from csaud.devices import Opened
from csaud.rendezvous.table import Table

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_NETWORK, _USERS = Path("/proc/self/ns/net"), Path("/proc/self/ns/user")


def memory_place() -> str:
    """Kernel, network namespace and user, which ranks that share memory have in common; empty where the
    kernel does not tell."""
    try:
        boot, network, users = _BOOT_ID.read_text().strip(), _NETWORK.stat(), _USERS.stat()
    except OSError:
        return ""
    return f"{boot}/{network.st_dev}:{network.st_ino}/{users.st_ino}:{os.getuid()}"


def all_share_memory(table: Table) -> bool:
    """Whether no packet of the job leaves its host."""
    first = table.cards[0].memory
    return first != "" and all(card.memory == first for card in table.cards)


def share_memory(opened: Opened, table: Table, rank: int, known: Sequence[int]) -> tuple[int, ...]:
    """Tell a device which ranks it shares memory with; `known`: by which addresses the endpoint knows ranks.

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
    )
    return tuple(card.rank for card in others)
