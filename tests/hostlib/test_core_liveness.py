"""Who is alive: a rank that computes, is stopped for a while, or is gone; and how all ranks learn of it."""

from typing import Any

import csaud_testnet
import pytest
from csaud import _core

from tests.hostlib.core_support import (
    ABORT,
    DATA,
    MS,
    PROBE,
    PROBE_RSP,
    STATE,
    US,
    Drop,
    S,
    content,
    network,
    retransmitted,
    total,
    transfer,
)

Status = _core.Status
MESSAGE = content(100 * 64)


def ring(net: Any, world: int, coll_seq: int = 1) -> None:
    """Every rank sends to the next one and receives from the one before."""
    for rank in range(world):
        net.post_recv(rank, (rank - 1) % world, len(MESSAGE), coll_seq=coll_seq)
        net.post_send(rank, (rank + 1) % world, MESSAGE, coll_seq=coll_seq)


@pytest.mark.parametrize("size", [1, 100 * 64])
@pytest.mark.parametrize("late", ["receive", "send"])
def test_a_rank_that_computes_for_30_s_causes_nothing(late: str, size: int) -> None:
    """It has not posted; its progress thread answers."""
    net, data = network(), content(size)

    def send() -> None:
        net.post_send(0, 1, data, coll_seq=1)

    def receive() -> int:
        return int(net.post_recv(1, 0, size, coll_seq=1))

    if late == "receive":
        send()
        net.run_until(30 * S)
        got = receive()
    else:
        got = receive()
        net.run_until(30 * S)
        send()
    assert net.settle(40 * S)
    assert net.received(1, got) == data
    assert retransmitted(net) == {}
    assert total(net, "rx_duplicates") == 0
    # It was asked now and then, not flooded: less than five packets a second and direction.
    assert total(net, "tx_control") < 30 * 2 * 5


def test_a_rank_stopped_for_2_s_goes_on() -> None:
    net = network(4)
    ring(net, 4)
    net.run_until(120 * US)
    net.stop(2)
    net.run_until(2 * S)
    net.resume(2)
    assert net.settle(20 * S)
    for rank in range(4):
        assert {c.status for c in net.completions(rank)} == {Status.ok}
    assert net.unbalanced() == ""
    # What it had sent lay in its peers' memory, what was sent to it in its socket: nothing of it was lost.
    assert retransmitted(net, 4) == {}


@pytest.mark.parametrize("stopped", [4, 20, 100])
def test_a_rank_stopped_for_long_blames_nobody_when_it_wakes(stopped: int) -> None:
    """All ranks are stopped (a suspended machine), and wake one after the other."""
    net = network(4)
    ring(net, 4)
    net.run_until(120 * US)
    for rank in range(4):
        net.stop(rank)
    net.run_until(stopped * S)
    for rank in range(4):
        net.resume(rank)
        net.run_until(net.now + 300 * MS)
    assert net.settle(net.now + 20 * S)
    for rank in range(4):
        assert {c.status for c in net.completions(rank)} == {Status.ok}
    assert net.unbalanced() == ""


@pytest.mark.parametrize("dead", [0, 3, 7])
@pytest.mark.parametrize("when", [0, 120 * US, 30 * S])
def test_a_dead_rank_is_named_by_every_survivor_within_5_s(dead: int, when: int) -> None:
    world = 8
    net = network(world)
    net.set_chance(chance(drop_data=0.05, drop_control=0.05))
    transfer(net, MESSAGE, src=dead, dst=(dead + 1) % world)
    begun = net.now
    if when > S:  # long quiet before
        net.run_until(begun + when)
    ring(net, world, coll_seq=2)
    if when < S:
        net.run_until(begun + when)
    net.kill(dead)
    # Some ranks wait only for ranks that are well.
    killed = net.now
    net.run_until(killed + 5 * S)
    for rank in range(world):
        if rank == dead:
            continue
        failed = [c for c in net.completions(rank) if c.status != Status.ok]
        waits = {(dead - 1) % world, (dead + 1) % world}
        assert failed or rank not in waits
        assert {(c.status, c.rank) for c in failed} <= {(Status.peer_unreachable, dead)}
        late = net.post_recv(rank, (rank + 1) % world, 8, coll_seq=9)
        net.run_until(net.now)
        assert [(c.id, c.status, c.rank) for c in net.completions(rank)] == [
            (late, Status.peer_unreachable, dead)
        ]


def chance(**probabilities: float) -> Any:
    c = csaud_testnet.Chance()
    for name, value in probabilities.items():
        setattr(c, name, value)
    return c


def test_a_dead_peer_is_given_up_when_it_was_promised() -> None:
    """After `dead_after` of silence, not a beat later."""
    net = network(2)
    receive = net.post_recv(0, 1, 10, coll_seq=1)
    net.kill(1)
    net.run_until(5 * S)
    ends = {c.id: c.finished_ns for c in net.completions(0)}
    assert ends[receive] == 3_500 * MS


