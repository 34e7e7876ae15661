"""Exchanges about IPv6: what differs from IPv4 in routing, marks, losses and at the edge."""

from __future__ import annotations

from typing import Any

from csaud_softswitch.exchange.vector import Step
from scapy.layers.inet import TCP, UDP
from scapy.layers.inet6 import (
    ICMPv6EchoRequest,
    ICMPv6ND_NA,
    ICMPv6ND_NS,
    IPv6,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
)
from scapy.layers.l2 import ARP
from scapy.packet import Packet

from tests.softswitch.exchange_case import case
from tests.softswitch.inputs import (
    ACK,
    GROUP,
    HOST_PORT,
    LOSS_TYPE,
    MACS,
    NEVER,
    UPLINKS,
    clones,
    ether,
    insert,
    leaf,
    limits,
    mark,
    name,
    policy,
    send,
    send_all,
    signal,
    write,
)
from tests.support.roce import CsaHeader
from tests.support.roce6 import datagram6

_SOURCE, _DESTINATION = "fd00:a00:1::1", "fd00:a00:2::1"
_HOST_GROUP = 1


def _route6(prefix: str, group: int = GROUP) -> dict[str, Any]:
    action = {"action": name("route.set_group6"), "params": {"group": group}}
    return insert(table=name("route.ipv6_lpm"), match={"dst": prefix}, **action)


def _leaf6(*entries: dict[str, Any]) -> list[Step]:
    return [leaf(), write(_route6("fd00:a00:2::/64"), _route6(f"{_SOURCE}/128", _HOST_GROUP), *entries)]


def _frame(packet: Packet) -> bytes:
    return MACS + b"\x86\xdd" + bytes(packet)


