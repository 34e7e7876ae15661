"""Exchanges about packets that are lost, cut or not as they should be, and about the controller's packets."""

from __future__ import annotations

from csaud_softswitch.exchange.vector import Step
from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import ARP, Ether

from tests.softswitch.exchange_case import case
from tests.softswitch.inputs import (
    ACK,
    DESTINATION,
    GROUP,
    HOST_PORT,
    LLDP,
    LOSS_TYPE,
    NEVER,
    NO_TRIM,
    PORTS,
    PROFILE,
    SOURCE,
    STATE,
    UPLINKS,
    csa,
    default_route,
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
    probes_to_cpu,
    route,
    send,
    send_all,
    signal,
    trim,
    with_checksum,
    write,
)
from tests.support.roce import LOSS_PORT, Control

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
    """Wrong versions, checksums, lengths and types; frames that end inside a header."""
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
        *(with_checksum(good[:14] + bytes([first]) + good[15:]) for first in (0x40, 0x44, 0x55, 0x75)),
        *(with_checksum(good, ip_length=length) for length in (19, 20)),
    ]
    cuts = (14, 20, 33, 34, 38, 42, 50, 54, 58, 62, 63, 64, 90, 94)
    short = [send(good[:cut], note=f"cut after {cut} bytes") for cut in cuts]
    return [leaf(), *send_all(frames), write(default_route()), *short]


@case
def short_arp_and_ether() -> list[Step]:
    """ARP cut short, and frames of other EtherTypes: even a default route is none for them."""
    whole = bytes(
        Ether(dst="ff:ff:ff:ff:ff:ff", src="02:00:0a:00:01:01") / ARP(psrc=SOURCE, pdst=DESTINATION)
    )
    frames = [whole[:cut] for cut in (14, 30, 41)]
    return [
        leaf(),
        write(default_route()),
        *send_all(frames),
        send(ether(bytes(46), 0x1234)),
        send(ether(b"", 0x1234)),
        send(ether(bytes(46), LLDP)),
    ]


# --- the controller's packets


@case
def packet_io() -> list[Step]:
    """Punted frames come to the controller with their port, from ports that have an entry; the controller's
    frames leave by the port it names.
    """
    probe = ether(b"probe".ljust(46, b"."), LLDP)
    outs = [{"packet_out": {"metadata": {"egress_port": port}, "payload": probe.hex()}} for port in (1, 3, 5)]
    return [
        leaf(),
        write(*probes_to_cpu(PORTS[:-1])),
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


@case
def punts_held_back() -> list[Step]:
    """A port's frames for the controller have a pace; those of another port do not count."""
    [slow, other] = probes_to_cpu((1, 2))
    slow["insert"]["params"] = {"gap_us": (1 << 47)}
    probe = ether(b"probe".ljust(46, b"."), LLDP)
    return [leaf(), write(slow, other), *[send(probe, port=port) for port in (1, 1, 2, 1, 2)]]


# --- what comes from hosts


@case
def edge() -> list[Step]:
    """From a host: no LOSS, only its own address and the classes that it may use. From a switch: all."""
    host = {"port": HOST_PORT}
    entries = [
        insert(table=name("edge.ports"), match=host, action=name("edge.check"), params={}),
        insert(
            table=name("edge.sources"),
            match={**host, "src": f"{SOURCE}/32"},
            action=name("edge.belongs"),
            params={},
        ),
        insert(table=name("edge.classes"), match={**host, "cls": 6}, action=name("edge.refuse"), params={}),
    ]
    arp = ARP(psrc="10.0.1.9", pdst=DESTINATION)
    frames = [
        csa(),
        csa(kind=LOSS_TYPE, flags=0x20),
        csa(kind=LOSS_TYPE),
        csa(src="10.0.1.9"),
        csa(criticality=6),
        csa(criticality=6, kind=ACK),
        csa(criticality=5),
        ip_frame(IP(src="10.0.1.9", dst=DESTINATION) / TCP()),
        ether(bytes(arp), 0x0806),
        ether(bytes(ARP(psrc="0.0.0.0", pdst=DESTINATION)), 0x0806),
    ]
    return [leaf(), write(*entries), *send_all(frames), *[send(frame, port=2) for frame in frames]]


@case
def room_of_other_traffic() -> list[Step]:
    """Other traffic has a limit of its own; DATA and control do not ask for it."""
    ip = IP(src=SOURCE, dst=DESTINATION)
    frames = [csa(), csa(kind=ACK), ip_frame(ip / TCP(sport=5)), csa(), ip_frame(ip / TCP(sport=6))]
    ports = [limits(port, trim_at=NEVER, drop_at=NEVER, other_at=0) for port in UPLINKS]
    return [leaf(), write(*ports), *send_all(frames)]


@case
def loss_beyond_its_share() -> list[Step]:
    """What is beyond it finds the limit of DATA, where LOSS is made and where it passes."""
    no_data = [limits(port, trim_at=0, drop_at=NEVER, loss_byte_time=(1 << 32) - 1) for port in UPLINKS]
    signals = [signal("trim", port, size=1000) for port in UPLINKS]
    notice = csa(900, kind=LOSS_TYPE, flags=0x20)
    return [leaf(), write(*no_data, *signals), *send_all([csa(1500)] * 14), *send_all([notice] * 3)]
