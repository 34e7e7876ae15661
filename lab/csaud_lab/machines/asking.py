"""Asks all hosts at once, over ssh."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from csaud_lab.site import Site

_AT_ONCE = 32
_WITHIN_S = 90.0
_LISTEN_S = 4.0
"""Switches announce themselves every second."""
_TELLS = Path(__file__).with_name("tells.py")


@dataclass(frozen=True)
class Told:
    """What a host has told of itself (`tells.py` has the keys); where it could not be asked, why."""

    facts: dict[str, Any]
    error: str = ""


def ask_all(site: Site, hosts: Sequence[str], listen_s: float = _LISTEN_S) -> dict[str, Told]:
    """What each of these hosts tells, having listened for LLDP so long."""
    with ThreadPoolExecutor(min(_AT_ONCE, max(1, len(hosts)))) as pool:
        return dict(zip(hosts, pool.map(lambda host: _ask(site, host, listen_s), hosts), strict=True))


def ssh_command(site: Site, host: str, command: Sequence[str]) -> list[str]:
    """A command line that runs `command` on a host, as root where the lab's file says how."""
    sudo = ["sudo", "-n"] if site.lab.ssh.become else []
    return [
        *("ssh", *site.ssh_options(), "-p", str(site.port(host)), f"{site.user(host)}@{site.address(host)}"),
        *("--", shlex.join([*sudo, *command])),
    ]


def _ask(site: Site, host: str, listen_s: float) -> Told:
    nics = [{"name": nic.name or "", "mac": nic.mac} for nic in site.fabric.hosts[host].all_nics]
    asked = {"nics": nics, "listen_s": listen_s, "prefix": str(site.lab.prefix)}
    command = ssh_command(site, host, ["python3", "-", json.dumps(asked)])
    try:
        with _TELLS.open() as script:
            done = subprocess.run(
                command, stdin=script, capture_output=True, text=True, timeout=_WITHIN_S, check=False
            )
    except FileNotFoundError:
        return Told({}, "ssh is not installed here (Debian: openssh-client)")
    except subprocess.TimeoutExpired:
        return Told({}, f"no answer within {_WITHIN_S:.0f} s")
    try:
        facts: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    except (ValueError, IndexError):
        said = [line for line in done.stderr.splitlines() if line.strip()]
        return Told({}, said[-1].strip() if said else f"ssh ended with status {done.returncode}")
    return Told(facts)
