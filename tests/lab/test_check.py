"""What `csaud lab check` finds: in files, in what hosts tell, and in a lab of namespaces with a real sshd."""

from __future__ import annotations

import itertools
import json
import shlex
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest
from csaud_controller.base.yamlfile import ConfigError
from csaud_controller.inventory import End, leaf_spine
from csaud_controller.links.probes import announcement
from csaud_lab.checks import cabling, hosts
from csaud_lab.inventory import inventory
from csaud_lab.machines import tells
from csaud_lab.machines.asking import Told
from csaud_lab.site import Site, load_site

from tests.lab.rehearsed import needs_rehearsal, rehearse


def lab(folder: Path, text: str = "", fabric: str = "") -> Site:
    """Of two hosts and a switch; `text` goes into the lab's file."""
    wired = leaf_spine(1, 0, 2)
    made = wired.with_addresses(dict.fromkeys(wired.switches, "192.0.2.11:9559"))
    (folder / "fabric.yaml").write_text(fabric or made.to_json())
    (folder / "lab.yaml").write_text(f"fabric: fabric.yaml\n{text}")
    return load_site(folder / "lab.yaml")


def test_every_mistake_of_both_files_is_told_with_its_line(tmp_path: Path) -> None:
    fabric = leaf_spine(1, 0, 2).to_json().replace('"device_id": 1', '"device_id": 0')
    text = "ssh: {key: nowhere}\nhosts:\n  h9: {address: 192.0.2.9}\nprefix: opt\n"
    with pytest.raises(ConfigError) as told:
        lab(tmp_path, text, fabric)
    lines = str(told.value).splitlines()
    line_of_id = next(n for n, line in enumerate(fabric.splitlines(), 1) if '"device_id": 0' in line)
    assert any(f"fabric.yaml:{line_of_id}: switches.l1.device_id" in line for line in lines), lines
    assert any(f"lab.yaml:2: ssh.key: no such file: {tmp_path}/nowhere" in line for line in lines), lines
    assert any("lab.yaml:5: prefix: expected an absolute path" in line for line in lines), lines


