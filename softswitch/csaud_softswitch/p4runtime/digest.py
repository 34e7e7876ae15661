"""Digests: what the controller asked for (p4.v1.DigestEntry), and the lists that go to it.

Source: P4Runtime specification 1.4, section 9.9. No clock in here: `now` is in nanoseconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from csaud_softswitch._core import Switch
from csaud_softswitch.p4runtime.errors import Code, P4RuntimeError, core_errors, invalid, not_found
from csaud_softswitch.p4runtime.p4data import encode_data
from csaud_softswitch.p4runtime.p4info_specs import DigestSpec, P4InfoIndex
from csaud_softswitch.p4runtime.proto import UpdateKind, p4r

MAX_LIST = 1024
"""Messages of a list where the controller sets no limit, and the most it can ask for."""

MAX_UNACKNOWLEDGED = 65_536
"""Messages of one digest whose acknowledgement is waited for; beyond that the oldest lists are forgotten."""

_Message = tuple[bytes, ...]


@dataclass
class _Digest:
    """One digest that is on: messages for the next list, and lists that were sent and not acknowledged."""

    spec: DigestSpec
    config: p4r.DigestEntry.Config
    waiting: dict[_Message, None] = field(default_factory=dict)
    waiting_since: int = 0
    sent: dict[int, tuple[int, list[_Message]]] = field(default_factory=dict)
    """By list id, oldest first: when it was sent, and what."""
    known: dict[_Message, int] = field(default_factory=dict)
    """Messages in `sent`, with the id of their list."""
    last_list: int = 0

    @property
    def list_size(self) -> int:
        return min(self.config.max_list_size or MAX_LIST, MAX_LIST)

    def is_due(self, now: int) -> bool:
        if not self.waiting:
            return False
        return len(self.waiting) >= self.list_size or now >= self.deadline

    @property
    def deadline(self) -> int:
        return self.waiting_since + self.config.max_timeout_ns

    def add(self, message: _Message, now: int) -> None:
        self.forget_old(now)
        if message in self.known or message in self.waiting:
            return
        if not self.waiting:
            self.waiting_since = now
        self.waiting[message] = None

    def take(self, now: int) -> p4r.DigestList:
        """The list that is due."""
        self.last_list += 1
        found = p4r.DigestList(digest_id=self.spec.id, list_id=self.last_list)
        messages = list(self.waiting)[: self.list_size]
        for message in messages:
            found.data.append(encode_data(self.spec.shape, iter(message)))
            del self.waiting[message]
        self.waiting_since = now
        if self.config.ack_timeout_ns:
            self.sent[self.last_list] = (now, messages)
            self.known.update(dict.fromkeys(messages, self.last_list))
            while len(self.known) > MAX_UNACKNOWLEDGED:
                self.acknowledge(next(iter(self.sent)))
        return found

    def acknowledge(self, list_id: int) -> None:
        _, messages = self.sent.pop(list_id, (0, []))
        for message in messages:
            if self.known.get(message) == list_id:
                del self.known[message]

    def forget_old(self, now: int) -> None:
        while self.sent:
            list_id, (sent_at, _) = next(iter(self.sent.items()))
            if now - sent_at < self.config.ack_timeout_ns:
                return
            self.acknowledge(list_id)


class DigestStore:
    """The digests of one pipeline. They are off until a controller inserts their entry."""

    def __init__(self, switch: Switch, index: P4InfoIndex) -> None:
        self.switch = switch
        self._index = index
        self._ids = {spec.name: spec.id for spec in index.digests.values()}
        self._on: dict[int, _Digest] = {}
        self._made = {digest["name"] for digest in switch.digests()}
        """Those that a packet can make; p4c leaves others out of the program, and they stay silent."""

    # --- entries

    def write(self, kind: UpdateKind, entry: p4r.DigestEntry) -> None:
        spec = self._find(entry.digest_id)
        present = self._on.get(spec.id)
        if kind == p4r.Update.INSERT and present is not None:
            raise P4RuntimeError(Code.ALREADY_EXISTS, f"{spec.name} is on already")
        if kind != p4r.Update.INSERT and present is None:
            raise not_found(f"{spec.name} is not on")
        if kind == p4r.Update.DELETE:
            self._enable(spec, False)
            del self._on[spec.id]
            return
        config = p4r.DigestEntry.Config()
        config.CopyFrom(entry.config)
        if min(config.max_timeout_ns, config.max_list_size, config.ack_timeout_ns) < 0:
            raise invalid(f"{spec.name}: a timeout or list size is negative")
        if present is not None:
            present.config = config
            return
        self._enable(spec, True)
        self._on[spec.id] = _Digest(spec, config)

    def _enable(self, spec: DigestSpec, on: bool) -> None:
        if spec.name in self._made:
            with core_errors():
                self.switch.digest_enable(spec.name, on)

    def current(self, entry: p4r.DigestEntry) -> list[p4r.DigestEntry]:
        return list(self.read(entry)) if entry.digest_id in self._on else []

    def read(self, wanted: p4r.DigestEntry) -> Iterator[p4r.DigestEntry]:
        """digest_id 0: every digest that is on."""
        if wanted.digest_id:
            self._find(wanted.digest_id)
        for digest_id, digest in self._on.items():
            if wanted.digest_id in (0, digest_id):
                yield p4r.DigestEntry(digest_id=digest_id, config=digest.config)

    def _find(self, digest_id: int) -> DigestSpec:
        spec = self._index.digests.get(digest_id)
        if spec is None:
            raise not_found(f"no digest with id {self._index.describe(digest_id)}")
        return spec

    # --- messages

    def add(self, name: str, values: list[bytes], now: int) -> list[p4r.DigestList]:
        """A message from the data plane; the lists that are full with it."""
        digest = self._on.get(self._ids.get(name, 0))
        if digest is None:
            return []
        digest.add(tuple(values), now)
        return [digest.take(now)] if digest.is_due(now) else []

    def due(self, now: int) -> list[p4r.DigestList]:
        """Lists whose time has come."""
        found = []
        for digest in self._on.values():
            digest.forget_old(now)
            while digest.is_due(now):
                found.append(digest.take(now))
        return found

    def deadline(self) -> int | None:
        """When due() has to be asked next, at the latest."""
        return min((digest.deadline for digest in self._on.values() if digest.waiting), default=None)

    def acknowledge(self, ack: p4r.DigestListAck) -> None:
        """The controller has a list; what was in it may be reported again. INVALID_ARGUMENT for a digest
        that the program does not have.
        """
        if ack.digest_id not in self._index.digests:
            raise invalid(f"no digest with id {self._index.describe(ack.digest_id)}")
        if (digest := self._on.get(ack.digest_id)) is not None:
            digest.acknowledge(ack.list_id)
