"""A mapping of two parts, of which one outlasts events: who compares two of them need not look at it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class Layered(Mapping[Key, Value]):
    """What is in `lasting`, and what is in `moving`. ValueError where a key is in both."""

    __slots__ = ("lasting", "moving")

    def __init__(self, lasting: Mapping[Key, Value], moving: Mapping[Key, Value]) -> None:
        for key in moving:
            if key in lasting:
                raise ValueError(f"given twice: {lasting[key]} and {moving[key]}")
        self.lasting, self.moving = lasting, moving

    def __getitem__(self, key: Key) -> Value:
        return self.moving[key] if key in self.moving else self.lasting[key]

    def __iter__(self) -> Iterator[Key]:
        return chain(self.lasting, self.moving)

    def __len__(self) -> int:
        return len(self.lasting) + len(self.moving)

    def __contains__(self, key: object) -> bool:
        return key in self.moving or key in self.lasting

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Layered) and other.lasting is self.lasting:
            return self.moving == other.moving
        return isinstance(other, Mapping) and dict(self.items()) == dict(other.items())

    __hash__ = None  # type: ignore[assignment]  # as of any mapping that is compared by its contents


def moving_parts(
    one: Mapping[Key, Value], other: Mapping[Key, Value]
) -> tuple[Mapping[Key, Value], Mapping[Key, Value]]:
    """Of two mappings, all in which they may differ."""
    if isinstance(one, Layered) and isinstance(other, Layered) and one.lasting is other.lasting:
        return one.moving, other.moving
    return one, other
