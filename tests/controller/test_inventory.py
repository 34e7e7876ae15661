"""The inventory: addressing plan, ports, and what is written is read back."""

import json
import re
from ipaddress import IPv4Address
from pathlib import Path
from typing import get_args

import pytest
from csaud_controller.base.units import format_duration, format_rate, parse_duration, parse_rate
from csaud_controller.base.yamlfile import ConfigError
from csaud_controller.cli import fabric as fabric_command
from csaud_controller.desired.states import desired_states
from csaud_controller.inventory import End, Fabric, ServerTls, fat_tree, interface, leaf_spine, load_fabric
from csaud_controller.inventory.specs import TargetName
from csaud_controller.paths.equal_cost import host_paths
from csaud_controller.policy.intent import Intent
from csaud_controller.policy.places import ports_of
from csaud_controller.targets import TARGETS
from typer.testing import CliRunner

ROOT = Path(__file__).parents[2]


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


IRREGULAR = """
name: irregular
switches:
  l1: {role: leaf, device_id: 1}
  l2: {role: leaf, device_id: 2}
  s1: {role: spine, device_id: 3}
  s2: {role: spine, device_id: 4}
  x1: {role: core, device_id: 5}
hosts:
  h1: {ip: 10.0.1.1, mac: "02:00:0a:00:01:01"}
  h2: {ip: 10.0.2.1, mac: "02:00:0a:00:02:01"}
edges:
  - {a: l1, a_port: 1, b: s1, b_port: 1}
  - {a: l1, a_port: 2, b: s1, b_port: 2}
  - {a: l1, a_port: 3, b: s2, b_port: 1}
  - {a: l1, a_port: 4, b: l2, b_port: 4}
  - {a: l2, a_port: 1, b: s2, b_port: 2}
  - {a: s1, a_port: 3, b: x1, b_port: 1}
  - {a: s2, a_port: 3, b: x1, b_port: 2}
  - {a: s2, a_port: 4, b: x1, b_port: 3}
  - {a: s2, a_port: 5, b: s1, b_port: 5}
  - {a: l1, a_port: 5, b: h1, b_port: 0}
  - {a: l2, a_port: 5, b: h2, b_port: 0}
"""


def test_choices_that_packets_had_before_they_reach_a_switch(tmp_path: Path) -> None:
    assert leaf_spine(3, 2, 1).choices_below == {"l1": 1, "l2": 1, "l3": 1, "s1": 2, "s2": 2}
    tree = fat_tree(6).choices_below
    assert {(name[0], choices) for name, choices in tree.items()} == {("e", 1), ("a", 3), ("c", 9)}
    file = tmp_path / "irregular.yaml"
    file.write_text(IRREGULAR)
    # two links to one spine count twice, links within a tier not at all; of l1's three and l2's one the more
    assert load_fabric(file).choices_below == {"l1": 1, "l2": 1, "s1": 3, "s2": 3, "x1": 6}


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


@pytest.mark.parametrize("text", ["281474976710655us", "9007199254740993ns"])
def test_long_durations_are_exact(text: str) -> None:
    assert format_duration(parse_duration(text)) == text


