"""Exchanges about the spray modes with tables and state of their own: weighted, least queue, flowlet."""

from __future__ import annotations

from csaud_softswitch.exchange.vector import Step
from scapy.layers.inet import IP, TCP, UDP

from tests.softswitch.exchange_case import case
from tests.softswitch.inputs import (
    DESTINATION,
    GROUP,
    SOURCE,
    bucket,
    csa,
    ip_frame,
    leaf,
    name,
    policy,
    second_choices,
    send_all,
    write,
)

HOUR_US = 3_600_000_000


def message(count: int, first: int = 0, **header: int) -> list[Step]:
    return send_all(csa(pkt_idx=first + i, pkt_total=500, **header) for i in range(count))


@case
def spray_weighted() -> list[Step]:
    """The turn's bucket holds the index; the 64 buckets come round."""
    shares = [0, 1, 0, 2, 0, 1, 2, 3]
    buckets = [bucket(b, shares[b % 8]) for b in range(64)]
    return [leaf(), write(policy("weighted")), write(*buckets), *message(72)]


@case
def spray_weighted_changes() -> list[Step]:
    """A bucket that is not there takes its turn; buckets change one by one; round robin goes on with the
    same turns.
    """
    modified = {"modify": bucket(5, 3)["insert"]}
    deleted = {"delete": {"table": name("spray.buckets"), "match": {"group": GROUP, "bucket": 1}}}
    return [
        leaf(),
        write(policy("weighted"), bucket(1, 3), bucket(5, 0), bucket(6, 1000), bucket(2, 2, GROUP + 1)),
        *message(4),
        write(modified, deleted),
        *message(4, first=4),
        write({"modify": policy("round_robin")["insert"]}),
        *message(4, first=8),
        write({"modify": policy("weighted")["insert"]}),
        *message(60, first=12),
    ]


@case
def spray_least_queue() -> list[Step]:
    """Two draws; nothing waits, so the first one holds, as with random."""
    return [leaf(), write(*second_choices()), write(policy("least_queue", seed=2024)), *message(40)]


@case
def spray_least_queue_alone() -> list[Step]:
    """Without a second choice the first one holds; a second group of other members is not asked either."""
    return [leaf(), write(policy("least_queue", seed=7)), *message(16)]


@case
def spray_flowlet() -> list[Step]:
    """A flow that does not pause keeps its path, whatever its path_id; each flow has a path of its own."""
    frames = [csa(path_id=i, src_port=0xC000 + i) for i in range(6)]
    frames += [csa(src=f"10.0.1.{1 + i % 5}", pkt_idx=i, pkt_total=20) for i in range(20)]
    ip = IP(src=SOURCE, dst=DESTINATION, id=7)
    frames += [ip_frame(ip / TCP(sport=1024 + i % 6, dport=80, seq=i)) for i in range(18)]
    frames += [ip_frame(ip / UDP(sport=1024 + i % 3, dport=80) / bytes([i])) for i in range(6)]
    return [leaf(), write(policy("flowlet", seed=77, gap=HOUR_US)), *send_all(frames)]


@case
def spray_flowlet_pauses() -> list[Step]:
    """With a gap of 0 every packet begins a flowlet: the n-th draw of the group is its path."""
    return [leaf(), write(policy("flowlet", seed=2024, gap=0)), *message(24)]


@case
def watch_port_of_two_choices() -> list[Step]:
    """A port that is down is neither the first choice nor the second."""
    down, up = {"link": {"port": 2, "up": False}}, {"link": {"port": 2, "up": True}}
    return [
        leaf(watch=True),
        write(*second_choices(watch=True)),
        write(policy("least_queue", seed=5)),
        *message(12),
        down,
        *message(12, first=12),
        up,
        *message(12, first=24),
    ]
