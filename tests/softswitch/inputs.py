"""What the tests tell a switch that runs the project's program, and what they send it."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any

from csaud_softswitch.exchange.vector import Step

from tests.support.roce import LOSS_PORT, CsaHeader, Datagram

PORTS = [1, 2, 3, 4, 5]
UPLINKS = (1, 2, 3, 4)
HOST_PORT = 5
GROUP = 7
PROFILE = "CsaudIngress.spray.path_selector"
SECOND_PROFILE = "CsaudIngress.spray.second_selector"
SOURCE, DESTINATION = "10.0.1.1", "10.0.2.1"
MACS = bytes.fromhex("02000a00020102000a000101")
ACK, STATE, LOSS_TYPE = 1, 2, 3
NO_TRIM = 0x08
LLDP = 0x88CC

# --- what the switch is told


def name(short: str) -> str:
    return f"CsaudIngress.{short}"


def insert(**body: Any) -> dict[str, Any]:
    return {"insert": body}


def member(number: int, port: int) -> dict[str, Any]:
    return insert(profile=PROFILE, member=number, action=name("spray.forward"), params={"port": port})


def group(number: int, *members: tuple[int, int, int | None]) -> dict[str, Any]:
    """members: (member, weight, watch port)."""
    rows = [
        {"member": m, "weight": weight} | ({} if watch is None else {"watch_port": watch})
        for m, weight, watch in members
    ]
    return insert(profile=PROFILE, group=number, members=rows)


def path(number: int, **target: int) -> dict[str, Any]:
    return insert(table=name("spray.paths"), match={"group": number}, **target)


def probes_to_cpu(ports: Iterable[int]) -> list[dict[str, Any]]:
    """LLDP of these ports goes to the controller, however much there is."""
    return [
        insert(
            table=name("punt.ether_type"),
            match={"hdr.ethernet.ether_type": LLDP, "port": port},
            action=name("punt.to_cpu"),
            params={"gap_us": 0},
        )
        for port in ports
    ]


def default_route() -> dict[str, Any]:
    """Of every address, to the leaf's group; a prefix of no bits is left out in P4Runtime."""
    return insert(
        table=name("route.ipv4_lpm"), match={}, action=name("route.set_group"), params={"group": GROUP}
    )


def route(prefix: str, number: int) -> dict[str, Any]:
    return insert(
        table=name("route.ipv4_lpm"),
        match={"dst": prefix},
        action=name("route.set_group"),
        params={"group": number},
    )


def policy(
    mode: str, priority: int = 10, match: dict[str, str] | None = None, **params: int
) -> dict[str, Any]:
    return insert(
        table=name("spray.policy"),
        match=match or {},
        priority=priority,
        action=name(f"spray.{mode}"),
        params=params,
    )


NEVER = 0xFFFF
"""A limit that no shadow reaches."""


def limits(
    port: int,
    trim_at: int,
    drop_at: int,
    no_trim_at: int | None = None,
    alarm_at: int = NEVER,
    other_at: int | None = None,
    loss_byte_time: int = 0,
) -> dict[str, Any]:
    """no_trim_at and other_at are drop_at where they are not given."""
    return insert(
        table=name("congestion.limits"),
        match={"port": port},
        action=name("congestion.set_limits"),
        params={
            "trim_at": trim_at,
            "no_trim_at": drop_at if no_trim_at is None else no_trim_at,
            "other_at": drop_at if other_at is None else other_at,
            "drop_at": drop_at,
            "alarm_at": alarm_at,
            "loss_byte_time": loss_byte_time,
        },
    )


def signal(
    what: str,
    port: int,
    *,
    size: int = 94,
    dscp: int = 20,
    priority: int = 7,
    icrc: int = 0,
    match: dict[str, str] | None = None,
    rank: int = 1,
) -> dict[str, Any]:
    """What becomes of DATA without room: trim, bounce, both or drop; `rank` is the entry's priority."""
    params = {} if what == "drop" else {"size": size, "dscp": dscp, "priority": priority, "icrc": icrc}
    return insert(
        table=name("loss_signal.signal"),
        match={"port": port, "kind": "1&&&3"} | (match or {}),
        priority=rank,
        action=name(f"loss_signal.{what}"),
        params=params,
    )


def trim(port: int, dscp: int = 20, priority: int = 7) -> dict[str, Any]:
    return signal("trim", port, dscp=dscp, priority=priority)


def return_limits(port: int, drop_at: int, alarm_at: int = NEVER) -> dict[str, Any]:
    return insert(
        table=name("loss_signal.return_limits"),
        match={"port": port},
        action=name("loss_signal.set_return_limits"),
        params={"trim_at": NEVER, "drop_at": drop_at, "alarm_at": alarm_at, "loss_byte_time": 0},
    )


def clones() -> dict[str, Any]:
    """The clone session that BOTH needs."""
    return insert(clone_session=1, replicas=[{"port": 127, "instance": 1}])


