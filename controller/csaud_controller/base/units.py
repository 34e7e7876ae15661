"""Quantities with units as people write them in YAML and on the command line.

A rate is kept as an integer of bits per second, a duration as an integer of nanoseconds. Both are written
back with a unit, so that a file made by the program reads like one made by hand.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, PlainSerializer, WithJsonSchema

_RATES = {"bit": 1, "kbit": 10**3, "mbit": 10**6, "gbit": 10**9, "tbit": 10**12}
_TIMES = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9}
_QUANTITY = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z/]*)\s*")


def _parse(value: object, units: dict[str, int], expected: str) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        if value < 0:
            raise ValueError(f"expected {expected}, got {value}")
        return value
    if isinstance(value, str) and (found := _QUANTITY.fullmatch(value)):
        number, unit = found[1], found[2].lower().removesuffix("/s")
        if unit in units:
            return round(Fraction(number) * units[unit])
    raise ValueError(f"expected {expected}, got {value!r}")


def parse_rate(value: object) -> int:
    """Bits per second of "200Mbit", "1.5Gbit/s" or a bare integer (bits per second); 0 means unlimited."""
    return _parse(value, _RATES, "a rate such as 200Mbit or 1Gbit")


def parse_duration(value: object) -> int:
    """Nanoseconds of "10us", "1.5s", "2min" or a bare integer (nanoseconds)."""
    return _parse(value, _TIMES, "a duration such as 10us, 5ms or 2s")


def _format(value: int, units: dict[str, int]) -> str:
    for unit, scale in sorted(units.items(), key=lambda item: -item[1]):
        if unit != "min" and value >= scale and value % scale == 0:
            return f"{value // scale}{unit}"
    return f"0{next(iter(units))}"


def format_rate(bits_per_second: int) -> str:
    """200_000_000 -> "200Mbit"."""
    text = _format(bits_per_second, _RATES)
    return re.sub(r"[kmgt]?bit$", lambda unit: unit[0].capitalize() if unit[0] != "bit" else "bit", text)


def format_duration(nanoseconds: int) -> str:
    """10_000 -> "10us"."""
    return _format(nanoseconds, _TIMES)


def _schema(units: dict[str, int]) -> WithJsonSchema:
    """A number, or one with a unit, whose letters may be of any case."""
    names = "|".join("".join(f"[{c}{c.upper()}]" for c in unit) for unit in units)
    pattern = rf"^\s*\d+(\.\d+)?\s*({names})(/s)?\s*$"
    return WithJsonSchema(
        {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": pattern}]}
    )


Rate = Annotated[
    int, BeforeValidator(parse_rate), PlainSerializer(format_rate, return_type=str), _schema(_RATES)
]
Duration = Annotated[
    int, BeforeValidator(parse_duration), PlainSerializer(format_duration, return_type=str), _schema(_TIMES)
]


def between(least_ns: int, most_ns: int | None = None) -> AfterValidator:
    """For a Duration that must be neither shorter nor longer; said with units."""

    def check(value: int) -> int:
        if value < least_ns or (most_ns is not None and value > most_ns):
            word, limit = ("least", least_ns) if value < least_ns else ("most", most_ns or 0)
            raise ValueError(f"expected at {word} {format_duration(limit)}, got {format_duration(value)}")
        return value

    return AfterValidator(check)


def at_least(nanoseconds: int) -> AfterValidator:
    """For a Duration that must not be shorter; said with units."""
    return between(nanoseconds)
