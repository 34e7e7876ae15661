"""What a packet is to the fabric, as the P4 program tells packets apart."""

from __future__ import annotations

from typing import Literal

KindName = Literal["other", "data", "control", "loss"]

KINDS: dict[KindName, int] = {"other": 0, "data": 1, "control": 2, "loss": 3}
"""Value of the program's `kind`; counters by kind are indexed port * 4 + kind."""
KIND_MASK = 0x3

CSA: tuple[KindName, ...] = ("data", "control", "loss")
"""Kinds that carry a CSA header."""
