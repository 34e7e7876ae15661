"""The exchanges that tie the embedded switch to simple_switch_grpc: what it is told and what it is sent.

`python -m tests.softswitch.exchange_cases DIRECTORY` writes the cases, and then `python -m
csaud_softswitch.exchange record DIRECTORY/*.json --program p4src/artifacts/csaud.json --out FOLDER` plays
them on simple_switch_grpc and adds its answers. The result is committed in tests/softswitch/exchanges.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from csaud_softswitch.exchange.vector import Vector

from tests.softswitch import (
    exchange_cases_forwarding,
    exchange_cases_ipv6,
    exchange_cases_losses,
    exchange_cases_modes,
    exchange_cases_signals,
)
from tests.softswitch.exchange_case import CASES

MODULES = (
    exchange_cases_forwarding,
    exchange_cases_ipv6,
    exchange_cases_losses,
    exchange_cases_modes,
    exchange_cases_signals,
)
"""Importing them registers their cases."""


def all_cases() -> list[Vector]:
    return [make() for make in CASES.values()]


def main(arguments: Sequence[str]) -> None:
    directory = Path(arguments[0])
    directory.mkdir(parents=True, exist_ok=True)
    for vector in all_cases():
        vector.dump(directory / f"{vector.name}.json")


if __name__ == "__main__":
    main(sys.argv[1:])
