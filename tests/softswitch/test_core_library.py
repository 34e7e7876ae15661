"""The core as a library: installed without Python, found by CMake, linked by a program of somebody else."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.softswitch import programs

HERE = Path(__file__).parent
NATIVE = HERE.parents[1] / "softswitch" / "native"


def run(*command: str | Path) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def build(source: Path, folder: Path, *options: str) -> None:
    run("cmake", "-G", "Ninja", "-S", source, "-B", folder, *options)
    run("cmake", "--build", folder)


@pytest.mark.thorough
def test_a_program_links_the_installed_core(tmp_path: Path) -> None:
    built, prefix, user = (tmp_path / name for name in ("core", "prefix", "user"))
    options = ("-DCSAUD_PYTHON=OFF", "-DCMAKE_UNITY_BUILD=ON", "-DCMAKE_BUILD_TYPE=Debug")
    build(NATIVE, built, *options, "-DCMAKE_DISABLE_FIND_PACKAGE_Python=ON")
    run("cmake", "--install", built, "--prefix", prefix)
    assert {path.name for path in (prefix / "include").iterdir()} == {"csaud_switch"}
    build(HERE / "switch_user", user, f"-DCMAKE_PREFIX_PATH={prefix}")
    said = run(user / "switch_user", programs.FOLDER / "truncates.json")
    assert said == "s1 2 1012 64\ns2 2 1012 64\n"
