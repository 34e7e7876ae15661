"""The exercises: their sources, their switches' entries, and what packets exercise them."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from csaud_softswitch.exchange.vector import Step
from csaud_softswitch.p4runtime.p4info_index import P4InfoIndex

from tests.evidence.tutorials import frames, runtime

Steps = Callable[[random.Random], list[Step]]


@dataclass(frozen=True)
class Exercise:
    """source and runtimes lie below the exercise's folder; `burst`: its packets tell the depth of a queue."""

    source: str
    runtimes: tuple[str, ...]
    frames: frames.Frames
    burst: bool = False
    probes: bool = False
    """Probes carry times, which are compared by their order."""
    strays: bool = False
    """Its counters are counted at an index of a header that packet-outs do not have, so what is compared is
    their sums.
    """
    own: Callable[[random.Random, str], tuple[list[dict[str, Any]], list[Step]]] | None = None
    """Entries and steps of an exercise whose entries a controller writes."""


def _pod(count: int, folder: str = "pod-topo/") -> tuple[str, ...]:
    return tuple(f"{folder}s{number}-runtime.json" for number in range(1, count + 1))


def tunnel_entries(chance: random.Random, switch: str) -> tuple[list[dict[str, Any]], list[Step]]:
    """What p4runtime/solution/mycontroller.py writes: tunnel 100 from s1 to s2 and 200 back."""
    out, back, host = (100, 200, 1) if switch == "s1" else (200, 100, 2)
    far = 3 - host
    entries = [
        {
            "table": "MyIngress.ipv4_lpm",
            "match": {"hdr.ipv4.dstAddr": f"10.0.{far}.{far}/32"},
            "action": "MyIngress.myTunnel_ingress",
            "params": {"dst_id": out},
        },
        {
            "table": "MyIngress.myTunnel_exact",
            "match": {"hdr.myTunnel.dst_id": out},
            "action": "MyIngress.myTunnel_forward",
            "params": {"port": 2},
        },
        {
            "table": "MyIngress.myTunnel_exact",
            "match": {"hdr.myTunnel.dst_id": back},
            "action": "MyIngress.myTunnel_egress",
            "params": {"dstAddr": f"0x08000000{host:02}{host}{host}", "port": 1},
        },
    ]
    return [{"insert": entry} for entry in entries], _in(frames.tunnelled(chance, [f"10.0.{far}.{far}"]))


def cached_flows(chance: random.Random, switch: str) -> tuple[list[dict[str, Any]], list[Step]]:
    """What flowcache/solution/mycontroller.py does: a clone session to itself, then for every unknown flow a
    packet-out and an entry with an idle timeout of three seconds.
    """
    session = {"insert": {"clone_session": 57, "replicas": [{"port": 510, "instance": 1}]}}
    known = [f"10.0.{at}.{at}" for at in (1, 2, 3)]
    traffic = [
        frame for frame in frames.routed(chance, known) if len(frame) >= 34 and frame[12:14] == b"\x08\0"
    ]
    steps = _in(traffic[:8])
    for operation, operand in ((1, 2), (1, 3), (0, 1), (2, 7)):
        metadata = {"opcode": operation, "operand0": operand}
        steps.append({"packet_out": {"metadata": metadata, "payload": traffic[0].hex()}})
    flows = sorted({(frame[23], frame[26:30], frame[30:34]) for frame in traffic[:6]})
    steps.append({"write": [_flow(flow, at) for at, flow in enumerate(flows)]})
    steps += [*_in(traffic), {"pause": 1.5}, *_in(traffic[:1]), {"pause": 6.0}]
    return [session], steps


