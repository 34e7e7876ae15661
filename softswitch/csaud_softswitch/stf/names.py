"""From the names and values of a trace to those of the program: p4c's rules, which are generous."""

from __future__ import annotations

import re
from collections.abc import Iterable

from csaud_softswitch import _core

_RADIX = {"0x": (16, 4, "f"), "0b": (2, 1, "1"), "0o": (8, 3, "7")}


def resolve(name: str, known: Iterable[str], what: str) -> str:
    """The known name that `name` is, or that ends with it; ValueError when there is not exactly one."""
    names = list(known)
    if name in names:
        return name
    ending = [other for other in names if other.endswith("." + name)] or [
        other for other in names if other.endswith(name)
    ]
    if len(ending) != 1:
        raise ValueError(f"{'no' if not ending else 'more than one'} {what} '{name}' among {names}")
    return ending[0]


def key_name(name: str, known: Iterable[str]) -> str:
    """Of a match field: `h$1.f` is `h[1].f`, and `h.valid` or `h` may be the validity of a header."""
    names = list(known)
    name = re.sub(r"\$(\d+)", r"[\1]", name)
    validity = name.removesuffix(".$valid$").removesuffix(".valid").removesuffix(".isValid()")
    for other in names:
        plain = other.removesuffix("$").removesuffix(".$valid$").removesuffix(".isValid()")
        if name in (other, other.removesuffix("$")) or (plain != other and validity == plain):
            return other
    ending = [other for other in names if other.removesuffix("$").endswith("." + name)]
    if not ending and name == "valid":
        ending = [other for other in names if other.endswith("$valid$")]
    if not ending:
        raise ValueError(f"no key '{name}' among {names}")
    return ending[-1]  # as p4c's runner


def number(text: str) -> int:
    return int(text, 0)


def _digits(text: str) -> tuple[int, int, int]:
    """(value, mask of the digits that matter, their number of bits) of a number with don't-care digits."""
    radix, bits, full = _RADIX.get(text[:2].lower(), (10, 0, ""))
    body = text[2:]
    if radix == 10:
        return int(text), -1, 0
    value = int(body.replace("*", "0"), radix)
    mask = int("".join("0" if digit == "*" else full for digit in body), radix)
    return value, mask, bits * (len(body) - body.count("*"))


def to_bytes(value: int, width: int) -> bytes:
    return (value & ((1 << width) - 1)).to_bytes((width + 7) // 8, "big")


def match_field(key: _core.KeyInfo, text: str) -> _core.MatchField:
    """ValueError when the text does not fit the key's kind."""
    kind, width = key["match_type"], key["width"]
    everything = (1 << width) - 1
    if kind == "lpm":
        value, slash, length = text.partition("/")
        if slash:
            prefix = number(length)
            return ("lpm", to_bytes(number(value) & everything << (width - prefix), width), prefix)
        whole, mask, bits = _digits(text)
        prefix = width if mask == -1 or "*" not in text else bits
        return ("lpm", to_bytes(whole & everything << (width - prefix), width), prefix)
    if kind == "range":
        low, _, high = text.partition("->") if "->" in text else (text, "", text)
        return ("range", to_bytes(number(low), width), to_bytes(number(high), width))
    if kind in ("ternary", "optional"):
        value, ampersands, given = text.partition("&&&")
        whole, mask, _ = _digits(value)
        mask = number(given) if ampersands else mask
        mask &= everything
        if kind == "optional":
            return ("optional", to_bytes(whole, width)) if mask else None
        return ("ternary", to_bytes(whole & mask, width), to_bytes(mask, width)) if mask else None
    return ("exact", to_bytes({"true": 1, "false": 0}.get(text) or number(text), width))
