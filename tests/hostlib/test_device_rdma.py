"""Which RDMA device, port and GID a rank takes, and what it says where there is none. Devices are records."""

import errno
from dataclasses import replace
from typing import Any

import pytest
from csaud import _core
from csaud.config import reading
from csaud.devices import rdma, verbs
from csaud.errors import ConfigError

LINK_LOCAL = rdma.Gid(0, "RoCE v2", "fe80::1", "eth0")
OLD = rdma.Gid(1, "RoCE v1", "10.0.1.2", "eth0")
RIGHT = rdma.Gid(2, "RoCE v2", "10.0.1.2", "eth0")
OTHER = rdma.Gid(3, "RoCE v2", "10.0.9.2", "eth0")
OLD_SIX = rdma.Gid(4, "RoCE v1", "fd00:1::2", "eth0")
SIX = rdma.Gid(5, "RoCE v2", "fd00:1::2", "eth0")
OTHER_SIX = rdma.Gid(6, "RoCE v2", "fd00:9::2", "eth0")


def device(name: str, *gids: rdma.Gid, active: bool = True, error: str = "") -> rdma.RdmaDevice:
    ports = () if error else (rdma.Port(1, active, True, 4096, 4096, gids),)
    return rdma.RdmaDevice(name, error, {}, ports)


def choose(found: list[rdma.RdmaDevice], address: str, **settings: object) -> tuple[str, int]:
    chosen, _, gid = verbs.choose(found, reading.load({"device": "verbs", **settings}, {}), address)
    return chosen.name, gid.index


def test_the_device_that_has_the_address() -> None:
    found = [device("first", LINK_LOCAL, OTHER), device("second", LINK_LOCAL, OLD, RIGHT)]
    assert choose(found, "10.0.1.2") == ("second", 2)


def test_the_device_that_has_an_ipv6_address() -> None:
    found = [device("first", LINK_LOCAL, RIGHT, OTHER_SIX), device("second", LINK_LOCAL, OTHER, OLD_SIX, SIX)]
    assert choose(found, "fd00:1::2") == ("second", 5)
    assert choose(found, "10.0.1.2") == ("first", 2)


def test_a_named_device_is_taken_whatever_the_address() -> None:
    found = [device("first", LINK_LOCAL, OTHER_SIX, OTHER), device("second", OLD, RIGHT)]
    assert choose(found, "10.0.1.2", verbs_device="first") == ("first", 3)
    assert choose(found, "fd00:1::2", verbs_device="first") == ("first", 6)
    assert choose([device("only", OTHER, RIGHT)], "10.0.1.2", verbs_device="only") == ("only", 2)
    assert choose([device("only", OTHER_SIX, SIX)], "fd00:1::2", verbs_device="only") == ("only", 5)


def test_a_gid_by_its_index() -> None:
    found = [device("only", OLD, RIGHT, OTHER, SIX, OTHER_SIX)]
    assert choose(found, "10.0.1.2", verbs_gid_index=3) == ("only", 3)
    assert choose(found, "fd00:1::2", verbs_gid_index=6) == ("only", 6)


@pytest.mark.parametrize(
    ("found", "settings", "message"),
    [
        ([], {}, "no RDMA device"),
        ([device("mlx5_0", RIGHT)], {"verbs_device": "mlx5_1"}, "there are mlx5_0"),
        ([device("mlx5_0", RIGHT, active=False)], {}, "mlx5_0 port 1 down"),
        ([device("mlx5_0", LINK_LOCAL, OLD)], {}, "no RoCEv2 GID"),
        ([device("mlx5_0", error="open RDMA device mlx5_0: Permission denied")], {}, "Permission denied"),
        ([device("mlx5_0", RIGHT)], {"verbs_gid_index": 0}, "at index 0"),
    ],
)
def test_nothing_to_choose_is_explained(
    found: list[rdma.RdmaDevice], settings: dict[str, object], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        choose(found, "10.0.1.2", **settings)


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({}, "address {address}"),
        ({"verbs_device": "only"}, "a RoCEv2 GID of an {family} address"),
        ({"verbs_gid_index": 2}, "a RoCEv2 GID of an {family} address at index 2"),
        ({"verbs_device": "only", "verbs_gid_index": 0}, "a RoCEv2 GID of an {family} address at index 0"),
    ],
)
@pytest.mark.parametrize("family", ["IPv4", "IPv6"])
def test_a_gid_of_another_family_is_no_stand_in(family: str, settings: dict[str, object], what: str) -> None:
    """All ranks of a job have addresses of one family; a link-local one is good on one link only."""
    address, other = ("10.0.1.2", replace(SIX, index=2)) if family == "IPv4" else ("fd00:1::2", RIGHT)
    with pytest.raises(ConfigError) as refused:
        choose([device("only", LINK_LOCAL, other)], address, **settings)
    message = what.format(address=address, family=family)
    assert f"no active port has {message} (only port 1 active, {other.address})" in str(refused.value)


