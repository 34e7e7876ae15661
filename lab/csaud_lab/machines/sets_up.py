"""Makes a host what /etc/csaud/host.json says, and prints what it changed, as a JSON list. Runs on the host,
as root, at every boot and from `csaud lab deploy`, by the host's own Python (3.8 or newer) and with nothing
but the standard library. Does nothing twice; what it cannot do ends it with one line and status 1.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

SETTINGS = "/etc/csaud/host.json"
NET = Path("/sys/class/net")
HUGE_PAGES = Path("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages")


class Failure(Exception):
    """Something cannot be set; the text says what, and why."""


def run(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError as error:
        raise Failure(f"{command[0]}: {error.strerror}") from None
    if done.returncode != 0:
        raise Failure(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


def listed(*command: str) -> Any:
    return json.loads(run(*command) or "[]")


def interface(nic: dict[str, str]) -> str:
    """The interface of a NIC, by its name or else by its MAC address."""
    names = sorted(each.name for each in NET.iterdir())
    macs = {(NET / name / "address").read_text().strip(): name for name in reversed(names)}
    by_mac = [macs[mac] for mac in [nic["mac"].lower()] if mac in macs]
    found = [name for name in names if name == nic["name"]] if nic["name"] else by_mac
    if not found:
        wanted = nic["name"] or f"MAC address {nic['mac']}"
        raise Failure(f"no interface with {wanted}; there is {', '.join(names)}")
    return found[0]


def set_link(name: str, mtu: int) -> list[str]:
    changed = []
    if int((NET / name / "mtu").read_text()) < mtu:
        run("ip", "link", "set", name, "mtu", str(mtu))
        changed.append(f"{name}: MTU {mtu}")
    if not int((NET / name / "flags").read_text(), 16) & 1:
        run("ip", "link", "set", name, "up")
        changed.append(f"{name}: up")
    return changed


def set_address(name: str, address: str) -> list[str]:
    shown = listed("ip", "-j", "-4", "addr", "show", "dev", name)
    if address in [one["local"] for each in shown for one in each.get("addr_info", [])]:
        return []
    run("ip", "addr", "add", f"{address}/32", "dev", name)
    return [f"{name}: address {address}"]


def set_peers(number: int, name: str, address: str, peers: list[dict[str, str]]) -> list[str]:
    """Neighbours that are never asked for, and the way to them: over the first NIC, or from the address of
    another one over that one."""
    table = [] if number == 0 else ["table", str(100 + number)]
    shown = listed("ip", "-j", "neigh", "show", "dev", name)
    known = {(each["dst"], each.get("lladdr")) for each in shown if "PERMANENT" in each.get("state", [])}
    try:
        routes = {each["dst"] for each in listed("ip", "-j", "-4", "route", "show", "dev", name, *table)}
    except Failure:  # a table without a route yet
        routes = set()
    neighbours = [peer for peer in peers if (peer["ip"], peer["mac"]) not in known]
    ways = [peer for peer in peers if peer["ip"] not in routes]
    for peer in neighbours:
        run("ip", "neigh", "replace", peer["ip"], "lladdr", peer["mac"], "nud", "permanent", "dev", name)
    for peer in ways:
        run("ip", "route", "replace", f"{peer['ip']}/32", "dev", name, "src", address, *table)
    changed = [f"{name}: {len(neighbours)} neighbours, {len(ways)} routes"] if neighbours or ways else []
    if number and not any(each.get("src") == address for each in listed("ip", "-j", "rule", "show")):
        run("ip", "rule", "add", "from", address, "lookup", str(100 + number))
        changed.append(f"{name}: rule for {address}")
    return changed


def set_priorities(name: str, priorities: dict[str, int]) -> list[str]:
    """DSCP to priority, where the NIC has DCB."""
    if not priorities:
        return []
    told = json.loads(run("dcb", "-j", "app", "show", "dev", name) or "{}").get("dscp_prio", [])
    now = {str(dscp): priority for dscp, priority in told}
    changed = []
    for dscp, priority in priorities.items():
        if now.get(dscp) != priority:
            run("dcb", "app", "replace", "dev", name, "dscp-prio", f"{dscp}:{priority}")
            changed.append(f"{name}: DSCP {dscp} has priority {priority}")
    return changed


def set_huge_pages(count: int) -> list[str]:
    if not count or int(HUGE_PAGES.read_text()) >= count:
        return []
    HUGE_PAGES.write_text(str(count))
    given = int(HUGE_PAGES.read_text())
    if given < count:
        raise Failure(
            f"{given} huge pages of 2 MiB are to be had, of {count}: too little memory in one piece; reboot"
        )
    return [f"{count} huge pages"]


def main() -> int:
    try:
        wanted = json.loads(Path(SETTINGS).read_text())
        changed = set_huge_pages(wanted["huge_pages"])
        for number, nic in enumerate(wanted["nics"]):
            name = interface(nic)
            changed += set_link(name, wanted["mtu"])
            changed += set_address(name, nic["ip"])
            changed += set_peers(number, name, nic["ip"], wanted["peers"])
            changed += set_priorities(name, wanted["priorities"])
    except (Failure, OSError, ValueError, KeyError) as error:
        sys.stderr.write(f"{SETTINGS}: {error}\n")
        return 1
    print(json.dumps(changed))
    return 0


if __name__ == "__main__":
    sys.exit(main())