def csa6(payload: int = 64, src: str = _SOURCE, dst: str = _DESTINATION, **fields: int) -> bytes:
    """`tc`, `hlim` and `sport` are the packet's, what else there is its CSA header's."""
    below = {key: fields.pop(key) for key in ("tc", "hlim", "sport") if key in fields}
    body = CsaHeader(**fields).pack() + bytes(range(256)) * (payload // 256) + bytes(range(payload % 256))
    packet = datagram6(src, dst, body, src_qpn=0x11, dst_qpn=0x22, qkey=0x1234, fl=0x54321, **below)
    return MACS + b"\x86\xdd" + packet


@case
def ipv6() -> list[Step]:
    """Routed by 128 bits with a hop less; link-local and unspecified sources, and multicast, are not."""
    ip = IPv6(src=_SOURCE, dst=_DESTINATION)
    frames = [csa6(hlim=hlim) for hlim in (255, 64, 2, 1, 0)]
    frames += [csa6(dst=f"fd00:a00:2::{host}") for host in ("7f", "80", "81", "82")]
    frames += [csa6(dst="fd00:a00:3::1"), csa6(src="fe80::1"), csa6(src="febf::1"), csa6(src="fec0::1")]
    frames += [csa6(src="::"), csa6(dst="ff02::1"), csa6(kind=ACK), csa6(kind=LOSS_TYPE, flags=0x20)]
    others = (
        ip / TCP(sport=5, dport=80),
        ip / UDP(dport=53) / b"query",
        ip / IPv6ExtHdrHopByHop() / UDP(dport=4791) / bytes(60),
        ip / IPv6ExtHdrFragment(offset=3, nh=17) / b"the rest",
        ip / ICMPv6EchoRequest(),
    )
    frames += [_frame(packet) for packet in others]
    frames += [csa6()[:length] for length in (14, 53, 54, 57, 62, 100)]
    longer = (_route6("fd00:a00:2::80/121", _HOST_GROUP), _route6("fd00:a00:2::81/128"))
    return [*_leaf6(*longer), *send_all(frames)]


def neighbours() -> list[bytes]:
    """Solicitations, as they should be and otherwise, and a host's answer to nobody."""
    ip = IPv6(src=_SOURCE, dst="ff02::1:ff00:1", hlim=255)
    return [
        _frame(ip / ICMPv6ND_NS(tgt=_DESTINATION)),
        _frame(ip / ICMPv6ND_NS(tgt="fd00:a00:9::1")),
        _frame(IPv6(src=_SOURCE, dst=_DESTINATION, hlim=9) / ICMPv6ND_NS(tgt=_DESTINATION)),
        _frame(IPv6(src="::", dst="ff02::1:ff00:1", hlim=255) / ICMPv6ND_NS(tgt=_DESTINATION)),
        _frame(ip / ICMPv6ND_NS(tgt=_DESTINATION))[:70],
        ether(bytes(ARP(op=2, psrc="10.0.1.1", pdst="0.0.0.0")), 0x0806),
    ]


@case
def ipv6_neighbours() -> list[Step]:
    """A solicitation goes where its target is and keeps its hop limit, which an advertisement keeps, too."""
    back = IPv6(src=_DESTINATION, dst=_SOURCE, hlim=255) / ICMPv6ND_NA(tgt=_DESTINATION)
    return [*_leaf6(), *send_all(neighbours()), send(_frame(back), port=2)]


@case
def ipv6_spray() -> list[Step]:
    """A hash of the addresses stands for them in every mode that hashes."""
    frames = [csa6(8, path_id=n, dst=f"fd00:a00:2:0:{n:x}::{n:x}", sport=0xC000 + n) for n in range(24)]
    steps = _leaf6()
    for priority, (mode, params) in enumerate(
        (("ecmp", {"seed": 7}), ("entropy", {"seed": 7}), ("flowlet", {"seed": 7, "gap": 1000})), 10
    ):
        steps += [write(policy(mode, priority, **params)), *send_all(frames)]
    return steps


@case
def ipv6_losses() -> list[Step]:
    """TRIM, BOUNCE and BOTH in both forms, of one uplink each: lengths, addresses and the iCRC are IPv6's."""
    what = ((1, "trim", 0), (2, "bounce", 0), (3, "trim", 1), (4, "bounce", 1))
    full = [limits(port, trim_at=0, drop_at=NEVER) for port in UPLINKS]
    signals = [signal(told, port, size=150, icrc=icrc) for port, told, icrc in what]
    frames = [csa6(size, path_id=path, tc=1) for size in (0, 3, 300) for path in range(4)]
    return [*_leaf6(*full, *signals, policy("host_directed")), *send_all(frames)]


@case
def ipv6_both() -> list[Step]:
    """The second LOSS is routed by the sender's IPv6 address."""
    full = [limits(port, trim_at=0, drop_at=NEVER) for port in UPLINKS]
    signals = [signal("both", port, size=114, icrc=port % 2) for port in UPLINKS]
    frames = [csa6(200, path_id=path) for path in range(4)]
    return [*_leaf6(clones(), *full, *signals, policy("host_directed")), *send_all(frames)]


@case
def ipv6_marks() -> list[Step]:
    """ECN is in the traffic class."""
    marks = [mark(port, low=0, high=0) for port in UPLINKS]
    tcp = IPv6(src=_SOURCE, dst=_DESTINATION, tc=2) / TCP()
    return [*_leaf6(*marks), *send_all([csa6(tc=0x68 | ecn) for ecn in range(4)]), send(_frame(tcp))]


@case
def ipv6_edge() -> list[Step]:
    """Only its own address comes in from a host; what is its link's own is not refused."""
    host = {"port": HOST_PORT}
    entries = [
        insert(table=name("edge.ports"), match=host, action=name("edge.check"), params={}),
        insert(
            table=name("edge.sources6"),
            match={**host, "src": f"{_SOURCE}/128"},
            action=name("edge.belongs6"),
            params={},
        ),
    ]
    frames = [
        csa6(),
        csa6(src="fd00:a00:1::9"),
        csa6(src="fd00:a00:1:0:8000::1"),
        csa6(kind=LOSS_TYPE, flags=0x20),
        csa6(src="fe80::1"),
        csa6(src="::"),
        *(
            _frame(IPv6(src=_SOURCE, dst=_DESTINATION, hlim=255) / ICMPv6ND_NA(tgt=target))
            for target in (_SOURCE, "fd00:a00:1::9")
        ),
    ]
    return [*_leaf6(*entries), *send_all(frames), *[send(frame, port=2) for frame in frames]]