@pytest.mark.parametrize(
    ("wrong", "right", "said"),
    [
        (
            "l1: {device_id: 1}",
            "l 1: {device_id: 1}",
            "switches.l 1: expected 1 to 254 letters, digits",
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


LONG = """\
name: pod
link: {rate: 400Gbit}
switches:
  leaf-a-01.pod3.dc1.example.com:
    device_id: 1
    target: soft
    interfaces: {1: Ethernet0, 2: Ethernet8, 3: Ethernet10}
    breakouts: {Ethernet8: {mode: "2x100G[40G]", ports: [2, 3]}}
  spine-01: {role: spine, device_id: 2, interfaces: {1: Ethernet1/1}}
hosts:
  gpu-01:
    nics:
      - {name: eth0, ip: 10.0.1.1, mac: "02:00:0a:00:01:01"}
      - {name: eth1, ip: 10.0.1.2, mac: "02:00:0a:00:01:02"}
edges:
  - {a: leaf-a-01.pod3.dc1.example.com, a_port: Ethernet0, b: spine-01, b_port: Ethernet1/1}
  - {a: leaf-a-01.pod3.dc1.example.com, a_port: Ethernet8, b: gpu-01, b_port: eth0}
  - {a: leaf-a-01.pod3.dc1.example.com, a_port: 3, b: gpu-01, b_port: 1}
"""


LAST_EDGE = "  - {a: leaf-a-01.pod3.dc1.example.com, a_port: 3, b: gpu-01, b_port: 1}\n"


def test_long_names_interfaces_breakouts_and_hosts_with_several_nics(tmp_path: Path) -> None:
    file = tmp_path / "pod.yaml"
    file.write_text(LONG)
    fabric = load_fabric(file)
    leaf = "leaf-a-01.pod3.dc1.example.com"
    assert fabric.attachment("gpu-01") == End(leaf, 2)
    assert str(fabric.nic_at(leaf, 3).ip) == "10.0.1.2"
    assert [fabric.link_of(edge).rate for edge in fabric.edges] == [400 * 10**9, 100 * 10**9, 100 * 10**9]
    assert Fabric.model_validate_json(fabric.to_json()) == fabric
    sources = [
        e for e in desired_states(fabric, Intent())[leaf].entries.values() if e.table == "edge.sources"
    ]
    assert [str(e).split("]")[0] for e in sources] == [
        "edge.sources[port=2 src=10.0.1.1/32", "edge.sources[port=3 src=10.0.1.2/32",
    ]  # fmt: skip
    assert interface(leaf, 3) != interface(leaf.replace("01", "02"), 3)
    assert len(interface(leaf, 126)) <= 15
    assert list(ports_of(fabric, f"{leaf}-spine-01")) == [leaf, "spine-01"]
    assert ports_of(fabric, f"{leaf}:Ethernet8") == {leaf: [2]}


def test_a_breakout_limits_its_ports_where_links_are_not_limited(tmp_path: Path) -> None:
    file = tmp_path / "pod.yaml"
    file.write_text(LONG.replace("rate: 400Gbit", "rate: 0"))
    fabric = load_fabric(file)
    assert [fabric.link_of(edge).rate for edge in fabric.edges] == [0, 100 * 10**9, 100 * 10**9]


def test_every_mistake_of_a_file_is_told_at_once(tmp_path: Path) -> None:
    file = tmp_path / "pod.yaml"
    text = LONG.replace("role: spine", "role: spyne").replace("[2, 3]", "[2]").replace("eth1, ip", "eth0, ip")
    text = text.replace("device_id: 2", "device_id: 1").replace("a_port: 3", "a_port: 2")
    file.write_text(text + "mtu: 100\nmtu: 200\n")
    with pytest.raises(ConfigError) as caught:
        load_fabric(file)
    told = str(caught.value).replace(f"{file}:", "").splitlines()
    assert [line.split(": ")[0:2] for line in told] == [
        ["8", "switches.leaf-a-01.pod3.dc1.example.com.breakouts.Ethernet8"],
        ["9", "switches.spine-01.role"],
        ["9", "switches.spine-01.device_id"],
        ["14", "hosts.gpu-01.nics[1].name"],
        ["18", "edges[2].a_port"],
        ["20", "mtu"],
        ["20", "mtu"],
    ]


@pytest.mark.parametrize(
    ("wrong", "right", "said"),
    [
        ("spine-01", "controller", "switches.controller: controller means something else already"),
        ("b_port: 1}", "b_port: 2}", "edges[2].b_port: gpu-01 has 2 NICs, ports 0 to 1"),
        ("a_port: Ethernet8", "a_port: Ethernet9", "edges[1].a_port: no port is called 'Ethernet9'"),
        ("2: Ethernet8", "2: Ethernet0", "interfaces[2]: Ethernet0 is also port 1"),
        ("2x100G[40G]", "2x100", "breakouts.Ethernet8.mode: expected a breakout mode such as 4x25G"),
        ("gpu-01", "spine-01", "hosts.spine-01: spine-01 is also a switch: expected a name of its own"),
        (
            "ports: [2, 3]}}",
            'ports: [2, 3]}, Ethernet0: {mode: "2x100G", ports: [1, 3]}}',
            "breakouts.Ethernet0.ports[1]: port 3 is already of Ethernet8",
        ),
        (
            "a: leaf-a-01.pod3.dc1.example.com, a_port: 3",
            "a: spine-01, a_port: 0",
            "edges[2].a_port: expected a switch port from 1 to 126, got 0",
        ),
        (
            "a: leaf-a-01.pod3.dc1.example.com, a_port: Ethernet8",
            "a: gpu-01, a_port: eth1",
            "edges[1]: an edge joins a switch to a switch or a host, not two hosts",
        ),
        (
            LAST_EDGE,
            "  - {a: spine-01, a_port: 2, b: spine-01, b_port: 3}\n",
            "edges[2]: an edge joins two nodes, got spine-01 twice",
        ),
        (LAST_EDGE, "", "hosts.gpu-01.nics[1]: NIC 1 of gpu-01 is in no edge: expected one edge to a switch"),
        (LAST_EDGE, "  - 7\n", "edges[2]: expected a mapping, got 7"),
        ("a_port: 3", "a_port: '126'", ""),
        ("a_port: 3", "a_port: '127'", "edges[2].a_port: expected less than or equal to 126, got '127'"),
        ("a_port: 3", "a_port: \u00b2", "edges[2].a_port: no port is called '\u00b2'"),
        ("2: Ethernet8", "2: '8'", "interfaces[2]: expected 1 to 64 letters, digits, _, ., / or -, and not"),
        ("    nics:", "    ip: 10.0.1.1\n    nics:", ""),
        (
            "    nics:",
            "    ip: 10.0.1.9\n    nics:",
            "hosts.gpu-01: ip is that of the first of `nics`: expected",
        ),
        ("rate: 400Gbit", "rate: -5", "link.rate: expected a rate such as 200Mbit or 1Gbit, got -5"),
        ("rate: 400Gbit", "rate: 400Gbit, delay: -1", "link.delay: expected a duration such as 10us"),
        ("hosts:\n", "tls_client: {key: k.pem}\nhosts:\n", "tls_client: cert and key belong together"),
        ("target: soft", "target: hard", "target: expected 'soft', 'bmv2', 'tofino' or 'tofino2'"),
    ],
)
def test_mistakes_about_names_and_ports(tmp_path: Path, wrong: str, right: str, said: str) -> None:
    assert wrong in LONG
    file = tmp_path / "pod.yaml"
    file.write_text(LONG.replace(wrong, right))
    if not said:  # the last that is right
        load_fabric(file)
        return
    with pytest.raises(ConfigError, match=re.escape(said)):
        load_fabric(file)


def test_a_host_that_no_edge_leads_to_is_named(tmp_path: Path) -> None:
    file = tmp_path / "fabric.yaml"
    hosts = "".join(f'  h{n}: {{ip: 10.0.1.{n}, mac: "02:00:0a:00:01:0{n}"}}\n' for n in (1, 2))
    edge = "edges: [{a: l1, a_port: 1, b: h1, b_port: 0}]\n"
    file.write_text(f"name: one\nswitches: {{l1: {{device_id: 1}}}}\nhosts:\n{hosts}{edge}")
    with pytest.raises(ConfigError) as told:
        load_fabric(file)
    assert str(told.value) == f"{file}:5: hosts.h2: h2 is in no edge: expected one edge to a switch"


def test_targets_of_files_are_those_there_are() -> None:
    assert list(get_args(TargetName)) == list(TARGETS)


def test_the_published_schema_is_that_of_the_command() -> None:
    result = CliRunner().invoke(fabric_command.app, ["schema"])
    assert (ROOT / "docs" / "fabric.schema.json").read_text() == result.stdout, (
        "csaud fabric schema > docs/fabric.schema.json"
    )


def test_check_tells_of_files_that_are_missing_and_of_tables_without_room(tmp_path: Path) -> None:
    file = tmp_path / "pod.yaml"
    file.write_text(LONG)
    good = CliRunner().invoke(fabric_command.app, ["check", str(file), "--json"])
    assert good.exit_code == 0, good.output
    assert json.loads(good.stdout)["mistakes"] == []
    file.write_text(LONG + "tls_client: {cacert: ca.pem}\n")
    bad = CliRunner().invoke(fabric_command.app, ["check", str(file)])
    assert bad.exit_code == 2
    assert f"{file}:19: tls_client.cacert: no such file: {tmp_path / 'ca.pem'}" in bad.output.replace(
        "\n", ""
    )


@pytest.mark.parametrize(
    ("wrong", "right", "said"),
    [
        ("mtu: 1500\n", "tls_client: {cacert: .}\n", ":19: tls_client.cacert: {folder}: Is a directory"),
        (
            "target: soft",
            "target: tofino",
            ":3: switches: target tofino needs --program DIR with csaud.p4info",
        ),
    ],
)
def test_check_tells_of_files_that_cannot_be_read_and_of_programs_that_are_missing(
    tmp_path: Path, wrong: str, right: str, said: str
) -> None:
    file = tmp_path / "[pod].yaml"
    file.write_text(f"{LONG}mtu: 1500\n")
    good = CliRunner(env={"COLUMNS": "40"}).invoke(fabric_command.app, ["check", str(file)])
    assert good.output == f"{file}: pod: 2 switches, 1 hosts, 3 links, no mistake\n", "one line, no markup"
    file.write_text(f"{LONG}mtu: 1500\n".replace(wrong, right))
    bad = CliRunner(env={"COLUMNS": "200"}).invoke(fabric_command.app, ["check", str(file)])
    assert bad.exit_code == 2
    assert f"{file}{said.replace('{folder}', str(tmp_path))}" in bad.output


def test_check_reports_every_mistake_for_programs_too(tmp_path: Path) -> None:
    file = tmp_path / "pod.yaml"
    file.write_text(LONG.replace("device_id: 2", "device_id: 1").replace("400Gbit", "fast"))
    result = CliRunner().invoke(fabric_command.app, ["check", str(file), "--json"])
    assert result.exit_code == 2
    assert [(m["line"], m["key"]) for m in json.loads(result.stdout)["mistakes"]] == [
        (2, "link.rate"),
        (9, "switches.spine-01.device_id"),
    ]


def test_a_file_that_is_not_there_is_told_by_check_as_by_other_commands(tmp_path: Path) -> None:
    file = tmp_path / "none.yaml"
    for words in (["check"], ["export", "containerlab"]):
        told = CliRunner(env={"COLUMNS": "200"}).invoke(fabric_command.app, [*words, str(file)])
        assert (told.exit_code, told.stderr) == (2, f"csaud: {file}: no such file\n")
