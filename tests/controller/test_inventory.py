"""The inventory: addressing plan, ports, and what is written is read back."""

import re
from ipaddress import IPv4Address
from pathlib import Path

import pytest
from csaud_controller.base.units import format_duration, format_rate, parse_duration, parse_rate
from csaud_controller.base.yamlfile import ConfigError
from csaud_controller.desired.states import desired_states
from csaud_controller.inventory import End, Fabric, ServerTls, fat_tree, leaf_spine, load_fabric
from csaud_controller.paths.equal_cost import host_paths
from csaud_controller.policy.intent import Intent


def test_names_ports_and_addresses_of_a_leaf_spine_fabric() -> None:
    fabric = load_fabric("leaf-spine-4x3")
    assert list(fabric.switches) == ["l1", "l2", "l3", "l4", "s1", "s2", "s3"]
    assert len(fabric.hosts) == 8
    assert fabric.peers["l2"][3] == End("s3", 2)  # port j of a leaf: spine j, whose port k is leaf k
    assert fabric.attachment("h4") == End("l2", 5)  # hosts come after the uplinks
    assert fabric.hosts["h4"].ip == IPv4Address("10.0.2.2")
    assert fabric.hosts["h4"].mac == "02:00:0a:00:02:02"
    assert fabric.uplinks("l1") == [1, 2, 3]
    assert fabric.host_ports("l1") == [4, 5]
    assert fabric.uplinks("s1") == [1, 2, 3, 4]
    assert [spec.device_id for spec in fabric.switches.values()] == list(range(1, 8))


def test_hosts_a_leaf_may_be_chosen() -> None:
    assert len(load_fabric("leaf-spine-2x3x4").hosts) == 8
    assert load_fabric("leaf-spine-2x3x4").name == "leaf-spine-2x3x4"


def test_a_fat_tree_of_four_ports() -> None:
    fabric = load_fabric("fat-tree-4")
    roles = [spec.role for spec in fabric.switches.values()]
    assert (roles.count("edge"), roles.count("aggregation"), roles.count("core")) == (8, 8, 4)
    assert (len(fabric.hosts), len(fabric.edges), fabric.links_via) == (16, 48, "memory")
    assert all(len(fabric.peers[name]) == 4 for name in fabric.switches)
    assert fabric.peers["e3"] == {
        1: End("a3", 3), 2: End("a4", 3), 3: End("h5", 0), 4: End("h6", 0),
    }  # fmt: skip
    assert fabric.peers["a4"] == {1: End("c3", 2), 2: End("c4", 2), 3: End("e3", 2), 4: End("e4", 2)}
    assert fabric.peers["c3"] == {pod: End(f"a{2 * pod}", 1) for pod in (1, 2, 3, 4)}
    assert fabric.hosts["h6"].ip == IPv4Address("10.0.3.2")
    assert fabric.hosts["h6"].mac == "02:00:0a:00:03:02"


def test_paths_of_a_fat_tree() -> None:
    fabric = fat_tree(4)
    counts = {dst: len(host_paths(fabric, "h1", dst)) for dst in ("h2", "h3", "h5", "h16")}
    assert counts == {"h2": 1, "h3": 2, "h5": 4, "h16": 4}
    assert [end.node for end in host_paths(fabric, "h1", "h16")[0]] == ["e1", "a1", "c1", "a7", "e8"]
    state = desired_states(fabric, Intent())["a1"]
    groups = {g.id: [m.member for m in g.members] for g in state.groups.values()}
    assert groups[1] == [3], "down to its own pod"
    assert groups[8] == [1, 2], "up to every core it has"


@pytest.mark.parametrize("k", [2, 6, 8])
def test_fat_trees_of_other_sizes(k: int) -> None:
    fabric = fat_tree(k)
    assert len(fabric.hosts) == k**3 // 4
    assert len(fabric.switches) == 5 * k * k // 4
    assert len(host_paths(fabric, "h1", f"h{k**3 // 4}")) == (k // 2) ** 2


@pytest.mark.parametrize("name", ["fat-tree-3", "fat-tree-0", "fat-tree-24", "leaf-spine-0x1"])
def test_sizes_that_cannot_be_are_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=f"{name}: "):
        load_fabric(name)


def test_relative_paths_of_certificates_start_at_the_file(tmp_path: Path) -> None:
    file = tmp_path / "fabric.yaml"
    file.write_text(
        "name: one\ntls: {cert: a.pem, key: /etc/a.key}\ntls_client: {cacert: ca.pem}\n"
        "switches: {l1: {device_id: 1, tls: {cert: b.pem, key: b.key}}}\n"
    )
    fabric = load_fabric(file)
    assert fabric.tls == ServerTls(cert=tmp_path / "a.pem", key=Path("/etc/a.key"))
    assert fabric.tls_client is not None
    assert fabric.tls_client.cacert == tmp_path / "ca.pem"
    assert fabric.switches["l1"].tls == ServerTls(cert=tmp_path / "b.pem", key=tmp_path / "b.key")
    assert Fabric.model_validate_json(fabric.to_json()) == fabric


def test_fabric_json_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    fabric = leaf_spine(2, 2).with_addresses({"l1": "unix:/run/csaud/x/l1.sock"})
    file = tmp_path / "fabric.json"
    file.write_text(fabric.to_json())
    assert load_fabric(file) == fabric
    assert load_fabric(file).switches["l1"].p4runtime == "unix:/run/csaud/x/l1.sock"


@pytest.mark.parametrize(
    ("text", "value"), [("200Mbit", 200_000_000), ("1.5 Gbit/s", 1_500_000_000), ("10kbit", 10_000), (0, 0)]
)
def test_rates(text: str | int, value: int) -> None:
    assert parse_rate(text) == value
    assert parse_rate(format_rate(value)) == value


@pytest.mark.parametrize(
    ("text", "value"), [("10us", 10_000), ("1.5s", 1_500_000_000), ("2min", 120 * 10**9), (7, 7)]
)
def test_durations(text: str | int, value: int) -> None:
    assert parse_duration(text) == value
    assert parse_duration(format_duration(value)) == value


@pytest.mark.parametrize(
    ("wrong", "right", "said"),
    [
        (
            "l1: {device_id: 1}",
            "l 1: {device_id: 1}",
            "switches.l 1: expected 1 to 8 letters, digits or _",
        ),
        ("10.0.1.1", "224.0.0.1", "hosts.h1.ip: expected the address of a host, got 224.0.0.1"),
        ("10.0.1.1", "127.0.0.1", "hosts.h1.ip: expected the address of a host, got 127.0.0.1"),
        ("{l1: {device_id: 1}}", "{}", "switches: expected at least 1, got 0"),
        ("{l1: {device_id: 1}}", "[l1]", "switches: expected a mapping, got list"),
        ("{device_id: 1}", "1", "switches.l1: expected a mapping, got 1"),
    ],
)
def test_mistakes_in_a_file_are_told_in_its_words(tmp_path: Path, wrong: str, right: str, said: str) -> None:
    good = (
        "name: one\nswitches: {l1: {device_id: 1}}\n"
        'hosts: {h1: {ip: 10.0.1.1, mac: "02:00:0a:00:01:01"}}\n'
        "edges: [{a: l1, a_port: 1, b: h1, b_port: 0}]\n"
    )
    file = tmp_path / "fabric.yaml"
    file.write_text(good)
    load_fabric(file)
    file.write_text(good.replace(wrong, right))
    with pytest.raises(ConfigError, match=re.escape(said)):
        load_fabric(file)
