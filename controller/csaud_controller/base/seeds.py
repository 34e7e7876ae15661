"""One seed from the user, many independent ones for switches and ports."""

from __future__ import annotations

import hashlib


def derive(seed: int, *names: str | int) -> int:
    """A 32-bit seed for the thing called by `names`: the same on every run, unrelated to its neighbours'.

    Switches need different seeds: two stages that hash alike would use only some of the paths between them.
    """
    text = "\0".join((str(seed), *map(str, names)))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest(), "big")
