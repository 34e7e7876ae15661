"""The rehearsal, in namespaces of its own: `csaud lab rehearse` starts it."""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from csaud_controller.base.yamlfile import ConfigError
from csaud_controller.inventory import load_fabric
from csaud_runs.errors import RunError

from csaud_lab.guests import debs
from csaud_lab.rehearsal.files import as_lab, write
from csaud_lab.rehearsal.folder import own_folder
from csaud_lab.rehearsal.kinds import DEVICES, TARGETS
from csaud_lab.rehearsal.world import World

STEPS = (
    "csaud lab check",
    "csaud lab deploy",
    "csaud lab deploy",
    "csaud lab check",
    "csaud lab accept",
    "csaud lab report",
)
"""Deployed twice: the second time changes nothing."""


def main() -> int:
    """The exit status: that of the first command that fails."""
    parser = argparse.ArgumentParser(prog="python -m csaud_lab.rehearsal", description=__doc__)
    parser.add_argument("--topo", default="leaf-spine-2x2x1")
    parser.add_argument("--target", choices=TARGETS, default=TARGETS[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--wheels", type=Path, required=True)
    parser.add_argument("--device", choices=DEVICES, default=DEVICES[0])
    parser.add_argument("--guests", type=Path, help="where what guests are made of is kept")
    parser.add_argument("--ipv6", action="store_true")
    parser.add_argument("command", nargs="*")
    asked = parser.parse_args()
    folder = asked.out.absolute()
    try:
        fabric = load_fabric(asked.topo)
        fabric = fabric.with_ipv6() if asked.ipv6 else fabric
        packages = debs.fetch(asked.guests) if asked.device == "verbs" else None
        world = World(as_lab(fabric, asked.target), asked.target, folder, packages)
        begun = time.monotonic()
        with own_folder(folder), world.running():
            write(folder, world.fabric, world.hosts, asked.wheels.absolute(), asked.device)
            told = f"{len(world.hosts)} hosts, {len(world.switches)} switches in {folder}"
            print(f"rehearsal: {told}, up after {time.monotonic() - begun:.0f} s", flush=True)
            return _commands(
                [asked.command] if asked.command else [shlex.split(each) for each in STEPS], folder
            )
    except (RunError, ConfigError) as error:
        print(f"csaud: {error}", file=sys.stderr)
        return 1


def _commands(commands: Sequence[Sequence[str]], folder: Path) -> int:
    for command in commands:
        print(f"\n$ {shlex.join(command)}", flush=True)
        begun = time.monotonic()
        status = subprocess.run(
            command, cwd=folder, check=False, env={**os.environ, "COLUMNS": "120"}
        ).returncode
        print(f"({time.monotonic() - begun:.0f} s)", flush=True)
        if status != 0:
            return status
    return 0


if __name__ == "__main__":
    sys.exit(main())
