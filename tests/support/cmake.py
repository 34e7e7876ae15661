"""A native core as others use it: built alone, installed, found by CMake, linked by a program of theirs."""

from __future__ import annotations

import subprocess
from pathlib import Path


def run(*command: str | Path) -> str:
    """What the command prints; it has to succeed."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def linked(native: Path, user: Path, folder: Path) -> Path:
    """The program of the CMake project `user`, linked with what `native` installs without Python.

    folder: an empty one, in which all of it is made; the headers come to lie in folder/prefix/include.
    """
    built, prefix, program = (folder / name for name in ("core", "prefix", "user"))
    _build(
        native,
        built,
        "-DCSAUD_PYTHON=OFF",
        "-DCMAKE_UNITY_BUILD=ON",
        "-DCMAKE_UNITY_BUILD_BATCH_SIZE=0",
        "-DCMAKE_BUILD_TYPE=Debug",
        "-DCMAKE_CXX_FLAGS_DEBUG=-O0",
        "-DCMAKE_DISABLE_FIND_PACKAGE_Python=ON",
    )
    run("cmake", "--install", built, "--prefix", prefix)
    _build(user, program, f"-DCMAKE_PREFIX_PATH={prefix}")
    return program / user.name


def _build(source: Path, folder: Path, *options: str) -> None:
    run("cmake", "-G", "Ninja", "-S", source, "-B", folder, *options)
    run("cmake", "--build", folder)
