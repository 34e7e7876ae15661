"""A host as it tells of itself, against what the lab's file and the fabric's say of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from csaud_controller.inventory import Nic

from csaud_lab.checks.finding import Finding, Level
from csaud_lab.machines.asking import Told
from csaud_lab.site import Site

_OLDEST_PYTHON = (3, 11)


def look(site: Site, host: str, told: Told) -> Iterator[Finding]:
    """Everything but its cables."""
    if told.error:
        yield Finding("problem", host, f"ssh {site.user(host)}@{site.address(host)}: {told.error}")
        return
    facts = told.facts
    yield Finding("ok", host, f"{facts['system'] or 'Linux'}, kernel {facts['kernel']}")
    if not facts["root"]:
        yield Finding("problem", host, "not root there: expected user root, or `become: true` with sudo")
    yield from _python(site, host, facts)
    for number, nic in enumerate(site.fabric.hosts[host].all_nics):
        yield from _nic(site, host, nic, facts, facts["nics"][number])
    if site.lab.huge_pages:
        level: Level = "ok" if facts["huge_pages"] >= site.lab.huge_pages else "due"
        yield Finding(level, host, f"{facts['huge_pages']} huge pages, of {site.lab.huge_pages}")


def _python(site: Site, host: str, facts: Mapping[str, Any]) -> Iterator[Finding]:
    if facts["csaud"]:
        yield Finding("ok", host, f"csaud {facts['csaud']} in {site.lab.prefix}")
        return
    version = tuple(map(int, facts["python"].split(".")[:2]))
    if site.lab.python == "python3" and version < _OLDEST_PYTHON:
        yield Finding("problem", host, f"Python {facts['python']}: expected 3.11 or newer, or key `python`")
    yield Finding("due", host, f"csaud is not in {site.lab.prefix}")


def _nic(site: Site, host: str, nic: Nic, facts: Mapping[str, Any], name: str) -> Iterator[Finding]:
    found = facts["interfaces"].get(name)
    if found is None:
        wanted = f"interface {nic.name}" if nic.name else f"interface with MAC address {nic.mac}"
        yield Finding("problem", host, f"no {wanted}; there is {', '.join(sorted(facts['interfaces']))}")
        return
    where = f"{host}:{name}"
    if found["mac"] != nic.mac.lower():
        yield Finding("problem", where, f"MAC address {found['mac']}: the fabric says {nic.mac}")
    if not found["carrier"]:
        up = "no carrier: no cable, or the interface or the other end is down"
        yield Finding("problem" if facts["settings"] else "unknown", where, up)
    mtu = site.fabric.mtu
    yield Finding("ok" if found["mtu"] >= mtu else "due", where, f"MTU {found['mtu']}, of {mtu}")
    set_here = {str(each): str(each) in found["addresses"] for each in nic.addresses}
    for address, is_set in set_here.items():
        what = f"address {address}" if is_set else f"{address} is not set"
        yield Finding("ok" if is_set else "due", where, what)
    yield from _of_others(site, where, nic, found["addresses"])
    yield from _hardware(site, where, found)
    yield from _priorities(site, where, found["priorities"], facts["settings"] or {})
    if site.lab.device == "verbs":
        for address, is_set in set_here.items():
            yield _gid(where, name, address, is_set, facts["rdma"])


def _of_others(site: Site, where: str, nic: Nic, there: Iterable[str]) -> Iterator[Finding]:
    """Addresses that are set here and belong to other NICs of the fabric."""
    owners = {
        str(each): host
        for host, spec in site.fabric.hosts.items()
        for other in spec.all_nics
        for each in other.addresses
        if other != nic
    }
    for address in there:
        if address in owners:
            what = f"{address} is set, and the fabric gives it to {owners[address]}"
            yield Finding("due", where, what)


def _hardware(site: Site, where: str, found: Mapping[str, Any]) -> Iterator[Finding]:
    wanted = site.lab.nic
    if wanted.driver:
        same = found["driver"] == wanted.driver
        what = f"driver {found['driver'] or 'unknown'}" + ("" if same else f": expected {wanted.driver}")
        yield Finding("ok" if same else "problem", where, what)
    if wanted.firmware:
        told = re.match(r"[\d.]+", found["firmware"])
        own = _version(told[0]) if told else ()
        enough = own >= _version(wanted.firmware)
        what = f"firmware {found['firmware'] or 'unknown'}" + (
            "" if enough else f": expected {wanted.firmware} or newer"
        )
        mended: Level = "problem" if wanted.firmware_file is None else "due"
        yield Finding("ok" if enough else mended, where, what)


def _priorities(
    site: Site, where: str, there: Mapping[str, int], before: Mapping[str, Any]
) -> Iterator[Finding]:
    """`before`: what the host was told to be."""
    wanted = {str(dscp): priority for dscp, priority in site.lab.priorities.items()}
    for dscp, priority in wanted.items():
        set_to = there.get(dscp)
        what = f"DSCP {dscp} has priority {'none' if set_to is None else set_to}, of {priority}"
        yield Finding("ok" if set_to == priority else "due", where, what)
    for dscp, priority in before.get("priorities", {}).items():
        if dscp not in wanted and there.get(dscp) == priority:
            yield Finding("due", where, f"DSCP {dscp} has priority {priority}, as it was to have before")


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".") if part)


def _gid(where: str, name: str, address: str, is_set: bool, rdma: Mapping[str, Any]) -> Finding:
    own = {port: each for port, each in rdma.items() if each["interface"] == name}
    if not own:
        there = ", ".join(rdma) or "none"
        return Finding("problem", where, f"no RDMA device of this interface; RDMA ports there are: {there}")
    for port, each in own.items():
        if address in each["gids"]:
            return Finding("ok", where, f"{port}: RoCEv2 GID of {address} at index {each['gids'][address]}")
    told = f"{', '.join(own)}: no RoCEv2 GID of {address}"
    return Finding("problem" if is_set else "due", where, told)
