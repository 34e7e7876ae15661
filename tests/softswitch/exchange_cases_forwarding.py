"""Exchanges about where packets go: routing, spraying, groups."""

from __future__ import annotations

from csaud_softswitch.exchange.vector import Step
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.l2 import ARP, Ether

from tests.softswitch.exchange_case import case
from tests.softswitch.inputs import (
    ACK,
    DESTINATION,
    GROUP,
    PROFILE,
    SOURCE,
    UPLINKS,
    csa,
    group,
    ip_frame,
    leaf,
    member,
    name,
    path,
    policy,
    route,
    send,
    send_all,
    with_checksum,
    with_magic,
    with_opcode,
    write,
)
from tests.support.roce import Control

# --- routing


@case
def lpm() -> list[Step]:
    """The longest prefix wins, whatever the order of insertion; no prefix: counted and dropped."""
    targets = {1: "10.0.0.0/8", 2: "10.0.2.0/24", 3: "10.0.2.1/32", 4: "10.0.2.128/25"}
    entries = [member(port, port) for port in UPLINKS] + [path(port, member=port) for port in UPLINKS]
    entries += [route(prefix, port) for port, prefix in targets.items()]
    destinations = [
        "10.0.2.1",
        "10.0.2.2",
        "10.0.2.127",
        "10.0.2.128",
        "10.0.3.1",
        "10.255.0.1",
        "11.0.0.1",
        "0.0.0.0",
    ]
    return [write(*entries), *send_all(csa(dst=dst) for dst in destinations)]


@case
def lpm_changes() -> list[Step]:
    """Modified and deleted routes hold for the next packet; a default route takes what is left."""
    prefix = {"table": name("route.ipv4_lpm"), "match": {"dst": "10.0.2.0/24"}}
    to_group_2 = {"action": name("route.set_group"), "params": {"group": 2}}
    return [
        write(
            *[member(p, p) for p in (1, 2, 3)],
            *[path(p, member=p) for p in (1, 2, 3)],
            route("10.0.2.0/24", 1),
        ),
        send(csa()),
        write({"modify": {**prefix, **to_group_2}}),
        send(csa()),
        write({"delete": prefix}),
        send(csa()),
        write(route("128.0.0.0/1", 3), route("0.0.0.0/1", 3)),
        send(csa()),
        send(csa(dst="203.0.113.9")),
    ]


@case
def ttl() -> list[Step]:
    """TTL goes down by one with the checksum right; TTL 1 and 0 are counted and dropped."""
    return [
        leaf(),
        *send_all(csa(ttl=ttl) for ttl in (255, 64, 2, 1, 0)),
        send(ip_frame(IP(src=SOURCE, dst=DESTINATION, ttl=1) / UDP())),
    ]


@case
def arp() -> list[Step]:
    """ARP goes where the address it asks for is; one for an unknown address is dropped."""

    def who_has(target: str) -> bytes:
        return bytes(Ether(dst="ff:ff:ff:ff:ff:ff", src="02:00:0a:00:01:01") / ARP(psrc=SOURCE, pdst=target))

    reply = Ether(dst="02:00:0a:00:01:01", src="02:00:0a:00:02:01") / ARP(op=2, psrc=DESTINATION, pdst=SOURCE)
    padded = who_has(DESTINATION).ljust(60, b"\0")
    return [
        leaf(),
        *send_all([who_has(DESTINATION), who_has("10.0.9.1"), padded]),
        send(bytes(reply), port=2),
    ]


@case
def other_traffic() -> list[Step]:
    """TCP, UDP, ICMP, fragments, IP options and other RoCE are kind OTHER and spread by ECMP."""
    ip = IP(src=SOURCE, dst=DESTINATION, id=7)
    frames = [ip_frame(ip / TCP(sport=port, dport=80) / b"hello") for port in (1024, 1025, 1026, 1027)]
    frames += [ip_frame(ip / UDP(sport=port, dport=53) / b"query") for port in (2000, 2001, 2002)]
    frames += [
        ip_frame(ip / ICMP() / b"ping"),
        ip_frame(IP(src=SOURCE, dst=DESTINATION, frag=100) / UDP(sport=1, dport=4791) / bytes(80)),
        ip_frame(
            IP(src=SOURCE, dst=DESTINATION, options=b"\x01\x01\x01\x00")
            / UDP(sport=9, dport=4791)
            / bytes(80)
        ),
        with_checksum(csa()[:20] + b"\x20" + csa()[21:]),
        csa(dst_qpn=1),
        with_opcode(csa(), 0x04),
        with_magic(csa(), 0xC5A2),
        csa(dst_port=4792),
    ]
    return [leaf(), *send_all(frames)]


@case
def ip_options() -> list[Step]:
    """The checksum of a header with options stays right, or as wrong as it was; ECN does not change there."""
    router_alert = {"src": SOURCE, "dst": DESTINATION, "tos": 2, "options": b"\x94\x04\x00\x00"}
    frames = [
        ip_frame(IP(**router_alert, ttl=ttl, id=number) / TCP(sport=5, dport=80))
        for ttl in (2, 64, 255)
        for number in (0, 0x1234, 0x4EDA, 0xFFFF)
    ]
    wrong = bytearray(frames[0])
    wrong[24] ^= 0x10
    return [leaf(), *send_all([*frames, bytes(wrong)])]


# --- spraying


@case
def spray_ecmp() -> list[Step]:
    """The default mode: the 5-tuple decides, path_id does not."""
    frames = [csa(src_port=0xC000 + i, path_id=i) for i in range(16)]
    frames += [csa(path_id=i) for i in range(4)]
    return [leaf(), *send_all(frames)]


