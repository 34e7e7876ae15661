"""Imports of fabrics: mistakes by their place, what has no place in a fabric, and who is a switch."""

import json
from pathlib import Path

import pytest
import yaml
from csaud_controller.inventory.ports import MAX_PORT

from tests.controller.test_imports import FILES, csaud, imported, wires


def topology(nodes: str, links: str) -> str:
    return f'{{"topology": {{{nodes}, "links": {links}}}}}'


WIRE = '{"endpoints": ["a:e1", "b:eth1"]}'
CLAB = '"nodes": {"a": {"kind": "srl"}, "b": {"kind": "linux"}}'
P4 = '"switches": {"s1": {}}, "hosts": {"h1": {}}'


@pytest.mark.parametrize(
    ("format", "text", "said"),
    [
        ("containerlab", "{", "f.json:1: not valid JSON: Expecting property name"),
        (
            "containerlab",
            topology(CLAB, '[{"endpoints": ["a:e1"]}]'),
            "f.json: topology.links[0]: expected `endpo",
        ),
        (
            "containerlab",
            topology(CLAB, '["a:e1"]'),
            "f.json: topology.links[0]: expected `endpoints`, two of",
        ),
        (
            "containerlab",
            topology(CLAB, '[{"endpoints": ["a:e1", "b"]}]'),
            "an end such as leaf1:e1-1, got 'b'",
        ),
        ("p4-utils", "[]", "f.json: expected a mapping: this is no topology of p4-utils"),
        (
            "p4-utils",
            topology(P4, '[["h1"]]'),
            "f.json: topology.links[0]: expected two nodes and, where need",
        ),
        (
            "p4-utils",
            topology(P4, '[["h1", "s1", "1 fortnight"]]'),
            "f.json: links[0].delay: expected a duration",
        ),
        ("p4-utils", topology(P4, '[["h1", "s1", 1e999]]'), "f.json: links[0].delay: "),
        ("sonic", "[]", "f.json: expected tables such as PORT: this is no config_db.json"),
        (
            "netbox",
            '{"results": [], "next": "http://netbox/?offset=50"}',
            "f.json: next: the answer goes on: ask",
        ),
    ],
)
def test_a_mistake_is_named_by_its_place(format: str, text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "f.json").write_text(text)
    result = csaud("import", format, tmp_path / "f.json")
    assert result.exit_code == 2, result.output
    assert said in result.output
    assert len(result.output.splitlines()) == 1


def test_what_a_policy_cannot_have_is_named(tmp_path: Path) -> None:
    tables = {"PORT": {"Ethernet0": {}}, "SWITCH_TRIMMING": {"GLOBAL": {"dscp_value": "63"}}}
    for dscp, status in (("63", 0), ("64", 2)):
        tables["SWITCH_TRIMMING"]["GLOBAL"]["dscp_value"] = dscp
        (tmp_path / "s1.json").write_text(json.dumps(tables))
        policy = tmp_path / f"policy{dscp}.yaml"
        result = csaud("import", "sonic", tmp_path / "s1.json", "--policy", policy)
        assert (result.exit_code, policy.exists()) == (status, status == 0), result.output
    assert "s1.json: makes no policy: trim_dscp: expected less than or equal to 63" in result.output


def test_csv_without_the_columns_of_cables_is_named(tmp_path: Path) -> None:
    header, *rows = (FILES / "cables.csv").read_text().splitlines()
    (tmp_path / "cables.csv").write_text("\n".join([header.replace("side_b_name", "side_c_name"), *rows]))
    result = csaud("import", "netbox", tmp_path / "cables.csv")
    assert result.exit_code == 2
    assert "cables.csv: no column side_b_name: these are no cables of NetBox" in result.output.replace(
        "\n", ""
    )