def _flow(flow: tuple[int, bytes, bytes], number: int) -> dict[str, Any]:
    protocol, src, dst = flow
    params = {
        "port": number % 3 + 1,
        "decrement_ttl": number % 2,
        "new_dscp": 5,
        "dst_eth_addr": 0x080000000111,
    }
    names = ("protocol", "srcAddr", "dstAddr")
    values = (protocol, int.from_bytes(src, "big"), int.from_bytes(dst, "big"))
    match = {f"hdr.ipv4.{name}": value for name, value in zip(names, values, strict=True)}
    entry = {"table": "MyIngress.flow_cache", "match": match, "action": "MyIngress.cached_action"}
    return {"insert": {**entry, "params": params, "idle_timeout_ns": 3_000_000_000}}


EXERCISES = {
    "basic": Exercise("solution/basic.p4", (*_pod(4), *_pod(3, "triangle-topo/")), frames.routed),
    "basic_tunnel": Exercise("solution/basic_tunnel.p4", _pod(3, ""), frames.tunnelled),
    "calc": Exercise("solution/calc.p4", _pod(1, ""), frames.calculator),
    "ecn": Exercise("solution/ecn.p4", _pod(3, ""), frames.routed, burst=True),
    "firewall": Exercise("solution/firewall.p4", _pod(1), frames.tcp_flows),
    "firewall (its other switches)": Exercise("basic.p4", _pod(4)[1:], frames.tcp_flows),
    "flowcache": Exercise("solution/flowcache.p4", ("s1",), frames.routed, strays=True, own=cached_flows),
    "link_monitor": Exercise("solution/link_monitor.p4", _pod(4), frames.probes, probes=True),
    "load_balance": Exercise("solution/load_balance.p4", _pod(3, ""), frames.balanced),
    "mri": Exercise("solution/mri.p4", _pod(3, ""), frames.options, burst=True),
    "multicast": Exercise(
        "solution/multicast.p4", ("sig-topo/s1-runtime.json", "solution/s1-runtime.json"), frames.switched
    ),
    "p4runtime": Exercise("advanced_tunnel.p4", ("s1", "s2"), frames.tunnelled, own=tunnel_entries),
    "qos": Exercise("solution/qos.p4", _pod(3, ""), frames.routed),
    "source_routing": Exercise("solution/source_routing.p4", _pod(3, ""), frames.source_routes),
}
DAMAGED = 25
"""Damaged frames for each switch."""
PORTS = [1, 2, 3, 4]


def folder(name: str) -> str:
    return name.split(" ")[0]


def steps(
    exercise: Exercise, runtime_file: Path, index: P4InfoIndex, seed: int
) -> tuple[list[dict[str, Any]], list[Step]]:
    """(entries, what is done once they are there) for one switch of an exercise."""
    chance = random.Random(seed)
    if exercise.own is not None:
        return exercise.own(chance, runtime_file.name)
    known = runtime.destinations(runtime_file)
    good = exercise.frames(chance, known)
    return runtime.updates(runtime_file, index), _in([*good, *_damaged(chance, exercise, good)], chance)


def _damaged(chance: random.Random, exercise: Exercise, good: Sequence[bytes]) -> list[bytes]:
    if exercise.probes:  # a port that the program's registers have no room for ends simple_switch_grpc
        good = [frame for frame in good if frame[12:14] != b"\x08\x12"]
    found = frames.damaged(chance, good, DAMAGED)
    if exercise.frames is not frames.balanced:
        return found
    return [frame for frame in found if len(frame) >= 54 and frame[12:14] == b"\x08\0" and frame[23] == 6]


def _in(sent: Sequence[bytes], chance: random.Random | None = None) -> list[Step]:
    return [{"in": {"port": chance.choice(PORTS) if chance else 1, "frame": frame.hex()}} for frame in sent]


def runtimes(exercise: Exercise, at: Path) -> list[Path]:
    """Files, or for exercises with a controller the names of switches."""
    return [at / name for name in exercise.runtimes]


def is_complete(at: Path) -> list[str]:
    """Solutions of the checkout that EXERCISES does not have."""
    known = {f"{folder(name)}/{exercise.source}" for name, exercise in EXERCISES.items()}
    found = {str(path.relative_to(at)) for path in at.glob("*/solution/*.p4")}
    return sorted(found - known)