@case
def spray_ecmp_seed() -> list[Step]:
    """A seed moves flows to other paths."""
    return [
        leaf(),
        write(policy("ecmp", seed=0x1234ABCD)),
        *send_all(csa(src_port=0xC000 + i) for i in range(16)),
    ]


@case
def spray_entropy() -> list[Step]:
    """path_id decides; the UDP port does not."""
    frames = [csa(path_id=i) for i in range(20)] + [csa(path_id=3, src_port=0xC100 + i) for i in range(4)]
    return [leaf(), write(policy("entropy", seed=99)), *send_all(frames)]


@case
def spray_random() -> list[Step]:
    """The n-th packet of a group goes where the n-th draw of the seed says."""
    return [
        leaf(),
        write(policy("random", seed=2024)),
        *send_all(csa(pkt_idx=i, pkt_total=40) for i in range(40)),
    ]


@case
def spray_round_robin() -> list[Step]:
    """Turn by turn, counted per group; other modes in between take no turn."""
    entries = [policy("round_robin"), policy("ecmp", priority=20, match={"kind": "0&&&3"}, seed=0)]
    frames = [csa(pkt_idx=i, pkt_total=10) for i in range(10)]
    frames.insert(5, ip_frame(IP(src=SOURCE, dst=DESTINATION) / TCP()))
    return [leaf(), write(*entries), *send_all(frames)]


@case
def spray_host_directed() -> list[Step]:
    """path_id is the index itself, modulo the number of members."""
    frames = [csa(path_id=i) for i in (0, 1, 2, 3, 4, 5, 7, 1000, 65535)]
    return [leaf(), write(policy("host_directed")), *send_all(frames)]


@case
def spray_host_directed_above() -> list[Step]:
    """path_id divided by 3 is the index."""
    frames = [csa(path_id=i) for i in (0, 2, 3, 5, 6, 9, 11, 12, 1000, 65535)]
    return [leaf(), write(policy("host_directed_above", reciprocal=21846)), *send_all(frames)]


@case
def spray_policy_priority() -> list[Step]:
    """The policy with the larger priority wins; its keys are ternary: group, kind, mode asked for, class,
    comm.
    """
    entries = [
        policy("host_directed", priority=1),
        policy("round_robin", priority=30, match={"asked": "4&&&15"}),
        policy("random", priority=20, match={"asked": "3&&&15", "cls": "2&&&7"}, seed=5),
        policy("entropy", priority=40, match={"comm": "0x100&&&0xff00", "kind": "1&&&1"}, seed=6),
        policy("ecmp", priority=50, match={"group": "9&&&0xffff"}, seed=0),
    ]
    frames = [
        csa(path_id=2),
        csa(path_id=2, spray=4),
        csa(path_id=2, spray=3),
        csa(path_id=2, spray=3, criticality=2),
    ]
    frames += [csa(path_id=i, comm=0x17F, spray=4) for i in range(4)]
    frames += [csa(kind=ACK, path_id=3, comm=0x17F, body=Control().pack()), csa(path_id=1, spray=4)]
    return [leaf(), write(*entries), *send_all(frames)]


# --- groups


@case
def group_weights() -> list[Step]:
    """A member of weight w has w slots; round robin shows their order."""
    entries = [
        *[member(p, p) for p in UPLINKS],
        group(GROUP, (1, 1, None), (2, 3, None), (4, 2, None)),
        path(GROUP, group=GROUP),
    ]
    return [
        write(*entries, route("10.0.2.0/24", GROUP), policy("round_robin")),
        *send_all(csa(pkt_idx=i, pkt_total=14) for i in range(14)),
    ]


@case
def group_changes() -> list[Step]:
    """Members that leave, come back and change their weight; ids that are not in the order of insertion."""

    def modify(*members: tuple[int, int, int | None]) -> Step:
        return write({"modify": group(GROUP, *members)["insert"]})

    burst = send_all(csa(pkt_idx=i, pkt_total=8) for i in range(8))
    entries = [member(40, 4), member(10, 1), member(30, 3), member(20, 2)]
    return [
        write(*entries, group(GROUP, (10, 1, None), (20, 1, None), (30, 1, None), (40, 1, None))),
        write(path(GROUP, group=GROUP), route("10.0.2.0/24", GROUP), policy("round_robin")),
        *burst,
        modify((10, 1, None), (30, 2, None)),
        *burst,
        modify((10, 1, None), (20, 1, None), (30, 1, None), (40, 2, None)),
        *burst,
        write({"delete": {"profile": PROFILE, "member": 99}}),
        write(
            {
                "modify": {
                    "profile": PROFILE,
                    "member": 20,
                    "action": name("spray.forward"),
                    "params": {"port": 5},
                }
            }
        ),
        *burst,
    ]


@case
def small_groups() -> list[Step]:
    """A group of one member, groups that share members, and routes to groups without a path: counted,
    dropped.
    """
    entries = [*[member(p, p) for p in UPLINKS], group(1, (3, 1, None)), group(2, (3, 1, None), (1, 1, None))]
    entries += [path(1, group=1), path(2, group=2)]
    entries += [
        route("10.0.1.0/24", 1),
        route("10.0.2.0/24", 2),
        route("10.0.3.0/24", 3),
        route("10.0.4.0/24", 4),
    ]
    frames = [csa(dst=f"10.0.{k}.1", path_id=i) for k in (1, 2, 3, 4) for i in range(3)]
    return [write(*entries, policy("host_directed")), *send_all(frames)]


@case
def watch_port() -> list[Step]:
    """A member whose watched port is down is skipped, and taken again when the port is back."""
    burst = send_all(csa(path_id=i) for i in range(8))
    down, up = {"link": {"port": 2, "up": False}}, {"link": {"port": 2, "up": True}}
    return [leaf(watch=True), write(policy("host_directed")), *burst, down, *burst, up, *burst]
