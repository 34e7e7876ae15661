"""More frames than there is room for in front of a switch: none is lost without being counted. Needs root."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.softswitch.test_core_fabric import balance
from tests.softswitch.test_core_queueing import packet
from tests.softswitch.test_core_veth import Setup, eventually
from tests.support.netns import NetworkNamespace

pytestmark = pytest.mark.root

SIZE = 4000


@pytest.fixture
def setup() -> Iterator[Setup]:
    with NetworkNamespace() as namespace:
        made = Setup(namespace)
        yield made
        made.close()


def test_what_the_kernel_has_no_room_for_is_counted(setup: Setup) -> None:
    setup.fabric.stop()
    frame = packet(2, tag=1, size=SIZE)
    # The socket's buffer has 64 MiB, and a frame takes more of it than its bytes.
    sent = (64 << 20) // SIZE + 1000
    for _ in range(sent):
        setup.hosts[1].send(frame)
    setup.fabric.start()

    def seen() -> int:
        return setup.stats(1)["rx_packets"] + setup.stats(1)["rx_ring_drops"]

    eventually(lambda: seen() == sent, "every frame came in or was counted as lost")
    stats = setup.stats(1)
    assert stats["rx_ring_drops"] >= 1000
    assert stats["rx_packets"] >= 1000  # what there was room for has waited
    eventually(lambda: setup.stats(2)["tx_packets"] == stats["rx_packets"], "all that came in has left")
    balance(setup.fabric)
