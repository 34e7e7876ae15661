"""Fabric files out of other tools' files (imports/README.md says whose), and into them."""

import json
from pathlib import Path

import pytest
import yaml
from csaud_controller.cli import fabric as fabric_command
from csaud_controller.inventory import Fabric, load_fabric
from csaud_controller.inventory.ports import MAX_PORT
from csaud_controller.policy.file import PolicyFile
from typer.testing import CliRunner, Result

FILES = Path(__file__).with_name("imports")


def csaud(*words: str | Path) -> Result:
    return CliRunner().invoke(fabric_command.app, [*map(str, words)])


def imported(tmp_path: Path, format: str, *words: str | Path) -> tuple[Fabric, list[str]]:
    """The fabric as it is read back from the file, and what was left out."""
    out = tmp_path / "fabric.yaml"
    result = csaud("import", format, *words, "-o", out, "--json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    fabric = load_fabric(out)
    assert fabric == Fabric.model_validate(told["fabric"])
    for line in (*told["left_out"], *told["assumed"]):
        assert line in out.read_text(), "the file says itself what it lacks"
    return fabric, told["left_out"]


def wires(fabric: Fabric) -> list[str]:
    def end(node: str, port: int) -> str:
        if node in fabric.hosts:
            return f"{node}:{fabric.hosts[node].all_nics[port].name or port}"
        return f"{node}:{fabric.switches[node].interfaces.get(port, port)}"

    return [f"{end(e.a, e.a_port)} {end(e.b, e.b_port)}" for e in fabric.edges]


def test_containerlab(tmp_path: Path) -> None:
    fabric, left = imported(tmp_path, "containerlab", FILES / "clos01.clab.yml")
    assert fabric.name == "clos01"
    assert {name: spec.role for name, spec in fabric.switches.items()} == {
        "leaf1": "leaf", "leaf2": "leaf", "spine": "spine",
    }  # fmt: skip
    assert wires(fabric) == [
        "leaf1:e1-1 spine:e1-1",
        "leaf2:e1-1 spine:e1-2",
        "client1:eth1 leaf1:e1-2",
        "client2:eth1 leaf2:e1-2",
    ]
    assert "topology.nodes.*.type (3 times)" in left


def test_a_topology_without_a_name_has_that_of_its_file(tmp_path: Path) -> None:
    lab = tmp_path / "pod7.clab.yml"
    lab.write_text((FILES / "clos01.clab.yml").read_text().replace("name: clos01\n", ""))
    fabric, _ = imported(tmp_path, "containerlab", lab)
    assert fabric.name == "pod7"


def test_what_containerlab_has_and_a_fabric_has_not_is_named() -> None:
    result = csaud("import", "containerlab", FILES / "br01.clab.yml")
    assert result.exit_code == 2
    assert "srl1 is not connected to the rest of the fabric" in result.output


def test_export_to_containerlab_and_back(tmp_path: Path) -> None:
    fabric, _ = imported(tmp_path, "containerlab", FILES / "clos01.clab.yml")
    lab = tmp_path / "again.clab.yml"
    result = csaud("export", "containerlab", tmp_path / "fabric.yaml", "-o", lab, "--switch-kind", "sonic-vs")
    assert result.exit_code == 0, result.output
    assert yaml.safe_load(lab.read_text())["topology"]["links"][0] == {
        "endpoints": ["leaf1:e1-1", "spine:e1-1"]
    }
    again, _ = imported(tmp_path, "containerlab", lab)
    assert wires(again) == wires(fabric)
    told = json.loads(csaud("export", "containerlab", tmp_path / "fabric.yaml", "--json").stdout)
    assert "switches.*.device_id" in told["left_out"]


def test_p4_utils_in_its_three_forms(tmp_path: Path) -> None:
    fabric, left = imported(tmp_path, "p4-utils", FILES / "pod-topo.json")
    assert wires(fabric)[2:4] == ["s1:3 s3:1", "s1:4 s4:2"]
    assert (str(fabric.hosts["h4"].ip), fabric.hosts["h4"].mac) == ("10.0.4.4", "08:00:00:00:04:44")
    assert [spec.role for spec in fabric.switches.values()] == ["leaf", "leaf", "spine", "spine"]
    assert "switches.*.runtime_json (4 times)" in left
    fabric, left = imported(tmp_path, "p4-utils", FILES / "p4app.json")
    assert [(e.rate, e.delay) for e in fabric.edges] == [
        (10**8, None), (10**8, 2_000_000), (4 * 10**7, None), (10**8, None),
    ]  # fmt: skip
    assert fabric.switches["s3"].device_id == 7
    assert str(fabric.hosts["h1"].ip) == "10.1.0.1"
    assert "r1: a router, which no P4 program runs" in left
    assert "link s3: - r1:port_S3: not between nodes of the fabric" in left
    fabric, _ = imported(tmp_path, "p4-utils", FILES / "topology.json")
    assert wires(fabric) == ["s1:1 s2:1", "h1:h1-eth0 s1:2", "h2:h2-eth0 s2:2"]
    assert fabric.hosts["h2"].mac == "00:00:0a:00:02:02"


def test_an_address_of_p4_utils_may_have_no_network(tmp_path: Path) -> None:
    text = (FILES / "pod-topo.json").read_text()
    assert "10.0.4.4/24" in text
    (tmp_path / "plain.json").write_text(text.replace("10.0.4.4/24", "10.0.4.4"))
    fabric, _ = imported(tmp_path, "p4-utils", tmp_path / "plain.json")
    assert str(fabric.hosts["h4"].ip) == "10.0.4.4"


def test_sonic(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    fabric, left = imported(tmp_path, "sonic", FILES / "config_db.json", "--policy", policy)
    assert wires(fabric) == [
        "leaf-01:Ethernet124 ARISTA04T1:Ethernet1",
        "leaf-01:Ethernet120 ARISTA03T1:Ethernet1",
        "leaf-01:Ethernet0 Servers1:eth0",
        "leaf-01:Ethernet4 Servers23:eth0",
    ]
    assert [(e.rate, e.delay) for e in fabric.edges][1:3] == [(40 * 10**9, 200), (100 * 10**9, 25)]
    assert fabric.switches["leaf-01"].breakouts["Ethernet0"].ports == (1, 2)
    assert yaml.safe_load(policy.read_text()) == {"trim_size": 128, "trim_dscp": 48, "trim_priority": 6}
    assert PolicyFile.model_validate(yaml.safe_load(policy.read_text())).policy.trim_size == 128
    assert "PORT.*.lanes (4 times)" in left
    flat, left = imported(tmp_path, "sonic", FILES / "config_db_flat.json")
    assert wires(flat) == [
        "config_db_flat:Ethernet0 switch-01t1:Ethernet8",
        "config_db_flat:Ethernet4 server1:eth0",
    ]
    assert "config_db_flat: SWITCH_TRIMMING|GLOBAL dscp_value from-tc" in left


def test_sonic_files_of_both_ends_of_a_cable_are_one_cable(tmp_path: Path) -> None:
    for number, peer in ((1, 2), (2, 1)):
        rows = {
            "DEVICE_METADATA": {"localhost": {"hostname": f"sw{number}"}},
            "PORT": {"Ethernet0": {"speed": "10000"}, "Ethernet4": {"speed": "10000"}},
            "DEVICE_NEIGHBOR": {
                "Ethernet0": {"name": f"sw{peer}", "port": "Ethernet0"},
                "Ethernet4": {"name": f"server{number}", "port": "eth0"},
            },
        }
        (tmp_path / f"{number}.json").write_text(json.dumps(rows))
    fabric, _ = imported(tmp_path, "sonic", tmp_path / "1.json", tmp_path / "2.json")
    assert wires(fabric) == [
        "sw1:Ethernet0 sw2:Ethernet0",
        "sw1:Ethernet4 server1:eth0",
        "sw2:Ethernet4 server2:eth0",
    ]


def test_netbox(tmp_path: Path) -> None:
    fabric, left = imported(tmp_path, "netbox", FILES / "cables.csv")
    assert wires(fabric)[0] == "Device-3:Interface-1 Device-4:Interface-1"
    assert [e.delay for e in fabric.edges] == [15, 15, None, None]
    assert left == [
        "Device 3:Interface 3 - Device 4:Interface 3: planned",
        "line 5: Device 3:Console 1 - Device 4:Port 1: of a dcim.consoleport, no interface",
    ]
    fabric, left = imported(tmp_path, "netbox", FILES / "cables.json", "--name", "rest")
    assert (fabric.name, wires(fabric)) == ("rest", ["leaf1:swp1 spine1:swp1", "leaf1:swp2 gpu1:eth0"])
    assert left[:2] == ["cable 3: not of two ends", "cable 4: of a dcim.frontport, no interface"]


@pytest.mark.parametrize("name", ["ns-1.example.com.json", "ns-1.json0.json"])
def test_lldp(tmp_path: Path, name: str) -> None:
    fabric, _ = imported(tmp_path, "lldp", FILES / name, "--switch", "ns-2*")
    assert wires(fabric) == [f"{name.removesuffix('.json')}:eth0 ns-2.example.com:eth1"]
    result = csaud("import", "lldp", FILES / name)
    assert result.exit_code == 2
    assert "no node is a switch: name those that are by --switch" in result.output


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("import", "visio", "x.json"), 2, "unknown format 'visio'; expected one of containerlab, p4-utils"),
        (
            ("import", "sonic", FILES / "cables.json"),
            2,
            "PORT: missing: this is no config_db.json of a switch",
        ),
        (("import", "lldp", FILES / "config_db.json"), 2, "lldp: missing: this is no output of lldpcli"),
        (
            ("import", "netbox", FILES / "config_db.json"),
            2,
            "results: missing: this is no answer of /api/dcim",
        ),
        (("import", "containerlab", FILES / "p4app.json"), 2, "topology.nodes: missing"),
        (("import", "p4-utils", FILES / "cables.json"), 2, "no topology of p4-utils"),
        (("import", "p4-utils", FILES / "none.json"), 2, "none.json: no such file"),
        (
            ("import", "p4-utils", FILES / "p4app.json", FILES / "topology.json"),
            2,
            "topology.json: p4-utils has",
        ),
        (
            ("import", "sonic", FILES / "config_db.json", FILES / "config_db.json"),
            2,
            "leaf-01 is also that of",
        ),
        (("import", "netbox", FILES), 2, f"{FILES}: cannot be read: Is a directory"),
        (("export", "visio", FILES / "none.json"), 2, "unknown format 'visio'"),
    ],
)
def test_files_of_something_else_are_refused(words: tuple, status: int, said: str) -> None:
    result = csaud(*words)
    assert result.exit_code == status, result.output
    assert said in result.output.replace("\n", " ")


