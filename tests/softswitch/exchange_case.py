"""The register of exchange cases."""

from __future__ import annotations

from collections.abc import Callable

from csaud_softswitch.exchange.vector import Step, Vector

from tests.softswitch.inputs import PORTS

CASES: dict[str, Callable[[], Vector]] = {}


def case(make: Callable[[], list[Step]]) -> Callable[[], list[Step]]:
    """Register a case; its name is the function's, its `about` the function's docstring."""
    about = " ".join((make.__doc__ or "").split())
    CASES[make.__name__] = lambda: Vector(make.__name__, about, PORTS, make())
    return make
