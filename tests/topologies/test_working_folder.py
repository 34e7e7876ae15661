"""Commands that are started in a folder that is gone, or whose name no file of a run can have."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

NET = "from csaud_topologies.cli import app; app()"
CAPTURE = "from csaud_topologies.capture.command import app; app()"
FABRIC = "from csaud_controller.cli.fabric import app; app()"


def told(folder: bytes, program: str, *words: str) -> tuple[int, str]:
    """Exit status and what was said of a command that is started in this folder, which goes away if it is
    called `gone`."""
    os.mkdir(folder)  # noqa: PTH102 - a name of bytes
    here = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        if folder.endswith(b"gone"):
            os.rmdir(folder)  # noqa: PTH106
        done = subprocess.run(
            [sys.executable, "-c", program, *words],
            capture_output=True,
            text=True,
            check=False,
            preexec_fn=lambda: os.fchdir(here),
        )
    finally:
        os.close(here)
    assert done.stdout == ""
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("program", "words"),
    [
        (NET, ["run"]),
        (NET, ["up", "--detach"]),
        (NET, ["job", "--", "true"]),
        (NET, ["exec", "true"]),
        (NET, ["down"]),
        (NET, ["report"]),
        (CAPTURE, ["l1:1"]),
        (FABRIC, ["show"]),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_a_folder_that_is_gone_is_told_in_one_line(tmp_path: Path, program: str, words: list[str]) -> None:
    status, said = told(os.fsencode(tmp_path / "gone"), program, *words)
    assert status == 2
    assert said.split(": ", 1)[1] == "the working folder is gone: change into one that is there\n"


@pytest.mark.parametrize("words", [["run"], ["up"], ["job", "--", "true"]], ids=lambda words: words[0])
def test_a_folder_whose_name_no_report_can_have_is_refused(tmp_path: Path, words: list[str]) -> None:
    status, said = told(os.fsencode(tmp_path) + b"/b\xff", NET, *words)
    assert status == 2
    assert said == f"csaud: {tmp_path}/b\\xff: expected a folder whose name is UTF-8\n"
    assert os.listdir(os.fsencode(tmp_path) + b"/b\xff") == []  # noqa: PTH208


def test_so_is_an_output_folder(tmp_path: Path) -> None:
    out = os.fsdecode(os.fsencode(tmp_path) + b"/b\xff")
    status, said = told(os.fsencode(tmp_path / "here"), NET, "run", "--out", out)
    assert (status, said) == (2, f"csaud: {tmp_path}/b\\xff: expected a folder whose name is UTF-8\n")
