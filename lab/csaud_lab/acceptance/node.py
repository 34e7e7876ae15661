"""A host of the lab as jobs see one: commands are started there, over ssh."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from csaud_lab.machines.asking import ssh_command
from csaud_lab.site import Site

# The job's secret comes by stdin: command lines are for all to read. `read` takes no byte beyond its line.
_WITH_SECRET = 'IFS= read -r CSAUD_SECRET && export CSAUD_SECRET && exec "$@"'
_RANKS = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
_HERE = ("CSAUD_SECRET", "CSAUD_SECRET_FILE", "CSAUD_CONTROLLER", "CSAUD_RUN")
"""Secret, and what is of this machine alone."""


@dataclass(frozen=True)
class SshNode:
    """Takes the place of a Mininet node."""

    site: Site
    name: str

    def popen(self, command: Sequence[str], env: Mapping[str, str], **popen: Any) -> subprocess.Popen[Any]:
        """Start a command of this Python with that of the host library there; `env` has a secret."""
        program, *words = command
        if program == sys.executable:
            program = f"{self.site.lab.prefix}/bin/python"
        there = [f"{name}={value}" for name, value in _variables(env).items()]
        remote = ["env", *there, "sh", "-c", _WITH_SECRET, "csaud", program, *words]
        process = subprocess.Popen(ssh_command(self.site, self.name, remote), start_new_session=True, **popen)
        assert process.stdin is not None
        try:
            process.stdin.write(env["CSAUD_SECRET"] + "\n")
            process.stdin.flush()
        except BrokenPipeError:
            pass  # its exit status tells
        return process


def _variables(env: Mapping[str, str]) -> dict[str, str]:
    """Those of a rank, without what the user's environment here has beside them."""
    return {
        name: value
        for name, value in env.items()
        if name in _RANKS
        or (name.startswith("CSAUD_") and name not in _HERE and os.environ.get(name) != value)
        or name.endswith("_NUM_THREADS")
    }
