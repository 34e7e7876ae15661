"""What members tell each other, as typed messages, and those as JSON objects for the wire.

Every message goes in an envelope that says of which job and generation its sender is; `generation` counts the
epochs of a job from 0 and never wraps.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any, NamedTuple

from csaud.membership.arbiter import Value
from csaud.rendezvous.table import Card, Table, card_from_json, table_from_json

Json = dict[str, Any]

_BITS = 63  # more than anybody counts to, and far from the digits that JSON's writer does not take


class BadMessage(ValueError):
    """What came is not a message of this protocol."""


class Ballot(NamedTuple):
    """The number of one attempt to decide; greater ones win.

    Attributes:
        round: from 1; 0 is before the first.
        precedence: minus the leader's rank: of two leaders in one round the lower rank wins.
    """

    round: int
    precedence: int


class Accepted(NamedTuple):
    """What a member has accepted last."""

    ballot: Ballot
    value: Value


@dataclasses.dataclass(frozen=True, slots=True)
class Prepare:
    """A leader asks who is there, and that nobody follows an older attempt any more."""

    decree: str
    ballot: Ballot


@dataclasses.dataclass(frozen=True, slots=True)
class Promise:
    """The answer: what this member brings, and what it has accepted before."""

    decree: str
    ballot: Ballot
    contribution: Json
    accepted: Accepted | None


@dataclasses.dataclass(frozen=True, slots=True)
class Refuse:
    """The answer to an attempt that is older than one which was promised."""

    decree: str
    ballot: Ballot
    promised: Ballot


@dataclasses.dataclass(frozen=True, slots=True)
class Accept:
    """A leader asks to accept a value."""

    decree: str
    ballot: Ballot
    value: Value


@dataclasses.dataclass(frozen=True, slots=True)
class HasAccepted:
    """The answer."""

    decree: str
    ballot: Ballot


@dataclasses.dataclass(frozen=True, slots=True)
class Decided:
    """The decision; it never changes."""

    decree: str
    value: Value


@dataclasses.dataclass(frozen=True, slots=True)
class Later:
    """This rank is alive, and has not come so far."""

    decree: str


@dataclasses.dataclass(frozen=True, slots=True)
class Current:
    """To those of an older generation and to newcomers: the table that is in force."""

    table: Table


@dataclasses.dataclass(frozen=True, slots=True)
class Join:
    """A newcomer wants to be a member of the next generation."""

    card: Card
    agreed: Json


@dataclasses.dataclass(frozen=True, slots=True)
class Waiting:
    """To a newcomer: the job knows of it."""


@dataclasses.dataclass(frozen=True, slots=True)
class Refused:
    """To a newcomer: why it cannot join."""

    reason: str


@dataclasses.dataclass(frozen=True, slots=True)
class Look:
    """Can the receiver go on with the one on this card? To other members, of a newcomer that waits at the
    sender's door; to that newcomer, of a member."""

    card: Card


@dataclasses.dataclass(frozen=True, slots=True)
class Looked:
    """The answer.

    Attributes:
        subject: the uid on the card.
        reason: why not; empty: it can.
    """

    subject: str
    reason: str


@dataclasses.dataclass(frozen=True, slots=True)
class Meet:
    """To rank 0, at a generation's beginning: the connection over which this rank will tell where it is."""


@dataclasses.dataclass(frozen=True, slots=True)
class Arrive:
    """To rank 0: this rank has come to a point."""

    point: str


@dataclasses.dataclass(frozen=True, slots=True)
class Release:
    """From rank 0: all have come to the point, or these have not and nobody waits for them any more."""

    point: str
    missing: tuple[int, ...]


Body = (
    Prepare | Promise | Refuse | Accept | HasAccepted | Decided | Later | Current
    | Join | Waiting | Refused | Look | Looked | Meet | Arrive | Release
)  # fmt: skip
OfDecree = Prepare | Promise | Refuse | Accept | HasAccepted | Decided | Later


@dataclasses.dataclass(frozen=True, slots=True)
class Envelope:
    """A message and its sender.

    Attributes:
        job: the job's random name; "" from a newcomer that has not been told it.
        generation: the sender's; -1 from a newcomer.
        uid: the sending process's random name.
    """

    job: str
    generation: int
    uid: str
    body: Body

    @property
    def peer(self) -> str:
        """Who is at the other end of the connection that it came over: a member's uid, or `as_newcomer`."""
        return as_newcomer(self.uid) if self.generation < 0 else self.uid


def as_newcomer(uid: str) -> str:
    """The name of a process while it waits at a door. Its connection there ends when it has become a member,
    which is no sign that the member is gone: as a member it has other connections, under its uid."""
    return f"newcomer {uid}"


_KINDS: Mapping[str, type[Any]] = {
    kind.__name__.lower(): kind
    for kind in (Prepare, Promise, Refuse, Accept, HasAccepted, Decided, Later, Current,
                 Join, Waiting, Refused, Look, Looked, Meet, Arrive, Release)
}  # fmt: skip


def to_json(envelope: Envelope) -> Json:
    """The message as a JSON object."""
    body = envelope.body
    fields = {field.name: _plain(getattr(body, field.name)) for field in dataclasses.fields(body)}
    kind = type(body).__name__.lower()
    return {
        "type": kind,
        "job": envelope.job,
        "generation": envelope.generation,
        "uid": envelope.uid,
        **fields,
    }


def from_json(message: Mapping[str, Any]) -> Envelope:
    """The message out of a JSON object.

    Raises:
        BadMessage: it is none.
    """
    try:
        kind = _KINDS[message["type"]]
        fields = {field.name: _READERS[field.name](message[field.name]) for field in dataclasses.fields(kind)}
        return Envelope(
            _text(message["job"]), _whole(message["generation"]), _text(message["uid"]), kind(**fields)
        )
    except BadMessage:
        raise
    except Exception as error:  # whatever was sent: a stranger must not end the service
        raise BadMessage(f"not a message of the membership protocol: {error!r:.200}") from None


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    return value


def _whole(value: Any) -> int:
    if type(value) is not int or value.bit_length() >= _BITS:
        raise BadMessage(f"expected a whole number of less than {_BITS} bits, not {value!r:.40}")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise BadMessage(f"expected text, not {value!r:.40}")
    return value


def _object(value: Any) -> Json:
    if not isinstance(value, dict):
        raise BadMessage(f"expected an object, not {value!r:.40}")
    return value


def _ballot(value: Any) -> Ballot:
    round_, precedence = value
    return Ballot(_whole(round_), _whole(precedence))


def _accepted(value: Any) -> Accepted | None:
    if value is None:
        return None
    ballot, chosen = value
    return Accepted(_ballot(ballot), _object(chosen))


def _ranks(value: Any) -> tuple[int, ...]:
    return tuple(_whole(rank) for rank in value)


_READERS: Mapping[str, Any] = {
    "decree": _text,
    "ballot": _ballot,
    "promised": _ballot,
    "contribution": _object,
    "accepted": _accepted,
    "value": _object,
    "table": table_from_json,
    "card": card_from_json,
    "agreed": _object,
    "reason": _text,
    "subject": _text,
    "point": _text,
    "missing": _ranks,
}
