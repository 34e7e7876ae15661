"""Exchanges about the ways to tell of a loss, congestion marks and the overflow alarm's counters."""

from __future__ import annotations

from csaud_softswitch.exchange.vector import Step
from scapy.layers.inet import IP, TCP

from tests.softswitch.exchange_case import case
from tests.softswitch.inputs import (
    ACK,
    DESTINATION,
    HOST_PORT,
    NO_TRIM,
    SOURCE,
    UPLINKS,
    clones,
    csa,
    ip_frame,
    leaf,
    limits,
    lose,
    loss_notice,
    mark,
    policy,
    return_limits,
    route,
    send,
    send_all,
    signal,
    with_checksum,
    write,
)
from tests.support.roce import Control

PAYLOADS = (0, 1, 2, 3, 40, 1500, 4064)


def congested(what: str, **params: int) -> list[Step]:
    """Every uplink without room for DATA, and saying so."""
    entries = [limits(p, 0, 100, 0) for p in UPLINKS] + [signal(what, p, **params) for p in UPLINKS]
    return [leaf(), write(clones(), *entries)]


@case
def trim_keeps_a_part() -> list[Step]:
    """The size of the entry, within the headers and the packet without its iCRC."""
    steps = []
    for size in (0, 95, 200, 1024, 65535):
        entry = {"modify": signal("trim", 1, size=size)["insert"]}
        steps += [write(entry), *send_all(csa(payload) for payload in PAYLOADS)]
    return [leaf(), write(policy("host_directed"), limits(1, 0, 100), signal("trim", 1)), *steps]


@case
def trim_with_icrc() -> list[Step]:
    """The second form: 98 bytes on the RoCE port, with an iCRC of its own."""
    frames = [csa(payload, tx_ts=payload * 77) for payload in PAYLOADS]
    frames += [csa(flags=NO_TRIM, attempt=200, coll_seq=0xFFFFFFFF), with_checksum(csa(), dscp=46, ecn=1)]
    frames += [csa(ttl=2), csa(src_port=0xFFFF, dst_qpn=0xFFFFFF)]
    return [*congested("trim", icrc=1, size=500), *send_all(frames)]


@case
def bounce() -> list[Step]:
    """Back out of the port of ingress, with addresses and queue pairs exchanged."""
    frames = [csa(payload) for payload in PAYLOADS] + [csa(ttl=2), csa(path_id=9, attempt=3)]
    inbound = csa(200, src=DESTINATION, dst="10.0.2.9")
    return [*congested("bounce"), *send_all(frames), send(inbound, port=3)]


@case
def bounce_with_icrc() -> list[Step]:
    """The second form of a bounced LOSS, and what a port of return without room makes of it."""
    full = write(return_limits(HOST_PORT, 0))
    frames = [csa(payload) for payload in PAYLOADS]
    return [*congested("bounce", icrc=1, dscp=63, priority=0), *send_all(frames), full, send(csa())]


@case
def both() -> list[Step]:
    """One LOSS to each end: the second goes through a clone and round again."""
    frames = [csa(payload) for payload in PAYLOADS] + [csa(ttl=2), csa(path_id=9, attempt=3)]
    return [*congested("both"), *send_all(frames)]


@case
def both_with_icrc() -> list[Step]:
    """Both LOSS in the second form."""
    frames = [csa(payload, pkt_idx=1, pkt_total=3) for payload in PAYLOADS]
    return [*congested("both", icrc=1, priority=5), *send_all(frames)]


@case
def both_keeps_a_part() -> list[Step]:
    """Parts of the payload in both LOSS."""
    return [*congested("both", size=300), *send_all(csa(payload) for payload in PAYLOADS)]


@case
def both_without_room() -> list[Step]:
    """Each LOSS needs room where it goes, and a route; what is missing is counted."""
    entries = [limits(1, 0, 0, 0), limits(2, 0, 100, 0), signal("both", 1), signal("both", 2)]
    to_nowhere = {"delete": {key: route("10.0.1.1/32", 1)["insert"][key] for key in ("table", "match")}}
    return [
        leaf(),
        write(clones(), *entries, policy("host_directed")),
        *send_all(csa(path_id=i) for i in (0, 1)),
        write(limits(HOST_PORT, 0, 0, 0)),
        *send_all(csa(path_id=i) for i in (0, 1)),
        write(to_nowhere),
        *send_all(csa(path_id=i) for i in (0, 1)),
    ]


