"""A host that is to be something else than it was: nothing is left of before."""

from __future__ import annotations

import json
import subprocess
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from csaud_lab.checks import hosts
from csaud_lab.inventory import settings
from csaud_lab.machines import sets_up
from csaud_lab.machines.asking import Told

from tests.lab.places import nowhere
from tests.support.marks import some

_MACHINE = """
set -e
mount -t sysfs sysfs /sys
echo 0 >/proc/sys/net/ipv6/conf/default/disable_ipv6
ip link set lo up
ip link add eth7 address 02:00:0a:00:01:01 type veth peer name far
ip link add eth8 address 02:00:0a:00:01:81 type veth peer name far8
for each in eth7 eth8 far far8; do ip link set $each addrgenmode none; done
ip link set far up; ip link set far8 up
"""
_SHOWN = """
for family in -4 -6; do
    ip -o $family addr show scope global | awk '{print $2, $4, $6}'
    ip $family route show table all | grep -v -e 'table local' -e 'proto kernel' | sed 's/ linkdown//'
    ip $family neigh; ip $family rule
done
for each in eth7 eth8; do echo DSCP $each $(dcb -j app show dev $each); done
"""
"""Without what the kernel adds by itself, and only when it has looked at the link."""

_DCB = """#!/usr/bin/env python3
import json, pathlib, sys

*_, verb, _dev, name = sys.argv[: sys.argv.index("dev") + 2]
state = pathlib.Path(__file__).with_name(f"dcb-{name}.json")
known = json.loads(state.read_text()) if state.exists() else {}
if verb == "show":
    print(json.dumps({"dscp_prio": sorted([int(dscp), priority] for dscp, priority in known.items())}))
    sys.exit()
dscp, priority = sys.argv[-1].split(":")
if verb == "replace":
    known[dscp] = int(priority)
elif known.get(dscp) == int(priority):
    del known[dscp]
else:
    sys.exit("deleting app: No such file or directory")
state.write_text(json.dumps(known))
"""
"""Of iproute2, for NICs that have no DCB."""


def host(folder: Path, number: int = 1, peers: int = 3) -> dict[str, Any]:
    """What host NUMBER of a fabric is to be, but with the NICs of the machine under test: two of them."""
    site = nowhere(folder, ipv6=True)
    made = settings(site, f"h{number}")
    nic = made["nics"][0] | {"mac": "02:00:0a:00:01:01"}
    second = {"name": "", "mac": "02:00:0a:00:01:81", "ip": f"10.1.1.{number}", "ip6": f"fd01::{number}"}
    others = [{"name": "x", "mac": f"02:00:00:00:00:{n:02x}", "ip": f"10.0.9.{n}"} for n in range(1, peers)]
    priorities = {"48": 6, "26": 3}
    return made | {"nics": [nic, second], "peers": [*made["peers"], *others], "priorities": priorities}


def set_up(folder: Path, *steps: dict[str, Any], forget: bool = False) -> tuple[list[list[str]], list[str]]:
    """What a new machine changes that is set up so, one after the other, and what it has then."""
    folder.mkdir()
    file = folder / "host.json"
    (folder / "sets_up.py").write_text(
        Path(sets_up.__file__).read_text().replace("/etc/csaud/host.json", str(file))
    )
    (folder / "dcb").write_text(_DCB)
    (folder / "dcb").chmod(0o755)
    script = f"export PATH={folder}:$PATH\n{_MACHINE}"
    for number, step in enumerate(steps):
        (folder / f"{number}.json").write_text(json.dumps(step))
        script += f"cp {folder}/{number}.json {file}; python3 {folder}/sets_up.py\n"
        script += f"rm -f {file}.last\n" if forget else ""
    command = ["unshare", "--net", "--mount", "sh", "-c", f"{script}\necho SHOWN\n{_SHOWN}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    changed, shown = done.stdout.split("SHOWN\n")
    return [json.loads(line) for line in changed.splitlines()], sorted(shown.splitlines())


def renumbered(before: dict[str, Any]) -> dict[str, Any]:
    """To addresses that nobody had."""
    made = deepcopy(before)
    for nic, number in zip(made["nics"], (7, 8), strict=True):
        nic |= {"ip": f"10.0.7.{number}", "ip6": f"fd07::{number}"}
    return made


def exchanged(before: dict[str, Any]) -> dict[str, Any]:
    """The second NIC first."""
    return before | {"nics": before["nics"][::-1]}


@pytest.mark.root
@pytest.mark.parametrize(
    "change",
    some(
        ["swap", "renumber", "fewer peers", "other NIC first", "no IPv6", "one NIC", "priorities", "same"],
        {"swap", "one NIC"},
    ),
)
def test_a_host_is_as_if_it_had_never_been_anything_else(tmp_path: Path, change: str) -> None:
    before = host(tmp_path)
    after = {
        "swap": host(tmp_path, 2),
        "renumber": renumbered(before),
        "fewer peers": host(tmp_path, peers=1),
        "other NIC first": exchanged(before),
        "no IPv6": before | {"nics": [{k: v for k, v in n.items() if k != "ip6"} for n in before["nics"]]},
        "one NIC": before | {"nics": before["nics"][:1]},
        "priorities": before | {"priorities": {"48": 5, "0": 0}},
        "same": before,
    }[change]
    (_, second, third), had_others = set_up(tmp_path / "was", before, after, after)
    _, fresh = set_up(tmp_path / "new", after)
    assert had_others == fresh
    assert bool(second) == (change != "same") and third == []


@pytest.mark.root
def test_what_is_anothers_is_removed_whoever_has_set_it(tmp_path: Path) -> None:
    """By an earlier version, which kept nothing of what it did, or by hand."""
    _, shown = set_up(tmp_path / "was", host(tmp_path), host(tmp_path, 2), forget=True)
    addresses = [line.split()[1] for line in shown if line.startswith("eth7 ")]
    assert addresses == ["10.0.1.2/32", "fd00:a00:1::2/128"]


def test_an_address_that_is_anothers_is_due(tmp_path: Path) -> None:
    site = nowhere(tmp_path)
    own = {"mac": "02:00:0a:00:01:01", "mtu": 9000, "carrier": True, "driver": "", "firmware": ""}
    own |= {"addresses": ["10.0.1.1", "10.0.1.2", "192.0.2.1"], "priorities": {}}
    facts = {"system": "", "kernel": "", "root": True, "csaud": "1", "settings": {}, "rdma": {}}
    facts |= {"interfaces": {"eth0": own}, "nics": ["eth0"]}
    told = [each.what for each in hosts.look(site, "h1", Told(facts)) if each.level == "due"]
    assert told == ["10.0.1.2 is set, and the fabric gives it to h2"]
