"""Everything that can be looked at, in one go."""

from __future__ import annotations

from csaud_lab.checks import cabling, hosts, switches
from csaud_lab.checks.finding import Finding
from csaud_lab.machines.asking import ask_all
from csaud_lab.site import Site


def look(site: Site) -> list[Finding]:
    """Findings about hosts, switches and cables, and about the wheels that hosts will get."""
    found = list(_wheels(site))
    found += switches.answering(site)
    status, held = switches.held(site)
    found += held
    told = ask_all(site, list(site.fabric.hosts))
    for host, answer in told.items():
        found += hosts.look(site, host, answer)
    found += cabling.of_hosts(site, told, controller=status is not None)
    if status is not None:
        found += cabling.between_switches(status)
    return found


def _wheels(site: Site) -> list[Finding]:
    names = sorted(path.name for path in site.wheels.glob("csaud-*.whl"))
    if len(names) == 1:
        return [Finding("ok", "wheels", names[0])]
    if not names:
        what = f"no csaud-*.whl in {site.wheels}"
        return [Finding("problem", "wheels", what)]
    return [Finding("problem", "wheels", f"several in {site.wheels}: {', '.join(names)}; expected one")]
