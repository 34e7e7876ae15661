"""Packets that come together are taken as they would be one by one, also those of more peers than a cache has
room for, of which a batch says early what it will need."""

import pytest
from csaud import _core

from tests.hostlib.core_support import DATA, MS, content, network, total

PACKETS = 1  # so that none is predicted by the one before


@pytest.mark.parametrize(
    ("peers", "settings"),
    [(1200, {}), (3, {"cached_peers": 2})],  # over 1,024 the core looks ahead in what comes together
)
def test_batches_from_more_peers_than_a_cache_has_room_for(peers: int, settings: dict[str, int]) -> None:
    net = network(peers + 1, **settings)
    messages = {src: content(64 * PACKETS, src) for src in range(1, peers + 1)}
    for coll_seq in (1, 2, 3):  # the first ones make them known
        posted = {net.post_recv(0, src, len(data), coll_seq=coll_seq): data for src, data in messages.items()}
        net.stop(0)
        for src, data in messages.items():
            net.post_send(src, 0, data, coll_seq=coll_seq)
        net.run_until(net.now + MS)
        net.resume(0)
        assert net.settle(net.now + 1000 * MS)
        assert {receive: net.received(0, receive) for receive in posted} == posted
        assert all(c.status == _core.Status.ok for c in net.completions(0))
    assert net.stats(0)["rx_data"] == 3 * PACKETS * peers
    assert total(net, "rx_duplicates", peers + 1) == 0
    assert net.unbalanced() == ""


def test_of_packets_that_are_cut_short_only_what_is_there_is_read() -> None:
    """A process that reads on behind one of them ends: the network lays those that come together so."""
    net = network(4, cached_peers=2)
    for coll_seq in (1, 2, 3, 4):
        data = {src: content(64, src) for src in (1, 2, 3)}
        posted = {net.post_recv(0, src, 64, coll_seq=coll_seq): sent for src, sent in data.items()}
        net.stop(0)
        for src, sent in data.items():
            net.post_send(src, 0, sent, coll_seq=coll_seq)
        net.run_until(net.now + MS)
        packets = [net.last_packet(rank, DATA) for rank in (1, 2, 3)]
        for length in range(len(packets[0]) if coll_seq % 2 == 0 else 0):  # after a batch without any
            net.inject(0, packets[length % 3][:length])
        net.resume(0)
        assert net.settle(net.now + 1000 * MS)
        assert {receive: net.received(0, receive) for receive in posted} == posted
    assert net.stats(0)["rx_data"] == 4 * 3
