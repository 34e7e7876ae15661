"""Who says which of several groups goes on: the members' majority, or a store that outlives them."""

from collections.abc import Collection, Mapping
from typing import Any, Protocol

Value = dict[str, Any]  # what is decided; JSON

# Parts of the time given, after which a group decides: others may come, or nobody else is expected.
_WITH_QUORUM = 0.5, 0.0
_WITHOUT_QUORUM = 0.75, 0.25


class StoreError(Exception):
    """The store did not answer, or not in a way that can be read; it may be asked again."""


class Store(Protocol):
    """A linearizable store, reached from every rank. Calls block, for seconds at most."""

    def put_if_absent(self, key: str, value: str) -> str:
        """Store `value` unless the key has one; the value that the key has then.

        Raises:
            StoreError: nobody knows whether it was stored.
        """


class Arbiter(Protocol):
    """The rule by which a group may go on.

    Attributes:
        store: where the decision is taken; None: among the members, by ballots.
    """

    store: Store | None

    def patience(self, ranks: Collection[int], world: int, complete: bool) -> float | None:
        """How long these `ranks` of the last epoch's `world` wait before they decide, as a part of the time
        that they were given; None: they may not decide, however long they wait. `complete`: nobody else is
        expected."""


def is_quorum(ranks: Collection[int], world: int) -> bool:
    """Whether these are more than half of `world` ranks, or exactly half with rank 0.

    Any two quorums have a rank in common: two of half each share rank 0, any others together count more than
    `world`.
    """
    return 2 * len(ranks) > world or (2 * len(ranks) == world and 0 in ranks)


class Majority:
    """More than half of the last epoch's members, or exactly half with its lowest rank."""

    store: Store | None = None

    def patience(self, ranks: Collection[int], world: int, complete: bool) -> float | None:
        return _WITH_QUORUM[complete] if is_quorum(ranks, world) else None


class ByStore:
    """Whoever is first in the store; a group that is no quorum gives others the time to be first."""

    def __init__(self, store: Store) -> None:
        self.store: Store | None = store

    def patience(self, ranks: Collection[int], world: int, complete: bool) -> float | None:
        return (_WITH_QUORUM if is_quorum(ranks, world) else _WITHOUT_QUORUM)[complete]


def open_arbiter(setting: str, environ: Mapping[str, str]) -> Arbiter:
    """What the setting `arbiter` names.

    Raises:
        ConfigError: there is no such arbiter, or its store does not answer.
    """
    if setting == "majority":
        return Majority()
    from csaud.membership.stores import open_store  # and HTTP with it, which most ranks do without

    return ByStore(open_store(setting, environ))
