"""Notes of PROBEs are longer than any bitmap: with authentication, too, all of them is looked at."""

from __future__ import annotations

import pytest

from tests.hostlib.core_support import MS, network
from tests.hostlib.forged import packet

KEY = bytes(range(16))
PROBE, PING = 5, 9


@pytest.mark.parametrize("length", [64, 65, 100, 200])
def test_a_false_tag_behind_a_note_is_found(length: int) -> None:
    net = network(2, auth_key=KEY)
    said = bytes(b"A" * length) + bytes(8)
    net.inject(
        0, packet(type=PROBE, reason=PING, src_rank=1, from_rank=1, bitmap_bits=8 * length, bitmap=said)
    )
    net.run_until(10 * MS)
    assert net.stats(0)["rx_bad_auth"] == 1