@pytest.mark.parametrize("asked", [0, 2048])
@pytest.mark.parametrize(
    ("address", "gid", "raw"),
    [
        ("10.0.1.2", RIGHT, "00000000000000000000ffff0a000102"),
        ("fd00:1::2", SIX, "fd000001000000000000000000000002"),
    ],
    ids=["IPv4", "IPv6"],
)
def test_what_opens_is_known_by_its_address_number_and_mtu(
    address: str, gid: rdma.Gid, raw: str, asked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rank's card is made of it, `start` gives it the job's Q_Key, and over IPv6 it is told the names of
    addresses."""

    class Device:
        qpn, has_loss_port = 0x123, True

        def __init__(self, **made_with: Any) -> None:
            self.made_with = made_with

        def start(self, qkey: int) -> None:
            self.qkey = qkey

        def set_names(self, names: list[tuple[int, bytes]]) -> None:
            self.names = names

    monkeypatch.setattr(rdma, "find_devices", lambda: [device("first", LINK_LOCAL, gid)])
    monkeypatch.setattr(_core, "VerbsDevice", Device)
    opened = verbs.open_device(reading.load({"device": "verbs", "mtu": asked}, {}), address)
    native: Any = opened.native
    assert (opened.address, opened.qpn, opened.mode, opened.max_mtu) == (
        address,
        0x123,
        "verbs",
        asked or 4096,
    )
    made = native.made_with
    assert (made["device"], made["port"], made["gid_index"]) == ("first", 1, gid.index)
    assert (made["gid"].hex(), made["path_mtu"]) == (raw, asked or 4096)
    assert opened.start is not None
    opened.start(0x80010001)
    assert native.qkey == 0x80010001
    assert (opened.set_names is not None) == (gid is SIX)
    if opened.set_names is not None:
        opened.set_names([(0xF0000000, bytes.fromhex(raw))])
        assert native.names == [(0xF0000000, bytes.fromhex(raw))]


@pytest.mark.parametrize(
    ("settings", "made", "why"),
    [
        ({}, OSError(errno.ENOMEM, "register memory"), "; ulimit -l unlimited"),
        ({}, OSError(errno.EPERM, "open RDMA device"), ""),
        ({}, RuntimeError("no queue pair"), ""),
    ],
    ids=["memory", "permission", "library"],
)
def test_a_device_that_does_not_open_is_named_with_its_mend(
    settings: dict[str, object], made: Exception, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(**_: Any) -> None:
        raise made

    monkeypatch.setattr(rdma, "find_devices", lambda: [device("first", RIGHT)])
    monkeypatch.setattr(_core, "VerbsDevice", refuses)
    with pytest.raises(ConfigError) as refused:
        verbs.open_device(reading.load({"device": "verbs", **settings}, {}), "10.0.1.2")
    assert str(refused.value) == f"cannot open RDMA device first: {made}{why}"


def test_a_path_mtu_beyond_the_ports_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    (small,) = device("first", RIGHT).ports
    small = replace(small, mtu=1024)
    monkeypatch.setattr(rdma, "find_devices", lambda: [replace(device("first", RIGHT), ports=(small,))])
    with pytest.raises(ConfigError, match="mtu=1025: first has a path MTU of 1024 bytes"):
        verbs.open_device(reading.load({"device": "verbs", "mtu": 1025}, {}), "10.0.1.2")


def test_without_the_library_the_setting_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_core, "HAVE_VERBS", False)
    with pytest.raises(ConfigError, match=r"device=verbs: csaud was built without .*; csaud doctor says"):
        verbs.open_device(reading.load({"device": "verbs"}, {}), "10.0.1.2")
