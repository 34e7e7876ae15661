"""The desired state between several controllers: one of them is primary for a term, and it alone can write.

Terms are election ids: what fences a controller off at the store fences it off at the switches, too. Terms
begin with the time of day, so that they are above what controllers without a store count.

| key | |
|---|---|
| `term` | the term, and whose it is; every write is made only where it is still the writer's |
| `held` | the same, with a lease: it goes when its owner does not renew it |
| `state`, `fabric` | what outlives a controller, and the inventory as it runs |
| `history/N` | revision N |
"""

from __future__ import annotations

import json
import secrets
import time
from dataclasses import dataclass
from typing import TypeVar

from csaud_runs.etcd import Etcd, Operation, StoreError, get, pairs, put
from pydantic import BaseModel, ValidationError

from csaud_controller.base.yamlfile import mistake
from csaud_controller.desired.store import Stored
from csaud_controller.inventory import Fabric

M = TypeVar("M", bound=BaseModel)

LEASE_S = 2
"""etcd grants no less with its defaults."""
_RELEASE_S = 0.5


class SupersededError(StoreError):
    """Another controller is primary by now, and nothing was written."""


@dataclass(frozen=True)
class Held:
    """What the store says of who is primary."""

    text: str | None
    """As it is there; None: nobody ever was."""
    term: int = 0
    name: str = ""
    is_held: bool = False
    """Its owner renews it."""


class SharedStore:
    """As one controller sees it, which calls itself `name`. Blocking: for threads."""

    def __init__(self, etcd: Etcd, prefix: str, name: str) -> None:
        self.etcd, self.name, self._prefix = etcd, name, prefix
        self._id = secrets.token_hex(8)
        self._mine = ""
        self._lease = ""

    def key(self, name: str) -> str:
        """Of the store."""
        return f"{self._prefix}/{name}"

    def held(self) -> Held:
        """Who is primary."""
        _, (term, held) = self.etcd.transaction({}, [get(self.key("term")), get(self.key("held"))])
        if not (found := pairs(term)):
            return Held(None)
        text = found[0][1]
        try:
            said = json.loads(text)
            return Held(text, int(said["term"]), str(said["name"]), bool(pairs(held)))
        except (ValueError, KeyError, TypeError):
            raise StoreError(
                f"{self.key('term')} in the store is none of a controller: {text[:60]!r}"
            ) from None

    def take(self, seen: Held) -> int | None:
        """Become primary, unless somebody else did since `seen`; the term."""
        term = max(seen.term + 1, int(time.time()))
        mine = json.dumps({"term": term, "name": self.name, "id": self._id})
        lease = self.etcd.grant(LEASE_S)
        self.etcd.transaction(
            {self.key("term"): seen.text}, [put(self.key("term"), mine), put(self.key("held"), mine, lease)]
        )
        if self.held().text != mine:  # whatever the first answer was, or if there was none
            return None
        self._mine, self._lease = mine, lease
        return term

    def renew(self) -> None:
        """Say that this controller still is primary. SupersededError: it is not; StoreError: nobody knows."""
        if self.etcd.keep_alive(self._lease):
            self.write()
        else:  # nobody has taken over while the store was away
            lease = self.etcd.grant(LEASE_S)
            self.write(put(self.key("held"), self._mine, lease))
            self._lease = lease

    def release(self) -> None:
        """Let somebody else be primary at once. Where the store does not answer soon, the lease ends by
        itself not much later."""
        self.etcd.revoke(self._lease, within_s=_RELEASE_S)

    def write(self, *operations: Operation) -> None:
        """Make these, all or none, if this controller is primary; SupersededError."""
        is_mine, _ = self.etcd.transaction({self.key("term"): self._mine}, operations)
        if not is_mine:
            raise SupersededError(f"{self.held().name} is primary by now")

    def load(self) -> Stored | None:
        """What is kept; None: nothing yet."""
        return self._load("state", Stored)

    def fabric(self) -> Fabric | None:
        """The inventory as it runs; None: there is none yet."""
        return self._load("fabric", Fabric)

    def save(self, stored: Stored) -> None:
        """Keep this."""
        self.write(put(self.key("state"), stored.model_dump_json(exclude_none=True)))

    def save_fabric(self, fabric: Fabric) -> None:
        """Keep this; StoreError, too, where it could not be loaded again."""
        text = fabric.to_json()
        try:
            Fabric.model_validate_json(text)
        except ValidationError as error:
            raise StoreError(f"the fabric could not be loaded again: {mistake(error)}") from None
        self.write(put(self.key("fabric"), text))

    def _load(self, name: str, kind: type[M]) -> M | None:
        if not (found := self.etcd.range(self.key(name))):
            return None
        try:
            return kind.model_validate_json(found[0][1])
        except ValidationError as error:
            raise StoreError(f"{self.key(name)} in the store: {mistake(error)}") from None