def mark(port: int, low: int, high: int, seed: int = 3) -> dict[str, Any]:
    return insert(
        table=name("ecn.marking"),
        match={"port": port},
        action=name("ecn.mark_between"),
        params={"low": low, "high": high, "seed": seed},
    )


def bucket(number: int, index: int, group_number: int = GROUP) -> dict[str, Any]:
    return insert(
        table=name("spray.buckets"),
        match={"group": group_number, "bucket": number},
        action=name("spray.set_index"),
        params={"index": index},
    )


def second_choices(watch: bool = False) -> list[dict[str, Any]]:
    """The uplinks' group once more, for the second of two choices."""
    profile = {"profile": SECOND_PROFILE}
    items = [{"insert": {**member(port, port)["insert"], **profile}} for port in UPLINKS]
    rows = group(GROUP, *((port, 1, port if watch else None) for port in UPLINKS))["insert"]
    items.append({"insert": {**rows, **profile}})
    return [*items, insert(table=name("spray.alternative"), match={"group": GROUP}, group=GROUP)]


def lose(port: int, probability: float, seed: int, signalled: int, kind: str | None = None) -> dict[str, Any]:
    return insert(
        table=name("fault.inject"),
        match={"port": port} | ({} if kind is None else {"kind": kind}),
        priority=1,
        action=name("fault.lose"),
        params={"threshold": int(probability * 2**32), "seed": seed, "signalled": signalled},
    )


def leaf(watch: bool = False) -> Step:
    """A leaf's tables: 10.0.2.0/24 by a group of the four uplinks, 10.0.1.1 at the host's port."""
    members = [member(port, port) for port in (*UPLINKS, HOST_PORT)]
    uplinks = group(GROUP, *((port, 1, port if watch else None) for port in UPLINKS))
    return {
        "write": [
            *members,
            uplinks,
            path(GROUP, group=GROUP),
            path(1, member=HOST_PORT),
            route("10.0.2.0/24", GROUP),
            route("10.0.1.1/32", 1),
        ]
    }


# --- what it is sent


def csa(
    payload: int = 40,
    *,
    src: str = SOURCE,
    dst: str = DESTINATION,
    src_port: int = 0xC000,
    dst_port: int = 4791,
    dst_qpn: int = 0x22,
    ttl: int = 64,
    body: bytes | None = None,
    **header: int,
) -> bytes:
    """A frame with a CSA packet; `payload` counts its bytes."""
    content = bytes(i & 0xFF for i in range(payload)) if body is None else body
    packet = Datagram(
        src=src, dst=dst, src_qpn=0x11, dst_qpn=dst_qpn, qkey=0x1234, src_port=src_port, dst_port=dst_port,
        ttl=ttl, payload=CsaHeader(**header).pack() + content,
    )  # fmt: skip
    return MACS + b"\x08\x00" + packet.pack()


def loss_notice(**header: int) -> bytes:
    """A LOSS as a switch makes it: 94 bytes, no payload, no iCRC."""
    whole = csa(payload=0, kind=LOSS_TYPE, flags=0x20, dst_port=LOSS_PORT, **header)
    return with_checksum(whole[:-4], ip_length=80, udp_length=60)


def with_checksum(
    frame: bytes, *, ip_length: int | None = None, udp_length: int | None = None, **ip: Any
) -> bytes:
    """The frame with fields of its IPv4 header changed and the header's checksum made right again."""
    packet = bytearray(frame)
    if ip_length is not None:
        packet[16:18] = struct.pack(">H", ip_length)
    if udp_length is not None:
        packet[38:40] = struct.pack(">H", udp_length)
    if "dscp" in ip:
        packet[15] = ip["dscp"] << 2
    if "ecn" in ip:
        packet[15] = packet[15] & 0xFC | ip["ecn"]
    packet[24:26] = b"\0\0"
    total = sum(struct.unpack(">10H", packet[14:34]))
    total = (total & 0xFFFF) + (total >> 16)
    packet[24:26] = struct.pack(">H", ~(total + (total >> 16)) & 0xFFFF)
    return bytes(packet)


def ether(payload: bytes, ether_type: int) -> bytes:
    return MACS + struct.pack(">H", ether_type) + payload


def ip_frame(packet: Any) -> bytes:
    return ether(bytes(packet), 0x0800)


def send(frame: bytes, port: int = HOST_PORT, note: str | None = None) -> Step:
    body: dict[str, Any] = {"port": port, "frame": frame.hex()}
    return {"in": body if note is None else {"note": note, **body}}


def send_all(frames: Iterable[bytes], port: int = HOST_PORT) -> list[Step]:
    return [send(frame, port) for frame in frames]


def write(*updates: dict[str, Any]) -> Step:
    return {"write": list(updates)}


def with_opcode(frame: bytes, opcode: int) -> bytes:
    return frame[:42] + bytes([opcode]) + frame[43:]


def with_magic(frame: bytes, magic: int) -> bytes:
    return frame[:62] + struct.pack(">H", magic) + frame[64:]
