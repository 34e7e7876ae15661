"""What was begun long ago goes on as if it had been a moment: time stamps of 32 bits wrap in 71 minutes."""

from __future__ import annotations

import random

import pytest

from tests.hostlib.core_support import DATA, Drop, S, content, first_copy, network, retransmitted

MINUTE = 60 * S


@pytest.mark.parametrize("minutes", [1, 35, 37, 70, 73])
def test_a_receive_that_is_posted_late_is_not_kept_waiting_for_what_was_lost_before(minutes: int) -> None:
    net = network(2, hook=Drop(first_copy(0), times=1))
    net.post_send(0, 1, b"x" * 64, coll_seq=1)
    net.run_until(minutes * MINUTE)
    net.post_recv(1, 0, 64, coll_seq=1)
    net.run_until(net.now + S)
    assert net.stats(1)["messages_received"] == 1
    assert sum(retransmitted(net).values()) == 1


@pytest.mark.parametrize("minutes", [1, 40])
def test_nothing_is_sent_for_nothing_after_a_long_pause_in_a_message(minutes: int) -> None:
    draw = random.Random(3)

    def lose(p: object) -> str | None:
        late = p.type == DATA and p.pkt_idx >= 32 and p.attempt == 0  # type: ignore[attr-defined]
        return "drop" if late and draw.random() < 0.05 else None

    net = network(2, hook=lose, parity=False)
    data = content(64 * 500)
    net.post_send(0, 1, data, coll_seq=1)
    net.run_until(minutes * MINUTE)
    net.post_recv(1, 0, len(data), coll_seq=1)
    net.run_until(net.now + 5 * S)
    assert net.stats(1)["messages_received"] == 1
    assert net.stats(1)["rx_duplicates"] == 0
