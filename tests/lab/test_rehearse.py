"""What a rehearsal takes and leaves: a folder that is its own, and nothing that runs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from csaud_lab.rehearsal.commands import wait_until
from csaud_lab.rehearsal.folder import own_folder
from csaud_runs.errors import RunError

from tests.lab.rehearsed import needs_rehearsal


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


def pids_in(namespace: str) -> list[int]:
    """Processes in a PID namespace."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if str((process / "ns/pid").readlink()) == namespace:
                found.append(int(process.name))
    return found


@needs_rehearsal
@pytest.mark.root
@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGKILL])
def test_nothing_outlives_a_rehearsal_that_is_killed(tmp_path: Path, signum: signal.Signals) -> None:
    (tmp_path / "tmp").mkdir()
    command = ["csaud", "lab", "rehearse", "--topo", "leaf-spine-1x0x2", "--out", str(tmp_path / "a lab")]
    command += ["--", "sh", "-c", "readlink /proc/self/ns/pid; exec sleep 1000"]
    with subprocess.Popen(
        [str(Path(sys.executable).parent / command[0]), *command[1:]],
        env={**os.environ, "TMPDIR": str(tmp_path / "tmp")},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        namespace = next(line.strip() for line in process.stdout if line.startswith("pid:"))
        assert len(pids_in(namespace)) > 2
        process.send_signal(signum)
        try:
            wait_until(lambda: not pids_in(namespace), "something runs", 20.0)
        finally:
            for pid in pids_in(namespace):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
    assert list((tmp_path / "tmp").iterdir()) == []
