"""Hosts with IPv6 addresses: the inventory's, and what switches hold for them."""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Address, IPv6Network
from pathlib import Path

import pytest
from csaud_controller.base.yamlfile import ConfigError
from csaud_controller.control.peers import Reporters
from csaud_controller.desired.states import desired_states
from csaud_controller.inventory import Fabric, load_fabric
from csaud_controller.paths.equal_cost import prefixes
from csaud_controller.policy.intent import Intent

BOTH = load_fabric("leaf-spine-2x2").with_ipv6()

INVENTORY = """\
name: two
switches: {l1: {device_id: 1}}
hosts:
  h1: {ip: 10.0.1.1, ip6: %s, mac: "02:00:00:00:00:01"}
  h2: {ip: 10.0.1.2, ip6: %s, mac: "02:00:00:00:00:02"}
edges:
  - {a: l1, a_port: 1, b: h1, b_port: 0}
  - {a: l1, a_port: 2, b: h2, b_port: 0}
"""


def written(folder: Path, first: str, second: str) -> Fabric:
    file = folder / "fabric.yaml"
    file.write_text(INVENTORY % (first, second))
    return load_fabric(file)


def entries(switch: str, table: str) -> dict[str, str]:
    state = desired_states(BOTH, Intent())[switch]
    found = (str(each).split(" -> ") for each in state.entries.values() if each.table == table)
    return {key.removeprefix(table): action for key, action in found}


def test_hosts_of_a_fabric_can_be_given_addresses_beside_their_own() -> None:
    assert [str(host.ip6) for host in BOTH.hosts.values()] == [
        "fd00:a00:1::1", "fd00:a00:1::2", "fd00:a00:2::1", "fd00:a00:2::2",
    ]  # fmt: skip
    assert Fabric.model_validate_json(BOTH.to_json()) == BOTH
    assert BOTH.with_ipv6() == BOTH, "those that have one keep it"


def test_a_leaf_has_a_64_of_its_own_and_hosts_that_are_mixed_have_128() -> None:
    assert prefixes(BOTH) == {
        "l1": [IPv4Network("10.0.1.0/24"), IPv6Network("fd00:a00:1::/64")],
        "l2": [IPv4Network("10.0.2.0/24"), IPv6Network("fd00:a00:2::/64")],
    }
    hosts = dict(BOTH.hosts)
    hosts["h3"] = hosts["h3"].model_copy(update={"ip6": IPv6Address("fd00:a00:1::3")})
    mixed = prefixes(BOTH.changed(hosts=hosts))
    assert mixed["l1"][1:] == [IPv6Network("fd00:a00:1::1"), IPv6Network("fd00:a00:1::2")]
    assert mixed["l2"][1:] == [IPv6Network("fd00:a00:1::3"), IPv6Network("fd00:a00:2::2")]
    assert mixed["l2"][:1] == [IPv4Network("10.0.2.0/24")], "IPv4's are not mixed for it"


def test_switches_route_them_and_take_them_from_their_own_hosts_alone() -> None:
    assert entries("l1", "route.ipv6_lpm") == {
        "[dst=fd00:a00:1::1/128]": "route.set_group6(group=32771)",
        "[dst=fd00:a00:1::2/128]": "route.set_group6(group=32772)",
        "[dst=fd00:a00:2::/64]": "route.set_group6(group=2)",
    }
    assert entries("l1", "edge.sources6") == {
        "[port=3 src=fd00:a00:1::1/128]": "edge.belongs6()",
        "[port=4 src=fd00:a00:1::2/128]": "edge.belongs6()",
    }
    assert entries("s1", "edge.sources6") == {}
    assert len(entries("s1", "route.ipv6_lpm")) == 2


def test_a_fabric_without_them_asks_for_no_such_entry() -> None:
    states = desired_states(load_fabric("leaf-spine-2x2"), Intent())
    assert not [
        each
        for state in states.values()
        for each in state.entries.values()
        if "6" in each.table.split("ipv4")[0]
    ]


def test_reports_come_from_either_address_of_a_host() -> None:
    reporters = Reporters(BOTH)
    assert reporters.may_connect("fd00:a00:1::1")
    assert reporters.may_report("fd00:a00:1::1", "fd00:a00:1::1")
    assert not reporters.may_report("fd00:a00:1::1", "fd00:a00:1::2")
    assert not reporters.may_connect("fd00:a00:1::9")
    assert BOTH.host_at["fd00:a00:2::2"] == "h4"


def test_an_inventory_may_say_one_however_it_is_spelled(tmp_path: Path) -> None:
    fabric = written(tmp_path, '"2001:DB8::0:1"', '"2001:db8::2"')
    assert str(fabric.hosts["h1"].ip6) == "2001:db8::1"
    assert prefixes(fabric)["l1"][1:] == [IPv6Network("2001:db8::/64")]


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("fe80::1", "hosts.h1.ip6: expected a global or unique local address, got fe80::1"),
        ("2001:db8::1%eth0", "hosts.h1.ip6"),
        ("ff02::1", "expected the address of a host, got ff02::1"),
        ("::1", "expected the address of a host"),
        ("::", "expected the address of a host"),
        ("::ffff:10.0.1.1", "expected the address of a host"),
        ("10.0.1.1", "hosts.h1.ip6"),
        ("2001:DB8:0::2", "2001:db8::2 is also that of h1"),
    ],
)
def test_one_that_is_no_hosts_is_refused_by_name(tmp_path: Path, address: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message.replace("(", "\\(")) as refused:
        written(tmp_path, f'"{address}"', '"2001:db8::2"')
    assert "fabric.yaml" in str(refused.value)
