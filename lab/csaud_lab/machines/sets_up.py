"""Makes a host what /etc/csaud/host.json says, and prints what it changed, as a JSON list. Runs on the host,
as root, at every boot and from `csaud lab deploy`, by the host's own Python (3.8 or newer) and with nothing
but the standard library. Does nothing twice, and undoes what it did for a host.json that said something else;
what it cannot do ends it with one line and status 1.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

SETTINGS = "/etc/csaud/host.json"
LAST = "/etc/csaud/host.json.last"
"""What was last made so, or begun."""

NET = Path("/sys/class/net")
IPV6_CONF = Path("/proc/sys/net/ipv6/conf")
HUGE_PAGES = Path("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages")


class Family(NamedTuple):
    """Of addresses: its name, that of its key in the file, ip's option, the bits of an address; what ip is
    told so that a new one can be used at once."""

    name: str
    key: str
    option: str
    bits: int
    at_once: tuple[str, ...] = ()


IPV4 = Family("IPv4", "ip", "-4", 32)
IPV6 = Family("IPv6", "ip6", "-6", 128, ("nodad",))  # nobody there could answer whether it is another's


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


def succeeds(*command: str) -> bool:
    try:
        return subprocess.run(command, stderr=subprocess.DEVNULL).returncode == 0
    except OSError:
        return False


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


def table_of(number: int) -> list[str]:
    """Of routes by a host's NICs: all but the first have one of their own."""
    return [] if number == 0 else ["table", str(100 + number)]


def objects(number: int, nic: dict[str, str], peers: list[dict[str, str]]) -> Iterator[tuple[str, ...]]:
    """Addresses, neighbours, routes and rules that a NIC is given, as `ip` takes them: family, kind, and what
    tells it from others. Nothing where there is no such NIC."""
    try:
        name = interface(nic)
    except Failure:
        return
    for family in (IPV4, IPV6):
        address = nic.get(family.key)
        if not address:
            continue
        yield (family.option, "addr", f"{address}/{family.bits}", "dev", name)
        for to in (peer[family.key] for peer in peers if peer.get(family.key)):
            yield (family.option, "neigh", to, "dev", name)
            yield (family.option, "route", f"{to}/{family.bits}", "dev", name, *table_of(number))
        if number:
            yield (family.option, "rule", "from", address, "lookup", str(100 + number))


def objects_of(settings: dict[str, Any]) -> list[tuple[str, ...]]:
    numbered = enumerate(settings["nics"])
    return [each for number, nic in numbered for each in objects(number, nic, settings["peers"])]


def removed(which: tuple[str, ...]) -> bool:
    """Whether it was there; a machine that has booted has nothing of before."""
    family, kind, *words = which
    return succeeds("ip", family, kind, "del", *words)


def priorities_of(settings: dict[str, Any]) -> Iterator[tuple[str, str, int]]:
    """Interface, DSCP and priority; nothing where there is no such NIC."""
    for nic in settings["nics"]:
        try:
            name = interface(nic)
        except Failure:
            continue
        yield from ((name, dscp, priority) for dscp, priority in settings["priorities"].items())


def undo_priorities(last: dict[str, Any], wanted: dict[str, Any]) -> list[str]:
    """Those of DSCPs that are to have none any more; others are replaced."""
    kept = {(name, dscp) for name, dscp, _ in priorities_of(wanted)}
    return [
        f"{name}: DSCP {dscp} has not priority {priority}"
        for name, dscp, priority in priorities_of(last)
        if (name, dscp) not in kept
        and succeeds("dcb", "app", "del", "dev", name, "dscp-prio", f"{dscp}:{priority}")
    ]


def undo(wanted: dict[str, Any]) -> list[str]:
    """What was set for other settings and is not wanted any more."""
    try:
        last = json.loads(Path(LAST).read_text())
    except (OSError, ValueError):
        last = None
    if last == wanted:
        return []
    kept = set(objects_of(wanted))
    gone = [each for each in objects_of(last) if each not in kept and removed(each)] if last else []
    priorities = undo_priorities(last, wanted) if last else []
    draft = Path(f"{LAST}.new")
    draft.write_text(json.dumps(wanted))
    draft.replace(LAST)
    addresses = [f"{name}: not {address}" for _, kind, address, _, name, *_ in gone if kind == "addr"]
    others = len(gone) - len(addresses)
    removals = [f"{others} neighbours, routes and rules of before removed"] if others else []
    return [*addresses, *removals, *priorities]


