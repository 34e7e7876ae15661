"""Cases of a test that only `make test-all` runs, or only `make nightly`."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def thorough(*values: Any, **how: Any) -> Any:
    """A case that takes long and seldom finds what the other cases of its test do not."""
    return pytest.param(*values, marks=pytest.mark.thorough, **how)


def nightly(*values: Any, **how: Any) -> Any:
    """A case that takes long, and whose parts other cases of its test have, if not together."""
    return pytest.param(*values, marks=pytest.mark.nightly, **how)


def some(cases: Iterable[Any], these: Collection[Any]) -> list[Any]:
    """All cases of a test, a tuple for several parameters; but for `these` they are thorough."""
    return [
        case if case in these else thorough(*case) if isinstance(case, tuple) else thorough(case)
        for case in cases
    ]
