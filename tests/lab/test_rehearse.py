"""A rehearsal's folder: what is in it that no rehearsal made stays, and one at a time has it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from csaud_lab.rehearsal.folder import own_folder
from csaud_runs.errors import RunError


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def rehearsal(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "csaud_lab.rehearsal", "--out", str(folder), "--wheels", "none", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("words", "told"), [(("--topo", "typo"), "typo"), (("--target", "bmv2"), "no simple_switch_grpc on PATH")]
)
def test_a_rehearsal_that_cannot_be_leaves_its_folder_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], told: str
) -> None:
    (tmp_path / "lab").mkdir()
    with own_folder(tmp_path / "lab"):
        (tmp_path / "lab/report.html").touch()
    before = files(tmp_path)
    monkeypatch.setenv("PATH", "/usr/sbin")
    done = rehearsal(tmp_path / "lab", *words)
    assert done.returncode == 1 and told in done.stderr and "Traceback" not in done.stderr
    assert files(tmp_path) == before


def test_a_folder_with_files_of_others_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/data").touch()
    done = rehearsal(tmp_path)
    assert done.returncode == 1
    assert f"--out {tmp_path}: has files that no rehearsal made" in done.stderr
    assert files(tmp_path) == ["mine/data"]


def test_the_next_rehearsal_begins_with_nothing_of_the_one_before(tmp_path: Path) -> None:
    with own_folder(tmp_path / "lab"):
        (tmp_path / "lab/ssh").mkdir()
        (tmp_path / "lab/ssh/key").touch()
        (tmp_path / "lab/lab.yaml").touch()
        (tmp_path / "lab/link").symlink_to(tmp_path)
    (tmp_path / "beside").touch()
    with own_folder(tmp_path / "lab"):
        assert [path for path in files(tmp_path / "lab") if not path.startswith(".")] == []
    assert "beside" in files(tmp_path)


def test_a_folder_is_that_of_one_rehearsal_at_a_time(tmp_path: Path) -> None:
    with own_folder(tmp_path):
        (tmp_path / "lab.yaml").touch()
        with pytest.raises(RunError, match="another rehearsal runs in it"), own_folder(tmp_path):
            pass
        assert "lab.yaml" in files(tmp_path)


def test_a_folder_that_cannot_be_is_told_in_a_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = rehearsal(tmp_path / "file")
    assert done.returncode == 1
    assert done.stderr == f"csaud: --out {tmp_path}/file: cannot be written: Not a directory\n"
