"""Debian packages: which there are, and those that are missing installed by apt."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

from tools.install.commands import Commands, InstallError
from tools.install.progress import Progress

PACKAGES = {
    # to compile, and to run an emulated fabric
    "run": (
        *("g++", "cmake", "ninja-build", "nlohmann-json3-dev", "libisal-dev", "libibverbs-dev"),
        *("mininet", "iproute2", "iputils-ping", "ethtool", "util-linux"),
    ),
    "sim": (),
    # what only those who change the project need: lint, fuzzers, guests with Soft-RoCE, capturing
    "test": (
        *("clang-format", "clang", "libclang-rt-dev", "qemu-system-x86", "tcpdump", "tshark"),
        "openssh-server",  # of the hosts of a rehearsed lab
    ),
}
_LOG = "apt.log"
# Other processes of apt are waited for, and what was installed is not kept a second time.
_OPTIONS = ("-o", "DPkg::Lock::Timeout=300", "-o", "APT::Keep-Downloaded-Packages=false")


def for_python() -> tuple[list[str], list[str]]:
    """What this Python lacks: to make a virtual environment, and to compile modules for it."""
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    try:
        import ensurepip  # noqa: F401
    except ImportError:
        for_venv = [f"{name}-venv"]
    else:
        for_venv = []
    header = Path(sysconfig.get_path("include")) / "Python.h"
    return for_venv, [] if header.exists() else [f"{name}-dev"]


def missing(packages: Iterable[str]) -> list[str]:
    """Those that are not installed; InstallError where only somebody else can install them."""
    wanted = list(packages)
    if shutil.which("dpkg-query") is None:
        print(f"No Debian: what these packages bring is taken as installed: {' '.join(wanted)}")
        return []
    listed = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Package} ${Status}\n", *wanted],
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    installed = {line.split()[0] for line in listed.splitlines() if line.endswith(" ok installed")}
    lacking = [name for name in wanted if name not in installed]
    if lacking and os.geteuid() != 0:
        raise InstallError(
            f"These Debian packages are missing, and only root can install them: {' '.join(lacking)}"
        )
    return lacking


def update(commands: Commands, progress: Progress) -> None:
    """Fetch the lists of packages."""
    step = progress.begin("Debian's lists of packages")
    commands.run(_LOG, ["apt-get", "update", "-q", *_OPTIONS])
    progress.end(step, "fetched")


def install(packages: list[str], commands: Commands, progress: Progress) -> None:
    """Install them, with what they depend on."""
    if not packages:
        return
    step = progress.begin("Debian packages")
    count, megabytes = 0, ""
    done = 0

    def watch(line: str) -> None:
        nonlocal count, megabytes, done
        if found := re.match(r"(\d+) upgraded, (\d+) newly installed", line):
            count = int(found[1]) + int(found[2])
        elif found := re.match(r"After this operation, ([\d,.]+ .B) of additional", line):
            megabytes = found[1]
        elif line.startswith(("Unpacking ", "Setting up ")) and count:
            done += 1
            what, name = line.removeprefix("Setting ").split()[:2]
            what = "setting up" if what == "up" else what.lower()
            step.at(f"{what} {name}, {100 * done // (2 * count)} %", done / (2 * count))
        elif line.startswith("Get:"):
            step.at(f"fetching {line.split()[4]}")

    commands.run(
        _LOG,
        ["apt-get", "install", "-y", "-q", "--no-install-recommends", *_OPTIONS, *packages],
        watch,
        DEBIAN_FRONTEND="noninteractive",
        LC_ALL="C.UTF-8",
    )
    progress.end(step, f"{count} installed, {megabytes}")
