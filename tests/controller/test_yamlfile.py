"""A mistake in a file is one message that names file, line, key and what was expected."""

from pathlib import Path

import pytest
from csaud_controller.base.yamlfile import ConfigError, load_model, load_model_text, parse_yaml
from csaud_controller.base.yamlfile import mistake as in_words
from csaud_controller.inventory import Fabric, load_fabric
from csaud_controller.policy.model import Policy
from pydantic import ValidationError

GOOD = """\
name: pair
switches:
  l1: {role: leaf, device_id: 1}
  s1: {role: spine, device_id: 2}
hosts:
  h1: {ip: 10.0.1.1, mac: "02:00:0a:00:01:01"}
edges:
  - {a: l1, a_port: 1, b: s1, b_port: 1, rate: 1.5Gbit, delay: 10us}
  - {a: l1, a_port: 2, b: h1, b_port: 0}
"""


def mistake(text: str) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        load_model_text(text, Fabric, "fabric.yaml")
    return caught.value


def test_a_good_file_is_read() -> None:
    fabric = load_model_text(GOOD, Fabric)
    assert fabric.edges[0].rate == 1_500_000_000
    assert fabric.edges[0].delay == 10_000
    assert fabric.link_of(fabric.edges[1]).rate == 200_000_000


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("role: leaf", "rolle: leaf", "fabric.yaml:3: switches.l1.rolle: unknown key; expected one of role,"),
        ("role: leaf", "role: leef", "fabric.yaml:3: switches.l1.role: expected 'leaf'"),
        ("device_id: 2", "device_id: 1", "fabric.yaml:4: switches.s1.device_id: 1 is also that of l1"),
        ("10.0.1.1", "10.0.1.256", "fabric.yaml:6: hosts.h1.ip: expected a valid IPv4 address, got"),
        ("02:00", "03:00", "fabric.yaml:6: hosts.h1.mac: expected a unicast MAC"),
        ("b: s1", "b: s2", "fabric.yaml:8: edges[0].b: unknown node 's2'; expected one of l1, s1"),
        ("1.5Gbit", "1.5 apples", "fabric.yaml:8: edges[0].rate: expected a rate such as 200Mbit or 1Gbit"),
        ("10us", "ten", "fabric.yaml:8: edges[0].delay: expected a duration such as 10us, 5ms or 2s"),
        ("a_port: 2", "a_port: 1", "fabric.yaml:9: edges[1].a_port: port l1:1 is already used by edges[0]"),
        ("a_port: 2", "a_port: 127", "fabric.yaml:9: edges[1].a_port: expected less than or equal to 126"),
        ("b_port: 0", "b_port: 3", "fabric.yaml:9: edges[1].b_port: a host has only port 0, got 3"),
        ("edges:", "edges:\nedges:", "fabric.yaml:8: edges: key given twice (first in line 7)"),
        ("name: pair\n", "", "fabric.yaml:1: name: missing"),
        ("hosts:", "  l3: {device_id: 3}\nhosts:", "fabric.yaml:5: switches.l3: l3 is not connected"),
        ("name: pair", "name: [pair", "fabric.yaml:2: not valid YAML"),
    ],
)  # fmt: skip
def test_a_mistake_is_named(old: str, new: str, expected: str) -> None:
    assert old in GOOD
    message = str(mistake(GOOD.replace(old, new, 1)))
    assert message.startswith(expected)
    assert "\n" not in message


def test_all_mistakes_are_told_in_the_order_of_the_file() -> None:
    text = GOOD.replace("device_id: 1", "device_id: one").replace("10us", "ten").replace("1.5Gbit", "fast")
    told = mistake(text)
    assert [line.split(" such")[0].split(", ")[0] for line in str(told).splitlines()] == [
        "fabric.yaml:3: switches.l1.device_id: expected a valid integer",
        "fabric.yaml:8: edges[0].rate: expected a rate",
        "fabric.yaml:8: edges[0].delay: expected a duration",
    ]
    assert (told.line, told.key) == (3, "switches.l1.device_id")


def test_what_is_wrong_about_good_fields_is_told_in_the_order_of_the_file_too() -> None:
    """Below it is a field of the wrong kind, without which the whole would not be looked at."""
    text = GOOD.replace("device_id: 2", "device_id: 1").replace("10us", "ten")
    assert [line.split(": ")[0] for line in str(mistake(text)).splitlines()] == [
        "fabric.yaml:4",
        "fabric.yaml:8",
    ]


