"""The switches' counters, read over P4Runtime by whoever asks: no session, no controller needed.

Every count is of packets. Counters are cumulative from the moment the pipeline was loaded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

import grpc
from finsy.proto import p4r, p4r_grpc

from csaud_controller.artifacts import Artifacts, find_artifacts
from csaud_controller.inventory import Fabric
from csaud_controller.policy import KINDS, KindName

BY_KIND = ("ingress_kind", "egress_kind", "injected", "trimmed", "congestion_dropped")
"""Indexed port * 4 + kind."""
PATH_BUCKETS = 16
DISCARDED = ("bad_checksum", "ttl_expired", "no_route")
"""Index of `discarded`, as the P4 program counts it."""

KindCounts = dict[KindName, int]
SwitchCounters = dict[str, Any]
"""For one switch: each of BY_KIND {port: {kind: packets}}, `no_path` {kind: packets}, `path_bucket` {port:
[16 times DATA packets by the low bits of their path_id]}, `discarded` {reason: packets}. All ports of the
inventory are there.
"""


class CountersError(RuntimeError):
    """A switch could not be read; the text names it."""


def read_counters(
    fabric: Fabric,
    artifacts: Artifacts | None = None,
    *,
    switches: Iterable[str] | None = None,
    timeout_s: float = 10.0,
) -> dict[str, SwitchCounters]:
    """All counters of all switches, or of those named: one wildcard read a counter, all switches at once.

    CountersError names the switch that did not answer.
    """
    artifacts = artifacts or find_artifacts()
    ids = {counter.name.split(".", 1)[-1]: counter.id for counter in artifacts.schema.counters}
    names = {ids[name]: name.rsplit(".", 1)[-1] for name in ids}
    grpc_untyped: Any = grpc  # grpcio ships without annotations
    channels: list[Any] = []
    try:
        calls = []
        for switch in fabric.switches if switches is None else switches:
            spec = fabric.switches[switch]
            if spec.p4runtime is None:
                raise CountersError(f"no P4Runtime address is known for {switch}")
            channel = grpc_untyped.insecure_channel(spec.p4runtime)
            channels.append(channel)
            request = p4r.ReadRequest(device_id=spec.device_id)
            for counter_id in ids.values():
                request.entities.add().counter_entry.counter_id = counter_id
            calls.append((switch, p4r_grpc.P4RuntimeStub(channel).Read(request, timeout=timeout_s)))
        return {switch: _switch_counters(fabric, switch, names, replies) for switch, replies in calls}
    finally:
        for channel in channels:
            channel.close()


def _switch_counters(
    fabric: Fabric, switch: str, names: Mapping[int, str], replies: Iterable[p4r.ReadResponse]
) -> SwitchCounters:
    cells: dict[str, dict[int, int]] = {name: {} for name in names.values()}
    try:
        for reply in replies:
            for entity in reply.entities:
                entry = entity.counter_entry
                cells[names[entry.counter_id]][entry.index.index] = entry.data.packet_count
    except grpc.RpcError as error:
        reason = cast(Any, error).details()
        raise CountersError(f"{switch}: counters cannot be read: {reason}") from None
    ports = list(fabric.peers[switch])
    result: SwitchCounters = {
        name: {port: _kinds(cells[name], port * len(KINDS)) for port in ports} for name in BY_KIND
    }
    result["no_path"] = _kinds(cells["no_path"], 0)
    result["path_bucket"] = {
        port: [cells["path_tx"].get(port * PATH_BUCKETS + bucket, 0) for bucket in range(PATH_BUCKETS)]
        for port in ports
    }
    result["discarded"] = {reason: cells["discarded"].get(index, 0) for index, reason in enumerate(DISCARDED)}
    return result


def _kinds(cells: Mapping[int, int], base: int) -> KindCounts:
    return {kind: cells.get(base + code, 0) for kind, code in KINDS.items()}
