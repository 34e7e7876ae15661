"""The inventory: addressing plan, ports, and what is written is read back."""

from ipaddress import IPv4Address
from pathlib import Path

import pytest
from csaud_controller.inventory import End, leaf_spine, load_fabric
from csaud_controller.units import format_duration, format_rate, parse_duration, parse_rate


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
