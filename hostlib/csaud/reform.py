"""How the ranks of a job that are left meet again after one of them failed.

The lowest rank that is not known to have failed listens at the job's port, at its own address; the others
come to it, or, when nobody is there, to the next one. It waits for all that may be alive, but no longer than
a given time, and sends those that came the table of the next epoch.
"""

import logging
import time
from collections.abc import Collection

from csaud.errors import ConfigError, RendezvousError
from csaud.rendezvous import Card, Meeting, Table
from csaud.rendezvous_guest import Guest, connect
from csaud.rendezvous_host import Host

log = logging.getLogger(__name__)

_EACH = 0.25  # part of the time left that one who should be listening is given


def meet_again(rank: int, before: Table, failed: Collection[int], port: int, timeout: float) -> Meeting:
    """Meet those of the job `before` that are left; `rank` is this rank's number there.

    Returns the rendezvous with its new table; `place_of` finds this rank in it.

    Raises:
        RendezvousError: nobody is left to meet, or they did not answer.
        ConfigError: it is this rank's turn to listen, and the port is taken.
    """
    deadline = time.monotonic() + timeout
    own = next(card for card in before.cards if card.rank == rank)
    alive = [card for card in before.cards if card.rank not in failed]
    for candidate in alive:
        if candidate.rank == rank:
            return _host(own, before, [card.rank for card in alive if card.rank >= rank], port, deadline)
        guest = _guest(own, candidate, before, port, deadline)
        if guest is not None:
            return guest
    raise RendezvousError(f"rank {rank} was given up by the others", (rank,))


def place_of(own: Card, table: Table) -> int:
    """The rank that has this card's address and queue pair."""
    return next(card.rank for card in table.cards if (card.ipv4, card.qpn) == (own.ipv4, own.qpn))


def _host(own: Card, before: Table, expected: list[int], port: int, deadline: float) -> Meeting:
    while True:
        try:
            host = Host(own.ipv4, port, len(before.cards), rank=own.rank, before=before)
            break
        except ConfigError:
            # The last meeting's connections may not be gone yet.
            if time.monotonic() + _EACH > deadline:
                raise
            time.sleep(_EACH / 5)
    # Half of what is left: those that first look for another still have time to come here.
    host.gather_again(own, expected, max(0.1, (deadline - time.monotonic()) / 2))
    return host


def _guest(own: Card, candidate: Card, before: Table, port: int, deadline: float) -> Meeting | None:
    """None: it is not there, so the next one takes its place."""
    left = deadline - time.monotonic()
    try:
        guest = Guest(connect(candidate.ipv4, port, max(0.1, _EACH * left)))
    except RendezvousError as error:
        log.info("rank %d is not at the new meeting: %s", candidate.rank, error)
        return None
    try:
        guest.join_again(own, len(before.cards), before.epoch, max(0.1, deadline - time.monotonic()))
    except RendezvousError:
        guest.close()
        raise
    return guest