@pytest.mark.parametrize(
    ("format", "text", "left"),
    [
        (
            "containerlab",
            topology(CLAB, f'[{WIRE}, {{"type": "host", "endpoint": {{}}}}]'),
            ["topology.links[1]: a link of type host has one end only"],
        ),
        (
            "containerlab",
            topology(CLAB, f'[{WIRE}, {{"endpoints": ["a:e2", "host:x"]}}]'),
            ["topology.links[1]: a:e2 - host:x, not between two nodes"],
        ),
        (
            "containerlab",
            topology(
                CLAB,
                '[{"endpoints": [{"node": "a", "interface": "e1", "mac": "x"},'
                ' {"node": "b", "interface": "eth1"}]}]',
            ),
            ["topology.links[*].endpoints[*].mac"],
        ),
        (
            "p4-utils",
            '{"nodes": [{"id": "a", "isSwitch": 1}, {"id": "b", "isHost": 1}, {"id": "r"}],'
            ' "links": [{"node1": "a", "port1": 1, "node2": "b", "intfName2": "eth1"}]}',
            ["r: neither host nor switch"],
        ),
        (
            "lldp",
            '{"lldp": {"interface": [{"e1": {"chassis": {"b": {}}, "port": {"id": {"type": "ifname",'
            ' "value": "eth1"}}}}, {"e2": {"chassis": {}}},'
            ' {"e3": {"via": "CDP", "chassis": {"c": {}}}}]}}',
            ["f:e2: a neighbour by LLDP without a name", "f:e3: a neighbour by CDP"],
        ),
        (
            "sonic",
            '{"PORT": {"e1": {"mtu": 9100}, "e2": {"mtu": 1500}}, "DEVICE_NEIGHBOR":'
            ' {"e1": {"name": "b",'
            ' "port": "eth1"}, "e9": {"name": "c"}, "e2": {}},'
            ' "CABLE_LENGTH": {"AZURE": {"e1": "3ft"}}}',
            [
                "PORT.*.mtu: several (1500, 9100), and a fabric has one",
                "f: CABLE_LENGTH.e1 3ft: not in metres",
                "f: DEVICE_NEIGHBOR.e2: no port of PORT, or no neighbour",
                "f: DEVICE_NEIGHBOR.e9: no port of PORT, or no neighbour",
            ],
        ),
        (
            "sonic",
            '{"PORT": {"e1": {"index": 1, "subport": 1, "speed": 25000}, "e2": {"index":'
            ' 1, "subport": 2,'
            ' "speed": 10000}, "e3": {}}, "BREAKOUT_CFG": {"e3": {"brkout_mode": "2x10G"}},'
            ' "DEVICE_NEIGHBOR":'
            ' {"e1": {"name": "b", "port": "eth1"}}}',
            [
                "BREAKOUT_CFG.e3.brkout_mode 2x10G: PORT does not say its parts",
                "PORT.e1: a breakout into ports of several speeds, or of none",
            ],
        ),
    ],
)
def test_what_has_no_place_in_a_fabric_is_left_and_the_rest_is_wired(
    format: str, text: str, left: list[str], tmp_path: Path
) -> None:
    (tmp_path / "f.json").write_text(text)
    switch = "f" if format in ("lldp", "sonic") else "a"  # of whom the file is
    fabric, told = imported(tmp_path, format, tmp_path / "f.json", "--switch", switch, "--host", "b")
    assert ([*fabric.switches], [*fabric.hosts], len(fabric.edges)) == ([switch], ["b"], 1)
    assert [line for line in told if line in left] == left


def test_policies_of_switches_that_differ_are_told(tmp_path: Path) -> None:
    for name, size in (("s1", "128"), ("s2", "256")):
        rows = {"Ethernet0": {"name": "s2" if name == "s1" else "s1", "port": "Ethernet0"}}
        trimming = {"GLOBAL": {"size": size}}
        tables = {"PORT": {"Ethernet0": {}}, "DEVICE_NEIGHBOR": rows, "SWITCH_TRIMMING": trimming}
        (tmp_path / f"{name}.json").write_text(json.dumps(tables))
    policy = tmp_path / "policy.yaml"
    _, left = imported(tmp_path, "sonic", tmp_path / "s1.json", tmp_path / "s2.json", "--policy", policy)
    assert "s2: SWITCH_TRIMMING|GLOBAL size 256: another switch has 128, and a fabric has one" in left
    assert yaml.safe_load(policy.read_text()) == {"trim_size": 128}