def remove_others(name: str, nic: dict[str, str], wanted: dict[str, Any], family: Family) -> list[str]:
    """Addresses of other NICs of the fabric, whoever has set them."""
    theirs = {each.get(family.key) for each in (*wanted["nics"], *wanted["peers"])} - {nic.get(family.key)}
    shown = listed("ip", "-j", family.option, "addr", "show", "dev", name)
    there = [one for each in shown for one in each.get("addr_info", []) if one.get("local") in theirs]
    for one in there:
        run("ip", "addr", "del", f"{one['local']}/{one['prefixlen']}", "dev", name)
    return [f"{name}: not {one['local']}, which is another's" for one in there]


def set_address(name: str, address: str, family: Family) -> list[str]:
    """RoCEv2 GIDs follow from it."""
    changed = []
    off = IPV6_CONF / name / "disable_ipv6"
    if family is IPV6 and off.read_text().strip() != "0":
        off.write_text("0")
        changed.append(f"{name}: IPv6")
    shown = listed("ip", "-j", family.option, "addr", "show", "dev", name)
    if address not in [one["local"] for each in shown for one in each.get("addr_info", [])]:
        run("ip", "addr", "add", f"{address}/{family.bits}", "dev", name, *family.at_once)
        changed.append(f"{name}: address {address}")
    return changed


def set_peers(number: int, name: str, address: str, family: Family, peers: list[dict[str, str]]) -> list[str]:
    """Neighbours that are never asked for, and the way to them: over the first NIC, or from the address of
    another one over that one."""
    table = table_of(number)
    wanted = [(peer[family.key], peer["mac"]) for peer in peers if peer.get(family.key)]
    shown = listed("ip", "-j", family.option, "neigh", "show", "dev", name)
    known = {(each["dst"], each.get("lladdr")) for each in shown if "PERMANENT" in each.get("state", [])}
    way = ("ip", "-j", family.option, "route", "show", "dev", name, *table)
    try:
        routes = {each["dst"] for each in listed(*way) if each.get("prefsrc") == address}
    except Failure:  # a table without a route yet
        routes = set()
    neighbours = [each for each in wanted if each not in known]
    ways = [to for to, _ in wanted if to not in routes]
    for to, mac in neighbours:
        run("ip", "neigh", "replace", to, "lladdr", mac, "nud", "permanent", "dev", name)
    for to in ways:
        run("ip", "route", "replace", f"{to}/{family.bits}", "dev", name, "src", address, *table)
    changed = []
    if neighbours or ways:
        changed.append(f"{name}: {len(neighbours)} {family.name} neighbours, {len(ways)} routes")
    rules = listed("ip", "-j", family.option, "rule", "show") if number else []
    own = [each for each in rules if each.get("src") == address and each.get("table") == str(100 + number)]
    if number and not own:
        run("ip", family.option, "rule", "add", "from", address, "lookup", str(100 + number))
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
        changed = [*undo(wanted), *set_huge_pages(wanted["huge_pages"])]
        for number, nic in enumerate(wanted["nics"]):
            name = interface(nic)
            changed += set_link(name, wanted["mtu"])
            for family in (IPV4, IPV6):
                changed += remove_others(name, nic, wanted, family)
                if address := nic.get(family.key):
                    changed += set_address(name, address, family)
                    changed += set_peers(number, name, address, family, wanted["peers"])
            changed += set_priorities(name, wanted["priorities"])
    except (Failure, OSError, ValueError, KeyError) as error:
        sys.stderr.write(f"{SETTINGS}: {error}\n")
        return 1
    print(json.dumps(changed))
    return 0


if __name__ == "__main__":
    sys.exit(main())
