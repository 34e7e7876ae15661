"""Tests that share something stay in one process when they are shared out (`make test`)."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

GROUPED = """
import os, pathlib, pytest

@pytest.mark.xdist_group("one")
@pytest.mark.parametrize("number", range(20))
def test(number):
    pathlib.Path({folder!r}, f"{{os.getpid()}}").touch()
"""


def test_tests_of_a_group_run_in_one_process(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    ran.mkdir()
    file = tmp_path / "test_grouped.py"
    file.write_text(GROUPED.format(folder=str(ran)))
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    command = [sys.executable, "-m", "pytest", "-n", "2", "--dist", "loadgroup", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "--rootdir", tmp_path, file], cwd=tmp_path, env=environ, capture_output=True, text=True
    )
    assert "20 passed" in done.stdout, done.stdout + done.stderr
    assert len(list(ran.iterdir())) == 1