def test_all_mistakes_of_a_value_that_is_in_no_file_are_told() -> None:
    with pytest.raises(ValidationError) as caught:
        Policy.model_validate({"spray": "sideways", "trim_dscp": 99, "ecn": "perhaps"})
    spray, dscp, ecn = in_words(caught.value).split("; ")
    assert spray.startswith("spray: expected 'ecmp'")
    assert dscp == "trim_dscp: expected less than or equal to 63"
    assert ecn.startswith("ecn: ")


def test_a_misspelt_key_is_told_rather_than_the_key_that_is_missing_for_it() -> None:
    assert str(mistake(GOOD.replace("switches:", "switchs:"))).startswith(
        "fabric.yaml:2: switchs: unknown key"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "fabric.yaml: expected a mapping with the keys name, links_via"),
        ("- a\n", "fabric.yaml:1: expected a mapping with the keys name, links_via"),
        ("a: &x [*x]\n", "fabric.yaml:1: a[0]: an alias to what it is part of"),
        ("[1]: 2\n", "fabric.yaml:1: expected a name as key, got [1]"),
        ("when: !!python/name:os.system\n", "fabric.yaml:1: when: not a YAML value"),
        ("a: " + "[" * 10_000, "fabric.yaml: not valid YAML: nested too deep"),
        ("a: 1\nb: \x01\n", r"fabric.yaml:2: not valid YAML: '\x01': special characters are not allowed"),
        ("\x00", r"fabric.yaml:1: not valid YAML: '\x00': special characters are not allowed"),
        ("mtu: 0x" + "f" * 9000, "fabric.yaml:1: mtu: not a YAML value: a number of 36,000 bits"),
        ("mtu: " + "9" * 5000, "fabric.yaml:1: mtu: not a YAML value: "),
        ("edges: !!seq l1\n", "fabric.yaml:1: edges: not a YAML value: expected a sequence node"),
    ],
)
def test_what_is_no_mapping_is_told(text: str, expected: str) -> None:
    message = str(mistake(text))
    assert message.startswith(expected)
    assert "\n" not in message


def test_aliases_do_not_explode() -> None:
    """Nine levels of nine: 400 bytes that are 400 million values."""
    levels = ["a0: &a0 [x]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10))]
    assert "aliases that repeat more than 100,000 values" in str(mistake("\n".join(levels) + "\n"))
    value, _ = parse_yaml("a: &a [1, 2]\nb: [*a, *a]\n", "x.yaml")
    assert value["b"] == [[1, 2], [1, 2]]


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nothing\.yaml: no such file"):
        load_model(tmp_path / "nothing.yaml", Policy)


def test_lines_of_keys_and_items_are_known() -> None:
    value, lines = parse_yaml("a:\n  - 1\n  - b: 2\n", "x.yaml")
    assert value == {"a": [1, {"b": 2}]}
    assert lines[("a", 1, "b")] == 3


def test_why_a_file_cannot_be_read_is_told_in_words(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load_model(tmp_path, Policy)
    assert str(caught.value) == f"{tmp_path}: cannot be read: Is a directory"


def test_a_file_is_read_whatever_its_name_ends_with(tmp_path: Path) -> None:
    (tmp_path / "fabric").write_text(GOOD)
    assert load_fabric(str(tmp_path / "fabric")).name == "pair"


@pytest.mark.parametrize(
    ("name", "said"),
    [("leaf-spin-2x2", "no such fabric: expected a name like leaf-spine-2x3"), ("no.yaml", "no such file")],
)
def test_what_is_no_file_is_taken_for_one_if_it_is_called_like_one(name: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        load_fabric(name)


def test_a_mac_is_that_of_one_host_however_it_is_spelled_and_named_as_all_are() -> None:
    text = GOOD.replace("hosts:\n", 'hosts:\n  h2: {ip: 10.0.1.2, mac: "02:00:0A:00:01:01"}\n')
    text += "  - {a: l1, a_port: 3, b: h2, b_port: 0}\n"
    assert str(mistake(text)).startswith("fabric.yaml:7: hosts.h1.mac: 02:00:0a:00:01:01 is also that of h2")


@pytest.mark.parametrize(
    "name", ["leaf-spine-0x2", "leaf-spine-2x0", "leaf-spine-2x200", "leaf-spin-2x2", "no.yaml"]
)
def test_an_unknown_fabric_is_refused_with_what_was_expected(name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_fabric(name)
    assert name in str(caught.value)
