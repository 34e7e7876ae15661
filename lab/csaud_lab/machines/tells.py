"""Runs on a host, by its own Python (3.8 or newer) and with nothing but the standard library: tells as JSON
what the host is, and which ports of which switches its NICs hear by LLDP.

Arguments: one JSON object {"nics": [{"name": NAME or "", "mac": MAC}], "listen_s": SECONDS, "prefix": PATH}.
"""

from __future__ import annotations

import json
import os
import platform
import select
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

NET = "/sys/class/net"
RDMA = "/sys/class/infiniband"
ETH_P_LLDP = 0x88CC
IPV4_MAPPED = bytes(10) + b"\xff\xff"
SOL_PACKET, PACKET_ADD_MEMBERSHIP, PACKET_MR_MULTICAST = 263, 1, 0
NEAREST_BRIDGE = b"\x01\x80\xc2\x00\x00\x0e"


def read(*parts: str) -> str:
    try:
        return Path(*parts).read_text().strip()
    except OSError:
        return ""


def output(*command: str) -> str:
    try:
        return subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=30
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return ""


def parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def folder(path: str) -> list[str]:
    try:
        return sorted(each.name for each in Path(path).iterdir())
    except OSError:
        return []


def driver(name: str) -> tuple[str, str]:
    """Driver and firmware, as ethtool tells them."""
    told = {}
    for line in output("ethtool", "-i", name).splitlines():
        key, _, value = line.partition(": ")
        told[key] = value.strip()
    return told.get("driver", ""), told.get("firmware-version", "")


def interfaces() -> dict[str, Any]:
    addresses: dict[str, list[str]] = {}
    for each in parsed(output("ip", "-j", "addr")) or []:
        if each.get("ifname"):
            addresses[each["ifname"]] = [one["local"] for one in each.get("addr_info", []) if "local" in one]
    found = {}
    for name in folder(NET):
        path = f"{NET}/{name}"
        drives, firmware = driver(name) if name != "lo" else ("", "")
        dcb = parsed(output("dcb", "-j", "app", "show", "dev", name)) or {}
        found[name] = {
            "mac": read(path, "address"),
            "mtu": int(read(path, "mtu") or 0),
            "carrier": read(path, "carrier") == "1",
            "addresses": addresses.get(name, []),
            "driver": drives,
            "firmware": firmware,
            "priorities": dict((str(d), p) for d, p in dcb.get("dscp_prio", [])),
        }
    return found


def address_of(gid: bytes) -> str:
    """The IP address that a RoCEv2 GID is."""
    if gid.startswith(IPV4_MAPPED):
        return socket.inet_ntop(socket.AF_INET, gid[len(IPV4_MAPPED) :])
    return socket.inet_ntop(socket.AF_INET6, gid)


def rdma() -> dict[str, Any]:
    """RDMA devices: for each port its interface, state and the indices of its RoCEv2 GIDs by address."""
    found = {}
    for device in folder(RDMA):
        ports = f"{RDMA}/{device}/ports"
        for port in folder(ports):
            gids: dict[str, int] = {}
            types = f"{ports}/{port}/gid_attrs/types"
            for index in folder(types):
                gid = read(ports, port, "gids", index)
                if gid and "v2" in read(types, index):
                    gids[address_of(bytes.fromhex(gid.replace(":", "")))] = int(index)
            found[f"{device}/{port}"] = {
                "interface": read(ports, port, "gid_attrs", "ndevs", "0"),
                "state": read(ports, port, "state"),
                "gids": gids,
            }
    return found


def neighbour(frame: bytes) -> tuple[str, str]:
    """Name (or chassis) and port of who sent an LLDP frame."""
    found: dict[int, bytes] = {}
    offset = 14
    while offset + 2 <= len(frame):
        (head,) = struct.unpack_from("!H", frame, offset)
        kind, length = head >> 9, head & 0x1FF
        if kind == 0:
            break
        found.setdefault(kind, frame[offset + 2 : offset + 2 + length])
        offset += 2 + length
    name = found.get(5) or found.get(1, b"?")[1:]
    return name.decode("utf-8", "replace"), found.get(2, b"?")[1:].decode("utf-8", "replace")


def listen(names: list[str], seconds: float) -> dict[str, Any] | None:
    """The neighbours that each interface hears, until all have heard one or the time is over; None: this user
    may not listen."""
    heard: dict[str, list[tuple[str, str]]] = {name: [] for name in names}
    sockets: dict[socket.socket, str] = {}
    try:
        for name in names:
            opened = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_LLDP))
            sockets[opened] = name
            opened.bind((name, ETH_P_LLDP))
            member = struct.pack("IHH8s", socket.if_nametoindex(name), PACKET_MR_MULTICAST, 6, NEAREST_BRIDGE)
            opened.setsockopt(SOL_PACKET, PACKET_ADD_MEMBERSHIP, member)
    except PermissionError:
        return None
    except OSError:
        pass  # an interface that is down hears nothing
    deadline = time.monotonic() + seconds
    while not all(heard.values()) and time.monotonic() < deadline:
        for ready in select.select(list(sockets), [], [], max(0, deadline - time.monotonic()))[0]:
            try:
                frame, source = ready.recvfrom(2048)
            except OSError:
                del sockets[ready]
                continue
            if source[2] != socket.PACKET_OUTGOING and neighbour(frame) not in heard[sockets[ready]]:
                heard[sockets[ready]].append(neighbour(frame))
    return heard


def main() -> None:
    asked = json.loads(sys.argv[1])
    found = interfaces()
    by_mac = dict((each["mac"], name) for name, each in sorted(found.items(), reverse=True))
    nics = [nic["name"] or by_mac.get(nic["mac"], "") for nic in asked["nics"]]
    there = [name for name in nics if name in found]
    python = f"{asked['prefix']}/bin/python"
    version = "import importlib.metadata as m; print(m.version('csaud'))"
    told = {
        "hostname": socket.gethostname(),
        "kernel": platform.release(),
        "system": read("/etc/os-release").partition('PRETTY_NAME="')[2].partition('"')[0],
        "python": platform.python_version(),
        "root": os.geteuid() == 0,
        "systemd": Path("/run/systemd/system").is_dir(),
        "interfaces": found,
        "nics": nics,
        "rdma": rdma(),
        "huge_pages": int(read("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages") or 0),
        "csaud": output(python, "-c", version).strip(),
        "settings": parsed(read("/etc/csaud/host.json")),
        "lldp": listen(there, asked["listen_s"]),
    }
    print(json.dumps(told))


if __name__ == "__main__":
    main()
