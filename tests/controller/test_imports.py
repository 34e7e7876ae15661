"""Fabric files out of other tools' files (imports/README.md says whose), and into them."""

import json
from pathlib import Path

import pytest
import yaml
from csaud_controller.cli import fabric as fabric_command
from csaud_controller.inventory import Fabric, load_fabric
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
    assert [*fabric.switches] == ["leaf-01", "ARISTA04T1", "ARISTA03T1"]
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
    assert [*flat.switches] == ["config_db_flat", "switch-01t1"]
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