def test_a_misspelt_key_hides_no_mistake_of_the_fabric(tmp_path: Path) -> None:
    fabric = leaf_spine(1, 0, 2).to_json().replace('"device_id": 1', '"device_id": 0')
    with pytest.raises(ConfigError) as told:
        lab(tmp_path, "shh: {user: root}\n", fabric)
    lines = str(told.value).splitlines()
    assert any("lab.yaml:2: shh: unknown key" in line for line in lines), lines
    assert any("switches.l1.device_id" in line for line in lines), lines


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("hosts: {h9: {}}", "hosts.h9: the fabric has no such host; expected one of h1, h2"),
        ("hosts: {h1: {address: x}, h2: {address: x}}", "hosts.h2.address: x port 22 is also that of h1"),
        ("hosts: {h1: {address: -oProxyCommand=x}}", "hosts.h1.address"),
        ("device: rdma", "device: expected 'verbs' or 'soft', got 'rdma'"),
        ("priorities: {64: 1}", "priorities[64]"),
        ("acceptance: {ipv6: true}", "acceptance.ipv6: fabric.yaml gives no `ip6` to h1, h2"),
    ],
)
def test_a_mistake_is_named_with_its_key(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(ConfigError, match=r"lab\.yaml:2: ") as error:
        lab(tmp_path, text)
    assert told in str(error.value)


def test_switches_of_a_lab_have_addresses(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"switches\.l1\.p4runtime: missing"):
        lab(tmp_path, fabric=leaf_spine(1, 0, 2).to_json())


def test_the_inventory_says_how_each_host_is_reached_and_what_it_is_to_be(tmp_path: Path) -> None:
    (tmp_path / "key").touch()
    site = lab(tmp_path, "ssh: {user: admin, key: key, become: true}\nhosts: {h1: {address: 192.0.2.21}}\n")
    made = inventory(site)["all"]["children"]["csaud_hosts"]
    assert made["hosts"]["h1"]["ansible_host"] == "192.0.2.21"
    assert made["hosts"]["h2"]["ansible_host"] == "h2"
    assert made["hosts"]["h2"]["ansible_user"] == "admin"
    assert made["vars"]["ansible_become"] is True
    assert f'IdentityFile="{tmp_path}/key"' in shlex.split(made["vars"]["ansible_ssh_common_args"])
    assert made["hosts"]["h1"]["csaud_host"]["peers"] == [
        {"name": "h2", "ip": "10.0.1.2", "mac": "02:00:0a:00:01:02"}
    ]


@pytest.mark.skipif(shutil.which("ssh") is None, reason="needs ssh")
@pytest.mark.parametrize("name", ['a "new" \\ lab', "100%sure %h lab"])
def test_files_of_a_lab_may_have_any_letters_in_their_paths(tmp_path: Path, name: str) -> None:
    """As ssh itself understands its options."""
    folder = tmp_path / name
    folder.mkdir()
    for name in ("key", "known"):
        (folder / name).touch()
    site = lab(folder, "ssh: {key: key, known_hosts: known}\n")
    options = inventory(site)["all"]["children"]["csaud_hosts"]["vars"]["ansible_ssh_common_args"]
    asked = (*shlex.split(options), "-o", "ProxyCommand=true", "h1")  # which answers nothing
    known = subprocess.run(["ssh", "-G", *asked], capture_output=True, text=True, check=True)
    assert f"userknownhostsfile {folder}/known" in known.stdout.splitlines()
    tried = subprocess.run(["ssh", "-v", *asked], capture_output=True, text=True, check=False)
    told = tried.stderr.replace("\\\\", "\\").splitlines()  # as it prints a backslash
    assert f"debug1: identity file {folder}/key type -1" in told


def _facts(**changes: Any) -> dict[str, Any]:
    own = {
        "mac": "02:00:0a:00:01:01",
        "mtu": 9000,
        "carrier": True,
        "addresses": ["10.0.1.1"],
        "driver": "mlx5_core",
        "firmware": "28.39.1002 (MT_0)",
        "priorities": {"48": 7},
    }
    return {
        "system": "Debian",
        "kernel": "6.1",
        "root": True,
        "csaud": "0.1.0",
        "python": "3.11.2",
        "huge_pages": 64,
        "settings": {"priorities": {"26": 3, "0": 1}},
        "interfaces": {"eth0": own},
        "nics": ["eth0"],
        "rdma": {"mlx5_0/1": {"interface": "eth0", "state": "4: ACTIVE", "gids": {"10.0.1.1": 3}}},
        "lldp": {"eth0": [["l1", "1"]]},
        **changes,
    }


_WANTED = 'huge_pages: 64\nnic: {driver: mlx5_core, firmware: "28.39.1002"}\npriorities: {48: 7}\n'


def test_a_host_that_is_as_it_should_be(tmp_path: Path) -> None:
    site = lab(tmp_path, _WANTED)
    found = list(hosts.look(site, "h1", Told(_facts())))
    assert {each.level for each in found} == {"ok"}, found
    assert "mlx5_0/1: RoCEv2 GID of 10.0.1.1 at index 3" in [each.what for each in found]


@pytest.mark.parametrize(
    ("change", "level", "what"),
    [
        ({"mac": "02:00:0a:00:01:02"}, "problem", "MAC address 02:00:0a:00:01:02: the fabric says"),
        ({"mtu": 1500}, "due", "MTU 1500, of 4200"),
        ({"addresses": []}, "due", "10.0.1.1 is not set"),
        ({"driver": "ice"}, "problem", "driver ice: expected mlx5_core"),
        ({"firmware": "28.38.9999"}, "problem", "firmware 28.38.9999: expected 28.39.1002 or newer"),
        ({"priorities": {}}, "due", "DSCP 48 has priority none, of 7"),
        ({"priorities": {"48": 7, "26": 3}}, "due", "DSCP 26 has priority 3, as it was to have before"),
    ],
)
def test_what_a_nic_lacks(tmp_path: Path, change: dict[str, Any], level: str, what: str) -> None:
    facts = _facts()
    facts["interfaces"]["eth0"] |= change
    told = [
        (e.level, e.what) for e in hosts.look(lab(tmp_path, _WANTED), "h1", Told(facts)) if e.level != "ok"
    ]
    assert told[0][0] == level and told[0][1].startswith(what), told


def test_a_nic_with_both_addresses_has_a_gid_of_each(tmp_path: Path) -> None:
    wired = leaf_spine(1, 0, 2).with_ipv6()
    fabric = wired.with_addresses(dict.fromkeys(wired.switches, "192.0.2.11:9559")).to_json()
    site = lab(tmp_path, _WANTED, fabric)
    facts = _facts()
    told = [(e.level, e.what) for e in hosts.look(site, "h1", Told(facts)) if e.level != "ok"]
    assert told == [
        ("due", "fd00:a00:1::1 is not set"),
        ("due", "mlx5_0/1: no RoCEv2 GID of fd00:a00:1::1"),
    ]
    facts["interfaces"]["eth0"]["addresses"].append("fd00:a00:1::1")
    told = [(e.level, e.what) for e in hosts.look(site, "h1", Told(facts)) if e.level != "ok"]
    assert told == [("problem", "mlx5_0/1: no RoCEv2 GID of fd00:a00:1::1")]
    facts["rdma"]["mlx5_0/1"]["gids"]["fd00:a00:1::1"] = 5
    assert {each.level for each in hosts.look(site, "h1", Told(facts))} == {"ok"}


def test_a_hosts_rdma_ports_are_told_with_their_gids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From files as the kernel's are: GIDs of RoCEv1 do not count."""
    port = tmp_path / "mlx5_0/ports/1"
    (port / "gids").mkdir(parents=True)
    (port / "gid_attrs/types").mkdir(parents=True)
    (port / "gid_attrs/ndevs").mkdir()
    (port / "state").write_text("4: ACTIVE\n")
    (port / "gid_attrs/ndevs/0").write_text("eth0\n")
    for index, (kind, gid) in enumerate(
        [
            ("IB/RoCE v1", "fd00:0a00:0001:0000:0000:0000:0000:0001"),
            ("RoCE v2", "fd00:0a00:0001:0000:0000:0000:0000:0001"),
            ("IB/RoCE v1", "0000:0000:0000:0000:0000:ffff:0a00:0101"),
            ("RoCE v2", "0000:0000:0000:0000:0000:ffff:0a00:0101"),
        ]
    ):
        (port / f"gid_attrs/types/{index}").write_text(f"{kind}\n")
        (port / f"gids/{index}").write_text(f"{gid}\n")
    monkeypatch.setattr(tells, "RDMA", str(tmp_path))
    assert tells.rdma() == {
        "mlx5_0/1": {
            "interface": "eth0",
            "state": "4: ACTIVE",
            "gids": {"fd00:a00:1::1": 1, "10.0.1.1": 3},
        }
    }


def test_old_firmware_is_due_where_there_is_a_file_with_a_newer_one(tmp_path: Path) -> None:
    (tmp_path / "fw.bin").touch()
    facts = _facts()
    facts["interfaces"]["eth0"]["firmware"] = "28.38.9999"
    site = lab(tmp_path, 'nic: {firmware: "28.39.1002", firmware_file: fw.bin}\n')
    assert [each.level for each in hosts.look(site, "h1", Told(facts)) if each.level != "ok"] == ["due"]


def test_hosts_listen_no_longer_when_their_clock_is_set_back(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks, waits = itertools.count(100.0), list[float]()
    clock = itertools.chain([5000.0], itertools.count(1400.0))
    times = SimpleNamespace(monotonic=lambda: next(ticks), time=lambda: next(clock))
    monkeypatch.setattr(tells, "time", times)
    monkeypatch.setattr(tells.socket, "socket", lambda *_: MagicMock())

    def select(
        _sockets: list[object], _out: object, _odd: object, timeout_s: float
    ) -> tuple[list[object], ...]:
        waits.append(timeout_s)
        assert timeout_s <= 3
        return [], [], []

    monkeypatch.setattr(tells.select, "select", select)
    assert tells.listen(["lo"], 3) == {"lo": []}
    assert waits


def test_hosts_hear_what_switches_announce(tmp_path: Path) -> None:
    site = lab(tmp_path)
    assert tells.neighbour(announcement(End("l1", 1))) == ("l1", "1")
    found = cabling.compared(site, "h1:eth0", End("l1", 1), [tells.neighbour(announcement(End("l1", 1)))])
    assert (found.level, found.what) == ("ok", "wired to l1:1")
    found = cabling.compared(site, "h1:eth0", End("l1", 1), [tells.neighbour(announcement(End("l1", 2)))])
    assert (found.level, found.what) == ("problem", "wired to l1:2; the fabric says l1:1")


_SCRIPT = """
csaud lab check --json >before.json
csaud controller run --fabric fabric.yaml --run control/run 2>controller.log &
until csaud controller wait --run control/run --timeout 60s 2>/dev/null; do sleep 0.2; done
csaud lab check --json >after.json
sed -i -e 's/b: h1/b: hx/' -e 's/b: h2/b: h1/' -e 's/b: hx/b: h2/' fabric.yaml
sed -i '/192.0.2.102/s/AAAAC3/AAAAC4/' ssh/known_hosts
csaud lab check --json >wrong.json
exit 0
"""


@needs_rehearsal
@pytest.mark.thorough
@pytest.mark.root
def test_a_lab_of_namespaces_is_seen_over_ssh_and_lldp(tmp_path: Path) -> None:
    """Before anything runs, with its controller, and with cables and a host's key that are not as written."""
    rehearse(tmp_path, "leaf-spine-2x1x1", "bash", "-c", _SCRIPT)
    before, after, wrong = (
        json.loads((tmp_path / f"{name}.json").read_text()) for name in ("before", "after", "wrong")
    )

    def found(of: dict[str, Any], level: str) -> dict[str, list[str]]:
        levels: dict[str, list[str]] = {}
        for each in of["findings"]:
            if each["level"] == level:
                levels.setdefault(each["where"], []).append(each["what"])
        return levels

    assert list(found(before, "problem")) == ["wheels"], before
    assert "P4Runtime" in found(before, "ok")["l1"][0]
    assert "nothing is heard by LLDP: no controller" in found(before, "unknown")["h1:h1-eth0"][0]
    ok = found(after, "ok")
    assert ok["h1:h1-eth0"] == ["wired to l1:2"] and ok["h2:h2-eth0"] == ["wired to l2:2"]
    assert "link probes pass in both directions" in ok["l1:1-s1:1"]
    problems = found(wrong, "problem")
    assert problems["h1:h1-eth0"] == ["wired to l1:2; the fabric says l2:2"]
    assert "Host key verification failed" in problems["h2"][0]