@pytest.mark.parametrize(
    ("format", "text"),
    [
        ("p4-utils", '{"topology": {"links": [["h1", "s1", {"bw": "10Mbps"}]],'
                     ' "hosts": {"h1": {}}, "switches": {"s1": {}}}}'),
        ("sonic", '{"PORT": {"Ethernet0": {"lanes": "1", "mtu": "jumbo"}}}'),
        ("containerlab", '{"topology": {"nodes": {"a": "linux"}, "links": []}}'),
        ("containerlab", "[" * 100_000),
        ("sonic", '{"PORT": {"Ethernet0": {"mtu": ' + "9" * 5000 + "}}}"),
        ("p4-utils", '{"topology": {"links": [["h1", "s1", {"bw": 1e999}]],'
                     ' "hosts": {"h1": {}}, "switches": {"s1": {}}}}'),
    ],
)  # fmt: skip
def test_a_value_that_cannot_be_is_one_line(format: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "wrong.json").write_text(text)
    result = csaud("import", format, tmp_path / "wrong.json")
    assert result.exit_code == 2 and len(result.output.strip().splitlines()) == 1, result.output
    assert "wrong.json" in result.output


def test_a_csv_file_that_ends_within_a_line_makes_no_fabric(tmp_path: Path) -> None:
    lines = (FILES / "cables.csv").read_text().splitlines()
    (tmp_path / "cut.csv").write_text("\n".join([*lines[:2], lines[2][:40]]))
    result = csaud("import", "netbox", tmp_path / "cut.csv", "-o", tmp_path / "fabric.yaml")
    assert result.exit_code == 2, result.output
    assert "cut.csv:3: side_b_type, side_b_name: missing" in result.output.replace("\n", "")
    assert not (tmp_path / "fabric.yaml").exists()