def cable(number: int, **others: object) -> dict[str, object]:
    def end(device: str, name: str) -> list[object]:
        return [{"object_type": "dcim.interface", "object": {"name": name, "device": {"name": device}}}]

    ends = {"a_terminations": end("leaf1", f"swp{number}"), "b_terminations": end(f"gpu{number}", "eth0")}
    return {"id": number, "status": "connected", **ends, **others}


def test_cables_of_no_known_length_or_end_are_told(tmp_path: Path) -> None:
    nameless = [{"object_type": "dcim.interface", "object": {"name": "", "device": {"name": "gpu3"}}}]
    cables = [
        cable(1, length=3, length_unit="parsec"),
        cable(2, length=3, length_unit="m"),
        cable(3, b_terminations=nameless),
    ]
    (tmp_path / "cables.json").write_text(json.dumps(cables))
    fabric, left = imported(tmp_path, "netbox", tmp_path / "cables.json", "--switch", "leaf*")
    assert [edge.delay for edge in fabric.edges] == [None, 15]
    assert "cable 1: a length of 3 parsec" in left
    assert "cable 3: the name of a device or interface is missing" in left
    header = "side_a_device,side_a_type,side_a_name,side_b_device,side_b_type,side_b_name"
    rows = (
        "leaf1,dcim.interface,swp1,gpu1,dcim.interface,eth0\nleaf2,dcim.interface,swp2,gpu1,dcim.interface,"
    )
    (tmp_path / "cables.csv").write_text(f"{header}\n{rows}\n")
    fabric, left = imported(tmp_path, "netbox", tmp_path / "cables.csv", "--switch", "leaf*")
    assert len(fabric.edges) == 1
    assert "line 3: leaf2:swp2 - gpu1:: the name of a device or interface is missing" in left


NAMED_PORTS = topology(
    '"switches": {"s1": {}, "s2": {}, "x": {}}, "hosts": {"h1": {}, "h2": {}, "h3": {}}',
    '[["h1", "s1-p1"], ["s1-p2", "s2-p2"], ["h2", "s2-p1"], ["h3", "s2-p3"], ["x-p1", "s1-p3"]]',
)
SAVED = json.dumps(
    {
        "nodes": [{"id": "s1", "isSwitch": True}, {"id": "h1", "isHost": True}, {"id": "h3", "isHost": True}],
        "links": [
            {"node1": "h1", "node2": "s1", "port2": 1, "intfName1": "h1-eth0"},
            {"node1": "h3", "node2": "s1", "port2": 2, "intfName1": "h3-eth0"},
        ],
    }
)


@pytest.mark.parametrize(
    ("format", "text", "words", "wired"),
    [
        (
            "p4-utils",
            NAMED_PORTS,
            ("--switch", "h3"),
            ["h1:0 s1:1", "s1:2 s2:2", "h2:0 s2:1", "h3:1 s2:3", "x:1 s1:3"],
        ),
        (
            "p4-utils",
            NAMED_PORTS,
            ("--host", "x"),
            ["h1:0 s1:1", "s1:2 s2:2", "h2:0 s2:1", "h3:0 s2:3", "x:0 s1:3"],
        ),
        ("p4-utils", SAVED, ("--switch", "h3"), ["h1:h1-eth0 s1:1", "h3:h3-eth0 s1:2"]),
        ("containerlab", topology(CLAB, f"[{WIRE}]"), ("--switch", "b"), ["a:e1 b:eth1"]),
    ],
)
def test_a_node_is_what_one_says_whatever_the_file_says(
    format: str, text: str, words: tuple[str, str], wired: list[str], tmp_path: Path
) -> None:
    (tmp_path / "f.json").write_text(text)
    fabric, _ = imported(tmp_path, format, tmp_path / "f.json", *words)
    assert wires(fabric) == wired
    assert words[1] in (fabric.switches if words[0] == "--switch" else fabric.hosts)


