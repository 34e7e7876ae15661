"""What the library makes of addresses, and of the links that they are on."""

import pytest
from csaud.errors import ConfigError
from csaud.network.addresses import PACKET_OVERHEAD, largest_path_mtu, link_mtu


def test_an_address_of_another_machine_is_named() -> None:
    with pytest.raises(ConfigError) as refused:
        link_mtu("192.0.2.1", "127.0.0.1")
    words = "192.0.2.1 is not an address of this machine (Cannot assign requested address)"
    assert str(refused.value) == words


@pytest.mark.parametrize(
    ("room", "path_mtu"), [(256, 256), (287, 256), (288, 288), (4095, 4064), (4096, 4096), (65483, 4096)]
)
def test_packets_are_as_long_as_the_link_takes_up_to_4096(room: int, path_mtu: int) -> None:
    assert largest_path_mtu(room + PACKET_OVERHEAD) == path_mtu


def test_a_link_that_takes_no_packet_is_named() -> None:
    with pytest.raises(ConfigError, match="the link's MTU of 307 bytes is too small for packets"):
        largest_path_mtu(255 + PACKET_OVERHEAD)