@pytest.mark.parametrize("cables", ["[1, 2]", '[{"a_terminations": [1], "b_terminations": [{}]}]'])
def test_cables_that_are_none_are_named_by_their_place(tmp_path: Path, cables: str) -> None:
    (tmp_path / "odd.json").write_text(cables)
    result = csaud("import", "netbox", tmp_path / "odd.json")
    assert result.exit_code == 2, result.output
    assert "odd.json: [0]" in result.output
    assert "object has no" not in result.output


@pytest.mark.parametrize("key", ["\n- evil: 1", "\ud800", "\u2028x"])
def test_what_a_key_is_made_of_stays_in_the_comment_that_tells_of_it(key: str, tmp_path: Path) -> None:
    topology = {"links": [["h1", "s1"]], "hosts": {"h1": {}}, "switches": {"s1": {}}, key: 1}
    (tmp_path / "odd.json").write_text(json.dumps({"topology": topology}))
    (out := tmp_path / "fabric.yaml").write_text("name: before\n")
    result = csaud("import", "p4-utils", tmp_path / "odd.json", "-o", out)
    assert result.exit_code == 0, result.output
    plain = csaud("import", "p4-utils", tmp_path / "odd.json")
    assert out.read_text() == plain.stdout
    comments = [line for line in out.read_text().splitlines() if line.startswith("#")]
    assert sum("evil" in line or "ud800" in line or "u2028" in line for line in comments) == 1
    assert [*load_fabric(out).switches] == ["s1"]


