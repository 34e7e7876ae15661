"""Cases of a test that only `make test-all` runs."""

from __future__ import annotations

from typing import Any

import pytest


def thorough(*values: Any, **how: Any) -> Any:
    """A case that takes long and seldom finds what the other cases of its test do not."""
    return pytest.param(*values, marks=pytest.mark.thorough, **how)