def test_survivors_that_wait_for_nobody_learn_it_too() -> None:
    net = network(5)
    net.post_recv(0, 1, 10, coll_seq=1)
    net.kill(1)
    net.run_until(5 * S)
    for rank in (2, 3, 4):
        post = net.post_send(rank, 0, b"x", coll_seq=5)
        net.run_until(net.now)
        assert [(c.id, c.status, c.rank) for c in net.completions(rank)] == [
            (post, Status.peer_unreachable, 1)
        ]


def test_silence_of_a_peer_that_nobody_needs_is_no_failure() -> None:
    net = network(3)
    transfer(net, MESSAGE)
    net.kill(2)
    net.run_until(60 * S)
    transfer(net, MESSAGE, coll_seq=2)
    assert total(net, "tx_abort", 2) == 0


def test_a_fifth_of_all_packets_lost_is_no_death() -> None:
    """One answer in the time is enough."""
    net = network(2)
    net.set_chance(chance(drop_control=0.2, drop_data=0.2, seed=3))
    net.post_recv(1, 0, 10, coll_seq=1)
    net.run_until(60 * S)
    net.post_send(0, 1, bytes(10), coll_seq=1)
    assert net.settle(net.now + 60 * S)
    assert {c.status for rank in (0, 1) for c in net.completions(rank)} == {Status.ok}


def test_a_partition_that_heals_in_time_is_no_death() -> None:
    net = network(2)
    receive = net.post_recv(1, 0, len(MESSAGE), coll_seq=1)
    net.post_send(0, 1, MESSAGE, coll_seq=1)
    net.run_until(100 * US)
    net.set_hook(lambda p: "drop")
    net.run_until(3 * S)
    net.set_hook(None)
    assert net.settle(20 * S)
    assert net.received(1, receive) == MESSAGE
    assert net.unbalanced() == ""


def test_abort_ends_all_and_names_who_gave_up() -> None:
    net = network(4)
    ring(net, 4)
    net.run_until(120 * US)
    net.set_chance(chance(drop_control=0.3, seed=5))
    net.abort(1)
    net.run_until(1 * S)
    for rank in range(4):
        net.post_recv(rank, (rank + 1) % 4, 8, coll_seq=9)
        net.run_until(net.now)
        ended = [c for c in net.completions(rank) if c.status != Status.ok]
        assert ended
        assert {(c.status, c.rank) for c in ended} == {(Status.aborted, 1)}
    assert net.unfinished == 0
    assert all(net.quiescent(rank) for rank in range(4))


def test_an_abort_is_told_to_each_peer_four_times_50_ms_apart() -> None:
    """A link that is dead for a while loses not all of them, as it would if they went at once."""
    told: dict[int, list[int]] = {0: [], 2: []}

    def hook(p: Any) -> str:
        if p.type == ABORT and p.src == 1:
            told[p.dst].append(p.now)
        return "drop"

    net = network(3, hook=hook)
    ring(net, 3)
    net.run_until(120 * US)
    net.abort(1)
    net.run_until(10 * S)
    for times in told.values():
        assert [round((time - times[0]) / MS) for time in times] == [0, 50, 100, 150]


def test_every_abort_that_comes_is_counted_also_after_the_first() -> None:
    """The books of who has given up himself, and hears the others do so, too."""
    net = network(3)
    ring(net, 3)
    net.run_until(120 * US)
    for rank in range(3):
        net.abort(rank)
    net.run_until(3 * S)
    stats = [net.stats(rank) for rank in range(3)]
    assert sum(one["rx_abort"] for one in stats) == sum(one["tx_abort"] for one in stats) > 3


def test_a_rank_that_missed_every_abort_is_told_when_it_speaks() -> None:
    net = network(2, hook=lambda p: "drop" if p.type == ABORT and p.now < 1 * S else None)
    net.post_recv(0, 1, 10, coll_seq=1)
    net.abort(1)
    net.run_until(3 * S)
    assert [(c.status, c.rank) for c in net.completions(0)] == [(Status.aborted, 1)]


def test_a_lost_only_packet_of_a_late_sender_is_found_by_its_probe() -> None:
    """The receiver has waited long and asks seldom; the sender's own probe is what finds the loss soon."""
    net = network()
    net.post_recv(1, 0, 8, coll_seq=1)
    net.run_until(20 * S)
    hook = Drop(lambda p: p.type == DATA and p.attempt == 0)
    net.set_hook(hook)
    net.post_send(0, 1, b"8 bytes.", coll_seq=1)
    net.run_until(net.now + 100 * MS)
    assert [c.status for c in net.completions(1)] == [Status.ok]
    assert hook.hit == 1


def test_what_a_waiting_receiver_and_its_sender_say() -> None:
    """STATE is answered NOT_STARTED until the sender begins; reasons on the wire as documented."""
    said = []

    def hook(p: Any) -> None:
        said.append((p.type, p.reason))

    net = network(hook=hook)
    net.post_recv(1, 0, 8, coll_seq=1)
    net.run_until(20 * MS)
    assert (STATE, 3) in said
    assert (PROBE_RSP, 7) in said
    said.clear()
    net.post_send(1, 0, b"x", coll_seq=2)
    net.run_until(60 * MS)
    assert (PROBE, 0) in said
    assert (STATE, 4) in said  # the packet is there, its receive is not
