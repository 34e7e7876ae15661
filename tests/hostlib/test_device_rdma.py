"""Which RDMA device, port and GID a rank takes, and what it says where there is none. Devices are records."""

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


def device(name: str, *gids: rdma.Gid, active: bool = True, error: str = "") -> rdma.RdmaDevice:
    ports = () if error else (rdma.Port(1, active, True, 4096, 4096, gids),)
    return rdma.RdmaDevice(name, error, {}, ports)


def choose(found: list[rdma.RdmaDevice], address: str, **settings: object) -> tuple[str, int]:
    chosen, _, gid = verbs.choose(found, reading.load({"device": "verbs", **settings}, {}), address)
    return chosen.name, gid.index


def test_the_device_that_has_the_address() -> None:
    found = [device("first", LINK_LOCAL, OTHER), device("second", LINK_LOCAL, OLD, RIGHT)]
    assert choose(found, "10.0.1.2") == ("second", 2)


def test_a_named_device_is_taken_whatever_the_address() -> None:
    found = [device("first", LINK_LOCAL, OTHER), device("second", OLD, RIGHT)]
    assert choose(found, "10.0.1.2", verbs_device="first") == ("first", 3)
    assert choose([device("only", OTHER, RIGHT)], "10.0.1.2", verbs_device="only") == ("only", 2)


def test_a_gid_by_its_index() -> None:
    assert choose([device("only", OLD, RIGHT, OTHER)], "10.0.1.2", verbs_gid_index=3) == ("only", 3)


@pytest.mark.parametrize(
    ("found", "settings", "message"),
    [
        ([], {}, "no RDMA device"),
        ([device("mlx5_0", RIGHT)], {"verbs_device": "mlx5_1"}, "there are mlx5_0"),
        ([device("mlx5_0", RIGHT, active=False)], {}, "mlx5_0 port 1 down"),
        ([device("mlx5_0", LINK_LOCAL, OLD)], {}, "no IPv4 GID"),
        ([device("mlx5_0", error="open RDMA device mlx5_0: Permission denied")], {}, "Permission denied"),
        ([device("mlx5_0", RIGHT)], {"verbs_gid_index": 0}, "GID 0"),
    ],
)
def test_nothing_to_choose_is_explained(
    found: list[rdma.RdmaDevice], settings: dict[str, object], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        choose(found, "10.0.1.2", **settings)


@pytest.mark.parametrize("settings", [{}, {"verbs_device": "only"}, {"verbs_gid_index": 2}])
def test_an_ipv6_address_is_refused_by_name(settings: dict[str, object]) -> None:
    """Another address than the one that was given, of another family, would be taken without a word."""
    found = [device("only", LINK_LOCAL, RIGHT)]
    with pytest.raises(ConfigError, match="device=verbs: fd00::1: it speaks RoCEv2 over IPv4"):
        choose(found, "fd00::1", **settings)


@pytest.mark.parametrize("asked", [0, 2048])
def test_what_opens_is_known_by_its_address_number_and_mtu(
    asked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rank's card is made of it, and `start` gives it the job's Q_Key."""

    class Device:
        qpn, has_loss_port = 0x123, True

        def __init__(self, **made_with: Any) -> None:
            self.made_with = made_with

        def start(self, qkey: int) -> None:
            self.qkey = qkey

    monkeypatch.setattr(rdma, "find_devices", lambda: [device("first", LINK_LOCAL, RIGHT)])
    monkeypatch.setattr(_core, "VerbsDevice", Device)
    opened = verbs.open_device(reading.load({"device": "verbs", "mtu": asked}, {}), "10.0.1.2")
    native: Any = opened.native
    assert (opened.address, opened.qpn, opened.mode, opened.max_mtu) == (
        "10.0.1.2",
        0x123,
        "verbs",
        asked or 4096,
    )
    made = native.made_with
    assert (made["device"], made["port"], made["gid_index"], made["ipv4"]) == ("first", 1, 2, 0x0A000102)
    assert made["path_mtu"] == (asked or 4096)
    assert opened.start is not None
    opened.start(0x80010001)
    assert native.qkey == 0x80010001
