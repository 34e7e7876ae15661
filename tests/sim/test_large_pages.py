"""Processes of a sweep have their memory in large pages, unless their user wants something else."""

from __future__ import annotations

import os
import subprocess

import pytest
from csaud_sim.experiment.large_pages import large_pages


def started() -> str:
    """What a process started now finds."""
    return subprocess.run(
        ["sh", "-c", 'printf "%s" "$GLIBC_TUNABLES"'], check=True, capture_output=True, text=True
    ).stdout


@pytest.mark.parametrize(
    ("of_user", "found"),
    [
        (None, "glibc.malloc.hugetlb=1"),
        ("", "glibc.malloc.hugetlb=1"),
        ("glibc.malloc.check=3", "glibc.malloc.check=3:glibc.malloc.hugetlb=1"),
        ("glibc.malloc.hugetlb=0", "glibc.malloc.hugetlb=0"),
    ],
)
def test_they_are_asked_for_unless_the_user_has_spoken(
    of_user: str | None, found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if of_user is None:
        monkeypatch.delenv("GLIBC_TUNABLES", raising=False)
    else:
        monkeypatch.setenv("GLIBC_TUNABLES", of_user)
    with large_pages():
        assert started() == found
    assert os.environ.get("GLIBC_TUNABLES") == of_user
