"""What the first command of the README does, with each Python that is here: what comes as source is built."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).parents[2]
MAKE_IT = """
import sys
from pathlib import Path
from tools.install.commands import Commands
from tools.install.progress import Progress
from tools.install.python import Environment
root = Path(sys.argv[1])
with Progress() as progress:
    environment = Environment(root / "build/venv", root, Commands(root / "build"), progress)
    environment.make()
    environment.install([])
"""


def interpreter(version: str) -> str:
    """A Python of this minor version, on PATH or of pyenv's; skips where there is none."""
    found = [sys.executable, shutil.which(f"python{version}")]
    found += map(str, sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python3")))
    for python in filter(None, found):
        said = subprocess.run(
            [python, "-c", "import sys, venv; print('%d.%d' % sys.version_info[:2], sys._base_executable)"],
            capture_output=True,
            text=True,
        ).stdout.split()
        if said[:1] == [version]:
            return said[1]
    pytest.skip(f"no Python {version}")


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_a_dependency_without_a_wheel_is_built(tmp_path, version):
    """`pip --no-build-isolation` needs setuptools, and an old one `wheel`: a fresh venv has neither."""
    source = tmp_path / "source"
    source.mkdir()
    (source / "setup.py").write_text(
        "from setuptools import setup; setup(name='only-source', version='1', py_modules=['only_source'])\n"
    )
    (source / "only_source.py").write_text("")
    (tmp_path / "pyproject.toml").write_text(
        f'[build-system]\nrequires = []\n[project]\ndependencies = ["only-source @ {source.as_uri()}"]\n'
    )
    made = subprocess.run(
        [interpreter(version), "-c", MAKE_IT, str(tmp_path)], cwd=ROOT, capture_output=True, text=True
    )
    log = tmp_path / "build/pip.log"
    assert made.returncode == 0, made.stderr + (log.read_text() if log.exists() else "")
    python = tmp_path / "build/venv/bin/python"
    assert subprocess.run([python, "-c", "import only_source"]).returncode == 0
    assert subprocess.run([python, "-c", "import wheel"], capture_output=True).returncode != 0
