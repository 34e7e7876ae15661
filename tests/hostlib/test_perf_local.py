"""Ranks started by `csaud perf --ranks`: whose words the user gets where some of them fail."""

import sys
from pathlib import Path

import pytest
from csaud.errors import ConfigError, CsaudError
from csaud.perf import local


@pytest.mark.parametrize(
    ("script", "message", "mistaken"),
    [
        ('[ "$RANK" = 1 ] && exit 3; exit 0', "rank 1: exit status 3", False),
        ('[ "$RANK" = 2 ] || exit 0; printf "no card \\377\\n" >&2; exit 1', "rank 2: no card �", False),
        (
            '[ "$RANK" = 2 ] && { echo "csaud: the disk is full" >&2; exit 1; }\n'
            'echo "a warning" >&2; echo "csaud: rank 2 gave up" >&2; exit 1',
            "rank 2: the disk is full",
            False,
        ),
        (
            'echo "csaud: rank 9 is unreachable (for 3 s)" >&2; exit 1',
            "rank 0: rank 9 is unreachable (for 3 s)",
            False,
        ),
        ('echo "csaud: no such mode" >&2; exit 2', "rank 0: no such mode", True),
    ],
    ids=["without a word", "no text", "others follow", "all follow", "mistaken use"],
)
def test_the_rank_that_failed_first_is_named_with_its_last_words(
    script: str, message: str, mistaken: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\n{script}\n")
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    for name in ("RANK", "OMPI_COMM_WORLD_RANK"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(CsaudError) as failed:
        local.launch(3, ["perf", "barrier"])
    assert str(failed.value) == message
    assert isinstance(failed.value, ConfigError) == mistaken