def test_a_neighbour_that_says_what_it_is_may_be_something_else_by_a_pattern(tmp_path: Path) -> None:
    def neighbour(name: str, kind: str) -> dict[str, object]:
        chassis = {name: {"capability": [{"type": kind, "enabled": True}]}}
        return {"chassis": chassis, "port": {"id": {"type": "ifname", "value": f"{name}-0"}}}

    interfaces = [{"swp1": neighbour("gpu1", "Station")}, {"swp2": neighbour("smart1", "Bridge")}]
    (tmp_path / "leaf.json").write_text(json.dumps({"lldp": {"interface": interfaces}}))
    for words, hosts in (
        ((), ["gpu1"]),
        (("--host", "smart*"), ["gpu1", "smart1"]),
        (("--switch", "gpu*"), []),
    ):
        fabric, _ = imported(tmp_path, "lldp", tmp_path / "leaf.json", "--switch", "leaf", *words)
        assert [*fabric.hosts] == hosts


def test_ports_beyond_those_of_a_switch_are_left_with_their_cables(tmp_path: Path) -> None:
    ports = {f"Ethernet{number}": {} for number in range(MAX_PORT + 2)}
    rows = {
        f"Ethernet{number}": {"name": f"gpu{number}", "port": "eth0"}
        for number in (0, MAX_PORT - 1, MAX_PORT)
    }
    above = {
        port: {"name": "big", "port": f"Ethernet{number}"}
        for port, number in (("e1", 1), ("e2", MAX_PORT + 1))
    }
    for name, found in (
        ("big", {"PORT": ports, "DEVICE_NEIGHBOR": rows}),
        ("spine", {"PORT": {"e1": {}, "e2": {}}, "DEVICE_NEIGHBOR": above}),
    ):
        (tmp_path / f"{name}.json").write_text(json.dumps(found))
    fabric, left = imported(tmp_path, "sonic", tmp_path / "big.json", tmp_path / "spine.json")
    assert [*fabric.hosts] == ["gpu0", f"gpu{MAX_PORT - 1}"]
    assert [(edge.a, edge.a_port) for edge in fabric.edges] == [("big", 1), ("big", MAX_PORT), ("spine", 1)]
    assert f"big: PORT Ethernet{MAX_PORT} and what follows: a switch has {MAX_PORT} ports" in left
    assert f"big: DEVICE_NEIGHBOR.Ethernet{MAX_PORT}: at a port that is left out" in left
    assert "spine: DEVICE_NEIGHBOR.e2: at a port that is left out" in left


def test_export_is_told_on_the_terminal_with_what_was_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "fabric.yaml").write_text(
        "name: x\nswitches: {l1: {device_id: 1}}\n"
        'hosts: {h1: {ip: 10.0.1.1, mac: "02:00:0a:00:01:01"}}\n'
        "edges: [{a: l1, a_port: 1, b: h1, b_port: 0, delay: 5us}]\n"
    )
    result = csaud("export", "containerlab", tmp_path / "fabric.yaml")
    assert yaml.safe_load(result.stdout)["topology"]["links"] == [{"endpoints": ["l1:eth1", "h1:eth1"]}]
    assert result.stderr.startswith("left out: mtu, link, ")
    assert "edges[*].delay" in result.stderr
    (link := tmp_path / "link.yaml").symlink_to(tmp_path / "there.yaml")
    assert csaud("export", "containerlab", tmp_path / "fabric.yaml", "-o", link).exit_code == 0
    assert link.is_symlink() and (tmp_path / "there.yaml").read_text() == result.stdout
    monkeypatch.setenv("FORCE_COLOR", "1")  # a terminal: what is left out looks as it does in a file
    assert csaud("export", "containerlab", tmp_path / "fabric.yaml").stderr == result.stderr
