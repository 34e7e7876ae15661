"""Cables against the fabric's file, by LLDP: hosts hear switches, switches hear each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from csaud_controller.inventory import End

from csaud_lab.checks.finding import Finding, Level
from csaud_lab.machines.asking import Told
from csaud_lab.site import Site

NO_CONTROLLER = "no controller runs yet, and it is what makes switches tell: `csaud lab deploy`"


def of_hosts(site: Site, told: Mapping[str, Told], controller: bool) -> Iterator[Finding]:
    """What the NICs of hosts hear. `controller`: switches are made to announce themselves."""
    for host, answer in told.items():
        if answer.error:
            continue
        heard = answer.facts["lldp"]
        for number, name in enumerate(answer.facts["nics"]):
            where, end = f"{host}:{name or number}", site.fabric.peers[host][number]
            if heard is None:
                yield Finding("problem", where, "LLDP cannot be heard: raw sockets need root (`become`)")
            elif not name:
                continue  # told by `hosts`
            elif not heard.get(name):
                level: Level = "problem" if controller else "unknown"
                why = "nothing is heard by LLDP" + ("" if controller else f": {NO_CONTROLLER}")
                yield Finding(level, where, f"{why}; the fabric says {end}")
            else:
                yield compared(site, where, end, [(str(a), str(b)) for a, b in heard[name]])


def compared(site: Site, where: str, end: End, heard: Sequence[tuple[str, str]]) -> Finding:
    """Who is heard at a NIC, and who should be."""
    names = site.port_names(end)
    if any(switch == end.node and port in names for switch, port in heard):
        return Finding("ok", where, f"wired to {end}")
    others = ", ".join(f"{switch}:{port}" for switch, port in heard)
    return Finding("problem", where, f"wired to {others}; the fabric says {end}")


def between_switches(status: Mapping[str, Any]) -> Iterator[Finding]:
    """What the controller's link probes have found, from its status."""
    miswired: dict[str, str] = dict(status["miswired"])
    for link in status["links"]:
        a, b = link["a"], link["b"]
        wrong = [f"{at} is wired to {miswired.pop(at)}" for at in (a, b) if at in miswired]
        if wrong:
            yield Finding("problem", f"{a}-{b}", f"{'; '.join(wrong)}; the fabric says {a}-{b}")
        elif not link["up"]:
            yield Finding("problem", f"{a}-{b}", "down: no probe passes")
        else:
            yield Finding("ok", f"{a}-{b}", "link probes pass in both directions")
    for at, origin in miswired.items():
        yield Finding("problem", at, f"wired to {origin}; the fabric says otherwise")
