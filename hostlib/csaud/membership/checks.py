"""What members bring to a decision, and what is decided, before anybody rests on it: one member's nonsense
must not end the others' services."""

from collections.abc import Mapping
from typing import Any

from csaud.membership.limits import MOST_BITS
from csaud.membership.messages import Accept, BadMessage, Body, Decided, Promise
from csaud.rendezvous.table import card_from_json


def check_next(body: Body, world: int) -> None:
    """Of the decision on the next generation of a job of `world` ranks.

    Raises:
        BadMessage: a contribution or a value that cannot be one.
    """
    if isinstance(body, Promise):
        _is(isinstance(body.contribution.get("admit"), bool), "whether newcomers are admitted")
        _cards(body.contribution)
        unseen = body.contribution.get("unseen", {})
        _is(isinstance(unseen, dict), "who has not looked at newcomers")
        for name in unseen:
            _ranks(unseen, name, world)
        met = body.contribution.get("met", {})
        names = met.values() if isinstance(met, dict) else [None]
        _is(
            all(isinstance(uids, list) and all(isinstance(uid, str) for uid in uids) for uids in names),
            "who has looked at newcomers",
        )
    for value in _values(body):
        _ranks(value, "members", world)
        _cards(value)


def check_agreement(body: Body, world: int) -> None:
    """Of an agreement among `world` ranks; as `check_next`."""
    if isinstance(body, Promise):
        _is(isinstance(body.contribution.get("op"), str), "an operation")
        _number(body.contribution)
    for value in _values(body):
        _ranks(value, "ranks", world)
        _is(isinstance(value.get("differs"), str), "what differs")
        _number(value)


def _values(body: Body) -> list[Mapping[str, Any]]:
    match body:
        case Accept() | Decided():
            return [body.value]
        case Promise() if body.accepted is not None:
            return [body.accepted.value]
    return []


def _number(fields: Mapping[str, Any]) -> None:
    value = fields.get("value")
    _is(type(value) is int and value.bit_length() <= MOST_BITS, "a whole number")


def _ranks(value: Mapping[str, Any], name: str, world: int) -> None:
    ranks = value.get(name)
    if not isinstance(ranks, list) or not all(type(rank) is int and 0 <= rank < world for rank in ranks):
        raise BadMessage(f"expected ranks of {world}")
    _is(0 < len(set(ranks)) == len(ranks), "different ranks")


def _cards(fields: Mapping[str, Any]) -> None:
    cards = fields.get("newcomers")
    if not isinstance(cards, list):
        raise BadMessage("no list of newcomers")
    try:
        for card in cards:
            card_from_json(card)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise BadMessage(f"a newcomer's card cannot be read: {error!r}") from None


def _is(holds: bool, what: str) -> None:
    if not holds:
        raise BadMessage(f"expected {what}")