@pytest.mark.parametrize("name", ["cables.csv", "cables.json"])
def test_a_byte_order_mark_as_spreadsheets_write_it_is_no_part_of_the_file(tmp_path: Path, name: str) -> None:
    plain, _ = imported(tmp_path, "netbox", FILES / name)
    marked = tmp_path / name
    marked.write_text((FILES / name).read_text(encoding="utf-8"), encoding="utf-8-sig")
    fabric, _ = imported(tmp_path, "netbox", marked)
    assert wires(fabric) == wires(plain)


@pytest.mark.parametrize("bandwidth", [-3, 1e-9])
def test_a_bandwidth_that_a_link_cannot_have_does_not_make_it_unlimited(
    tmp_path: Path, bandwidth: float
) -> None:
    file = tmp_path / "p4app.json"
    file.write_text(
        json.dumps(
            {
                "topology": {
                    "switches": {"s1": {}},
                    "hosts": {"h1": {}},
                    "links": [["h1", "s1", {"bw": bandwidth}]],
                }
            }
        )
    )
    result = csaud("import", "p4-utils", file)
    assert result.exit_code == 2, result.output
    assert f"links[0].bw: expected a number of Mbit/s, got {bandwidth}" in result.output


@pytest.mark.parametrize("option", ["--out", "--policy"])
def test_a_place_that_cannot_be_written_is_named_as_it_was_given(tmp_path: Path, option: str) -> None:
    place = tmp_path / "absent" / "fabric.yaml"
    result = csaud("import", "sonic", FILES / "config_db.json", option, place)
    assert result.exit_code == 1
    assert f"csaud: {place}: cannot be written: No such file or directory" in result.output


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


def test_export_is_told_on_the_terminal_with_what_was_left(tmp_path: Path) -> None:
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
