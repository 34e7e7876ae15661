"""Everything that can be looked at, in one go."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from csaud_lab.checks import cabling, hosts, switches
from csaud_lab.checks.finding import Finding
from csaud_lab.machines.asking import Told, ask_all
from csaud_lab.site import Site


def before_deploying(site: Site) -> list[Finding]:
    """Findings about what a deployment needs: wheels, hosts and switches that answer, NICs."""
    found = _machines(site, ask_all(site, list(site.fabric.hosts), listen_s=0))
    if Path("/run/systemd/system").is_dir() and os.geteuid() != 0:
        found.append(Finding("problem", "control", "not root here, and the controller is a unit of systemd"))
    return found


def _machines(site: Site, told: Mapping[str, Told]) -> list[Finding]:
    found = [*_wheels(site), *switches.answering(site)]
    for host, answer in told.items():
        found += hosts.look(site, host, answer)
    return found


def look(site: Site) -> list[Finding]:
    """Findings about hosts, switches and cables, and about the wheels that hosts will get."""
    told = ask_all(site, list(site.fabric.hosts))
    found = _machines(site, told)
    status, held = switches.held(site)
    found += held
    found += cabling.of_hosts(site, told, controller=status is not None)
    if status is not None:
        found += cabling.between_switches(status)
    return found


def _wheels(site: Site) -> list[Finding]:
    names = sorted(path.name for path in site.wheels.glob("csaud-*.whl"))
    if len(names) == 1:
        return [Finding("ok", "wheels", names[0])]
    if not names:
        what = f"no csaud-*.whl in {site.wheels}: `make lab-wheels` makes it, with all that it needs"
        return [Finding("problem", "wheels", what)]
    return [Finding("problem", "wheels", f"several in {site.wheels}: {', '.join(names)}; expected one")]
