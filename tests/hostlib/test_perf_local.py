"""Ranks started by `csaud perf --ranks`: whose words the user gets where some of them fail, and that none
outlives the command."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from csaud.errors import ConfigError, CsaudError
from csaud.perf import local

from tests.hostlib.jobs import PATIENCE
from tests.support.signals import heeds_signals

LAUNCHERS = ("RANK", "OMPI_COMM_WORLD_RANK")


def python_of(folder: Path, script: str) -> str:
    """A program of `sh` that is run as each rank."""
    python = folder / "python"
    python.write_text(f"#!/bin/sh\n{script}\n")
    python.chmod(0o755)
    return str(python)


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
    monkeypatch.setattr(sys, "executable", python_of(tmp_path, script))
    for name in LAUNCHERS:
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(CsaudError) as failed:
        local.launch(3, ["perf", "barrier"])
    assert str(failed.value) == message
    assert isinstance(failed.value, ConfigError) == mistaken


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT], ids=["SIGTERM", "SIGHUP", "Ctrl-C"]
)
@pytest.mark.parametrize("hears", ["", "trap '' TERM; "], ids=["at once", "by force"])
def test_no_rank_outlives_the_command(number: signal.Signals, hears: str, tmp_path: Path) -> None:
    """Each holds the pipe of what it says: that has an end when all have ended."""
    for_ever = tmp_path / "for_ever"
    os.mkfifo(for_ever)
    writer = os.open(for_ever, os.O_RDWR)
    rank = python_of(tmp_path, f"{hears}echo up; exec cat {for_ever}")
    code = (
        "import sys; from csaud.perf import local; local._GRACE = 0.05\n"
        f"sys.executable = {rank!r}; local.launch(2, ['perf', 'barrier'])"
    )
    environ = {name: value for name, value in os.environ.items() if name not in LAUNCHERS}
    with subprocess.Popen(
        [sys.executable, "-c", code],
        env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        preexec_fn=heeds_signals,
    ) as command:  # fmt: skip
        assert command.stdout is not None
        assert [command.stdout.readline(), command.stdout.readline()] == ["up\n"] * 2
        command.send_signal(number)
        try:
            rest, _ = command.communicate(timeout=PATIENCE)
        finally:
            os.close(writer)
    assert rest == ""
    assert command.returncode == (128 + number if number != signal.SIGINT else -number)
