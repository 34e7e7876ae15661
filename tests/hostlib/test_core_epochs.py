"""Packets of a job's last epoch that come in the middle of the next one are counted and change nothing."""

from typing import Any

import pytest
from csaud import _core

from tests.hostlib.core_support import DATA, EPOCH, MS, S, content, network

WORLD, SIZE = 4, 40 * 64  # bytes: 40 packets
LATE = 3 * MS  # how much longer a packet takes that is held back
Stats = dict[str, Any]


def exchange(net: Any, seed: int) -> list[tuple[int, int, bytes]]:
    """Everyone sends to everyone, under the same names each time; (rank, receive, data) of each message."""
    posts = []
    for dst in range(WORLD):
        for src in range(WORLD):
            if src != dst:
                posts.append((dst, net.post_recv(dst, src, SIZE, coll_seq=1), content(SIZE, seed + src)))
    for src in range(WORLD):
        for dst in range(WORLD):
            if src != dst:
                net.post_send(src, dst, content(SIZE, seed + src), coll_seq=1)
    return posts


def two_epochs(every: int) -> tuple[list[int], list[Stats]]:
    """A job that is cut off and begins again; every `every`-th packet of its first epoch (0: none) is held
    back into the second one. The types of those, and the counters of the second."""
    held = []

    def hook(packet: Any) -> Any:
        if every == 0:
            return "drop"  # nothing of the first epoch comes late
        if packet.number % every == 0:
            held.append(packet.type)
            return ("delay", LATE)
        return "drop"

    net = network(WORLD, hook=hook)
    exchange(net, seed=1)
    net.run_until(net.now + 2 * MS)
    net.set_hook(None)
    net.begin_again(EPOCH + 1)
    posts = exchange(net, seed=100)
    assert net.settle(net.now + 60 * S)
    for rank, receive, data in posts:
        assert net.received(rank, receive) == data
    for rank in range(WORLD):
        statuses = {completion.status for completion in net.completions(rank)}
        assert statuses == {_core.Status.ok}
    assert every == 0 or held.count(DATA) > 0
    return held, [net.stats(rank) for rank in range(WORLD)]


@pytest.mark.parametrize("every", [1, 2, 7])
def test_what_was_held_back_is_counted_and_nothing_else_differs(every: int) -> None:
    """Not a packet more is sent, and none at another time, than where nothing was held back."""
    none, quiet = two_epochs(0)
    held, disturbed = two_epochs(every)
    assert not none and len(held) > 10
    for counter, packets in (("epoch", len(held)), ("data", held.count(DATA)), ("loss", 0)):
        assert sum(stats.pop(f"rx_stale_{counter}") for stats in disturbed) == packets
        assert [stats.pop(f"rx_stale_{counter}") for stats in quiet] == [0] * WORLD
    assert disturbed == quiet
