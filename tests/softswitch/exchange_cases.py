"""The exchanges that tie the embedded switch to simple_switch_grpc: what it is told and what it is sent.

`python -m tests.softswitch.exchange_cases DIRECTORY` writes the cases, and then `python -m
csaud_softswitch.exchange record DIRECTORY/*.json --program p4src/artifacts/csaud.json --out FOLDER` plays
them on simple_switch_grpc and adds its answers. The result is committed in tests/softswitch/exchanges.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from csaud_softswitch.exchange.vector import Step, Vector
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.l2 import ARP, Ether

from tests.softswitch.inputs import (
    ACK,
    DESTINATION,
    GROUP,
    LLDP,
    LOSS_TYPE,
    NO_TRIM,
    PORTS,
    PROFILE,
    SOURCE,
    STATE,
    UPLINKS,
    csa,
    ether,
    group,
    insert,
    ip_frame,
    leaf,
    limits,
    lose,
    loss_notice,
    member,
    name,
    path,
    policy,
    route,
    send,
    send_all,
    trim,
    with_checksum,
    with_magic,
    with_opcode,
    write,
)
from tests.support.roce import LOSS_PORT, Control

CASES: dict[str, Callable[[], Vector]] = {}


def case(make: Callable[[], list[Step]]) -> Callable[[], list[Step]]:
    """Register a case; its name is the function's, its `about` the function's docstring."""
    about = " ".join((make.__doc__ or "").split())
    CASES[make.__name__] = lambda: Vector(make.__name__, about, PORTS, make())
    return make


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
        csa(dst_qpn=1),
        with_opcode(csa(), 0x04),
        with_magic(csa(), 0xC5A2),
        csa(dst_port=4792),
    ]
    return [leaf(), *send_all(frames)]


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


# --- losses


@case
def trim_to_the_receiver() -> list[Step]:
    """With trim_at 0 every DATA is cut to its headers, whatever its length; control, LOSS and NO_TRIM
    pass.
    """
    frames = [csa(payload) for payload in (0, 1, 2, 3, 40, 1500, 4064)]
    frames += [
        csa(flags=NO_TRIM),
        csa(kind=ACK, body=Control().pack()),
        csa(kind=STATE, body=Control(bitmap_bits=64).pack() + bytes(8)),
        loss_notice(pkt_idx=3, pkt_total=9),
        csa(
            attempt=3, flags=0x07, spray=4, criticality=5, ordered=1, path_id=77, path_seq=9, tx_ts=0xDEADBEEF
        ),
        with_checksum(csa(), dscp=10),
        ip_frame(IP(src=SOURCE, dst=DESTINATION) / TCP() / bytes(20)),
    ]
    return [
        leaf(),
        write(*[limits(p, 0, 100) for p in UPLINKS], *[trim(p) for p in UPLINKS]),
        *send_all(frames),
    ]


@case
def trim_parameters() -> list[Step]:
    """DSCP and priority come from the entry, per port; a port without an entry drops."""
    entries = [
        *[limits(p, 0, 100) for p in UPLINKS],
        trim(1, dscp=0, priority=0),
        trim(2, dscp=63, priority=5),
        trim(3, 1),
    ]
    return [leaf(), write(*entries, policy("host_directed")), *send_all(csa(path_id=i) for i in range(4))]


@case
def congestion_drop() -> list[Step]:
    """Without a signal what finds no room is dropped and counted by kind; drop_at 0 takes control as well."""
    entries = [limits(1, 0, 100), limits(2, 0, 0), limits(3, 65535, 65535)]
    frames = [csa(path_id=i) for i in range(4)]
    frames += [csa(kind=ACK, path_id=i, body=Control().pack()) for i in range(4)]
    frames += [loss_notice(path_id=i) for i in range(4)]
    return [leaf(), write(*entries, policy("host_directed")), *send_all(frames)]


@case
def fault_silent() -> list[Step]:
    """Injected loss: the n-th packet of a port is lost when the n-th draw of the seed is below the
    threshold.
    """
    entries = [
        lose(1, 0.5, seed=11, signalled=0),
        lose(2, 0.1, seed=12, signalled=0),
        lose(3, 0.0, seed=13, signalled=0),
    ]
    frames = [csa(path_id=i % 4, pkt_idx=i, pkt_total=48) for i in range(48)]
    return [leaf(), write(*entries, policy("host_directed")), *send_all(frames)]


@case
def fault_signalled() -> list[Step]:
    """Injected loss that is told: it becomes a LOSS where the port trims, and a counted drop where it does
    not.
    """
    entries = [lose(1, 0.4, seed=21, signalled=1), lose(2, 0.4, seed=22, signalled=1), trim(1)]
    frames = [csa(path_id=i % 2, pkt_idx=i, pkt_total=24) for i in range(24)]
    frames += [csa(kind=ACK, path_id=i % 2, body=Control().pack()) for i in range(8)]
    return [leaf(), write(*entries, policy("host_directed")), *send_all(frames)]


@case
def fault_by_kind() -> list[Step]:
    """A fault can be for DATA alone: control packets on the same port draw nothing and pass."""
    entries = [lose(1, 0.99999, seed=31, signalled=0, kind="1&&&3"), policy("host_directed")]
    frames = [
        csa(),
        csa(kind=ACK, body=Control().pack()),
        csa(),
        loss_notice(),
        ip_frame(IP(src=SOURCE, dst=DESTINATION) / TCP()),
    ]
    return [leaf(), write(*entries), *send_all(frames)]


# --- packets that are not as they should be


@case
def malformed() -> list[Step]:
    """Wrong checksums, lengths and types; frames that end inside a header."""
    good = csa()
    wrong_checksum = good[:24] + bytes([good[24] ^ 0xFF]) + good[25:]
    frames = [
        wrong_checksum,
        with_checksum(good, udp_length=63),
        with_checksum(good, udp_length=0),
        with_checksum(good, ip_length=0),
        with_checksum(good, ip_length=65535),
        csa(kind=255),
        csa(kind=LOSS_TYPE),
        csa(dst_port=LOSS_PORT),
        good + bytes(10),
        ether(good[14:], 0x86DD),
    ]
    cuts = (14, 20, 33, 34, 38, 42, 50, 54, 58, 62, 63, 64, 90, 94)
    return [leaf(), *send_all(frames), *[send(good[:cut], note=f"cut after {cut} bytes") for cut in cuts]]


@case
def short_arp_and_ether() -> list[Step]:
    """ARP cut short, and frames of other EtherTypes, which have no route."""
    whole = bytes(
        Ether(dst="ff:ff:ff:ff:ff:ff", src="02:00:0a:00:01:01") / ARP(psrc=SOURCE, pdst=DESTINATION)
    )
    frames = [whole[:cut] for cut in (14, 30, 41)]
    return [
        leaf(),
        *send_all(frames),
        send(ether(bytes(46), 0x1234)),
        send(ether(b"", 0x1234)),
        send(ether(bytes(46), LLDP)),
    ]


# --- the controller's packets


@case
def packet_io() -> list[Step]:
    """Punted frames come to the controller with their port; the controller's frames leave by the port it
    names.
    """
    punt = insert(
        table=name("punt.ether_type"),
        match={"hdr.ethernet.ether_type": LLDP},
        action=name("punt.to_cpu"),
        params={},
    )
    probe = ether(b"probe".ljust(46, b"."), LLDP)
    outs = [{"packet_out": {"metadata": {"egress_port": port}, "payload": probe.hex()}} for port in (1, 3, 5)]
    return [
        leaf(),
        write(punt),
        *[send(probe, port=port) for port in PORTS],
        send(csa()),
        *outs,
        {"packet_out": {"metadata": {"egress_port": 2}, "payload": csa().hex()}},
    ]


@case
def write_errors() -> list[Step]:
    """The canonical codes of updates that are refused."""
    missing_route = {"table": name("route.ipv4_lpm"), "match": {"dst": "10.9.0.0/16"}}
    return [
        leaf(),
        write(member(1, 1)),
        write(group(GROUP, (1, 1, None))),
        write(route("10.0.2.0/24", 1)),
        write(path(GROUP, group=GROUP)),
        write({"delete": missing_route}),
        write({"modify": {**missing_route, "action": name("route.set_group"), "params": {"group": 1}}}),
        write({"delete": {"profile": PROFILE, "group": 99}}),
        write(group(98, (77, 1, None))),
        write({"delete": {"profile": PROFILE, "member": 99}}),
        write(route("10.8.0.0/16", 1), {"delete": missing_route}, route("10.7.0.0/16", 1)),
        send(csa(dst="10.7.0.1")),
        send(csa(dst="10.8.0.1")),
    ]


def all_cases() -> list[Vector]:
    return [make() for make in CASES.values()]


def main(arguments: Sequence[str]) -> None:
    directory = Path(arguments[0])
    directory.mkdir(parents=True, exist_ok=True)
    for vector in all_cases():
        vector.dump(directory / f"{vector.name}.json")


if __name__ == "__main__":
    main(sys.argv[1:])
