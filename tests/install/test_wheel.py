"""`make wheel`: what it makes is installed and runs a fabric where nothing can compile."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.support.wheels import wheels_for_hosts

pytestmark = [pytest.mark.thorough, pytest.mark.root]

COMPILERS = ("cc", "c++", "gcc", "g++", "clang", "clang++", "cmake", "ninja", "make")
SCENARIO = """
name: from-a-wheel
seed: 1
fabric: leaf-spine-2x2
workload: {name: allreduce, sizes: [262144], repeats: 2}
faults: [{probability: 0.02}]
"""


@pytest.fixture(scope="module")
def wheel() -> Path:
    (path,) = wheels_for_hosts().glob("csaud-*.whl")
    return path


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> tuple[Path, dict[str, str]]:
    """The programs of a fresh environment with the wheel in it, and an environment without a compiler."""
    folder = tmp_path_factory.mktemp("installed")
    missing = folder / "missing"
    missing.mkdir()
    for name in COMPILERS:
        (missing / name).write_text(f"#!/bin/sh\necho {name} was called >&2\nexit 127\n")
        (missing / name).chmod(0o755)
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    env["PATH"] = f"{missing}:{env['PATH']}"
    subprocess.run([sys._base_executable, "-m", "venv", folder / "venv"], check=True)
    got = subprocess.run(
        [folder / "venv/bin/pip", "install", "-q", "--only-binary", "csaud", f"{wheel}[emulation]"],
        env=env,
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert got.returncode == 0, got.stderr
    return folder / "venv/bin", env


def test_the_wheel_has_what_it_links_and_says_its_licence(wheel):
    with zipfile.ZipFile(wheel) as files:
        names = files.namelist()
        metadata = next(name for name in names if name.endswith(".dist-info/METADATA"))
        said = files.read(metadata).decode()
    assert any("libisal" in name for name in names)
    assert any(name.startswith("csaud_sim/_core.") for name in names)  # which `make build` leaves out
    assert "License-Expression: " in said
    assert not [name for name in names if name.startswith(("tests/", "bench/")) or "testnet" in name]


def test_a_fabric_runs_from_the_wheel(installed, tmp_path):
    programs, env = installed
    scenario = tmp_path / "from-a-wheel.yaml"
    scenario.write_text(SCENARIO)
    run = subprocess.run(
        [programs / "csaud", "net", "run", "--scenario", scenario, "--out", tmp_path / "out"],
        env=env,
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    report = json.loads((tmp_path / "out/report.json").read_text())
    assert report["checks"] and all(check["passed"] for check in report["checks"])
    where = subprocess.run(
        [programs / "python", "-c", "import csaud; print(csaud.__file__)"],
        env=env,
        cwd=tmp_path,
        text=True,
        capture_output=True,
    )
    assert where.stdout.startswith(str(programs.parent)), where