@case
def both_without_a_session() -> list[Step]:
    """Without the clone session BOTH is TRIM."""
    return [leaf(), write(*[limits(p, 0, 100) for p in UPLINKS], *[signal("both", p) for p in UPLINKS]),
            *send_all([csa(), csa(1500)])]  # fmt: skip


@case
def signals_by_key() -> list[Step]:
    """By port, kind, class and the wish not to be trimmed; the larger priority wins; a DROP among them."""
    entries = [
        signal("trim", 1, dscp=1),
        signal("bounce", 1, dscp=2, match={"cls": "1&&&7"}, rank=2),
        signal("trim", 1, dscp=3, match={"no_trim": "1&&&1"}, rank=3, icrc=1),
        signal("drop", 1, match={"no_trim": "1&&&1", "cls": "4&&&4"}, rank=4),
    ]
    frames = [csa(flags=flags, criticality=cls) for flags in (0, NO_TRIM) for cls in range(8)]
    frames += [csa(kind=ACK, body=Control().pack()), loss_notice()]
    return [leaf(), write(policy("host_directed"), limits(1, 0, 100, 0), *entries), *send_all(frames)]


@case
def no_trim_headroom() -> list[Step]:
    """NO_TRIM has a limit of its own: none below it, none above it, or as everything else."""
    entries = [limits(1, 0, 0, 100), limits(2, 100, 100, 0), limits(3, 0, 100, 0), limits(4, 0, 100)]
    entries += [signal("trim", p) for p in UPLINKS]
    frames = [csa(path_id=i, flags=flags) for i in range(4) for flags in (0, NO_TRIM)]
    frames += [csa(kind=ACK, path_id=i, flags=NO_TRIM, body=Control().pack()) for i in range(4)]
    return [leaf(), write(policy("host_directed"), *entries), *send_all(frames)]


@case
def fault_signalled_to_both() -> list[Step]:
    """Injected loss told to both ends; the LOSS that goes round again is not exposed to it once more."""
    entries = [lose(1, 0.5, seed=41, signalled=1), lose(5, 0.99999, seed=42, signalled=0), signal("both", 1)]
    frames = [csa(pkt_idx=i, pkt_total=24) for i in range(24)]
    return [leaf(), write(clones(), *entries, policy("host_directed")), *send_all(frames)]


@case
def losses_of_others() -> list[Step]:
    """LOSS of either form and of any length that another switch made; what is only like one."""
    first, longer = loss_notice(), csa(100, kind=3, flags=0x20, dst_port=49791)
    second = csa(0, kind=3, flags=0x20)
    unlike = [csa(0, kind=3), csa(0, kind=3, dst_port=49791), csa(0, dst_port=49791)]
    return [leaf(), *send_all([first, longer, second, *unlike])]


@case
def ecn_marks() -> list[Step]:
    """Always from `high` on; only where the sender listens; DATA counted by path."""
    entries = [mark(1, 0, 0), mark(2, 1000, 2000), mark(3, 0, 0, seed=9)]
    frames = [with_checksum(csa(path_id=i), ecn=ecn) for i in range(4) for ecn in range(4)]
    frames += [with_checksum(csa(kind=ACK, path_id=0, body=Control().pack()), ecn=2)]
    frames += [
        ip_frame(IP(src=SOURCE, dst=DESTINATION, tos=1) / TCP(sport=5, dport=port)) for port in range(8)
    ]
    return [leaf(), write(policy("host_directed"), *entries), *send_all(frames)]


@case
def ecn_and_trim() -> list[Step]:
    """What is cut is not marked, and keeps the sender's ECN."""
    frames = [with_checksum(csa(path_id=0), ecn=ecn) for ecn in range(4)]
    return [leaf(), write(policy("host_directed"), mark(1, 0, 0), limits(1, 0, 100), signal("trim", 1)),
            *send_all(frames)]  # fmt: skip


@case
def overflow_counters() -> list[Step]:
    """What joins a queue at alarm_at or above it, by path, LOSS made here, too."""
    entries = [
        limits(1, 100, 100, 100, 0),
        limits(2, 100, 100, 100, 1),
        limits(3, 0, 100, 0, 0),
        signal("trim", 3),
    ]
    frames = [csa(path_id=i) for i in range(12)] + [csa(kind=ACK, path_id=4, body=Control().pack())]
    frames += [ip_frame(IP(src=SOURCE, dst=DESTINATION) / TCP(sport=port)) for port in range(4)]
    return [leaf(), write(policy("host_directed"), *entries), *send_all(frames)]
