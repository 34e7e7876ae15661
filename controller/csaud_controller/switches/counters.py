"""The switches' counters, read over P4Runtime by whoever asks: no session, no controller needed.

Every count is of packets unless bytes are asked for. Counters are cumulative from the moment the pipeline was
loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, cast

import grpc
from finsy.proto import p4r

from csaud_controller.inventory import Fabric
from csaud_controller.program.artifacts import Artifacts, find_artifacts
from csaud_controller.program.packets import KINDS, KindName
from csaud_controller.switches.errors import CountersError
from csaud_controller.switches.readings import Readings
from csaud_controller.switches.tls import in_words

BY_KIND = (
    "ingress_kind",
    "egress_kind",
    "injected",
    "trimmed",
    "bounced",
    "both",
    "congestion_dropped",
    "refused_kind",
)
"""Indexed port * 4 + kind; {port: {kind: packets}}. `both` counts DATA that is in `trimmed` and `bounced`;
`refused_kind`, by the port of ingress, what hosts may not send."""
REFUSED = ("loss", "source", "class")
"""Why, in `refused`: indexed port * 4 + reason; {port: {reason: packets}}. The same packets."""
HELD_BACK = "held_back"
"""Indexed by port of ingress: frames for the controller that came too fast; {port: packets}."""
BY_PORT = ("trim_sent", "trim_dropped", "bounce_sent", "bounce_dropped")
"""LOSS that a switch made, by the port whose queue took it or had no room; {port: packets}."""
PATH_BUCKETS = 16
BY_PATH = (
    "path_tx",
    "marked",
    "path_trimmed",
    "path_bounced",
    "path_injected",
    "overflow",
    "overflow_egress",
)
"""Indexed port * 16 + the low four bits of path_id; {port: [16 times packets]}. DATA alone, but for the last
two, in which packets without a path_id are in bucket 0."""
DISCARDED = ("bad_checksum", "ttl_expired", "no_route", "cut_short", "answer", "malformed")
"""Index of `discarded`, as the P4 program counts it; {reason: packets}. `answer`: idle hosts whose links the
controller watches answer it (`links.host_ports`), which knows how many, by host."""
WHOLE = {"no_path": 4, "discarded": len(DISCARDED), "discarded_kind": 4}
"""Cells of the counters that know no port."""
KNOWN = (*BY_KIND, *BY_PORT, *BY_PATH, *WHOLE, "refused", HELD_BACK)

SAI_NAMES = {
    "trimmed": "SAI_PORT_STAT_TRIM_PACKETS",
    "path_trimmed": "SAI_PORT_STAT_TRIM_PACKETS",
    "trim_sent": "SAI_PORT_STAT_TX_TRIM_PACKETS",
    "trim_dropped": "SAI_PORT_STAT_DROPPED_TRIM_PACKETS",
    "marked": "SAI_PORT_STAT_ECN_MARKED_PACKETS",
}
"""What the Switch Abstraction Interface calls the same, where it has a name for it."""

Unit = Literal["packets", "bytes"]
KindCounts = dict[KindName, int]
SwitchCounters = dict[str, Any]
"""For one switch: each of BY_KIND, BY_PORT and BY_PATH, `refused`, `held_back`, `no_path` {kind: packets},
`discarded` and, of the same packets, `discarded_kind` {kind: packets}; but for those that its program lacks.
All ports of the inventory are there.
"""


def read_counters(
    fabric: Fabric,
    artifacts: Mapping[str, Artifacts] | None = None,
    *,
    switches: Iterable[str] | None = None,
    counters: Iterable[str] | None = None,
    unit: Unit = "packets",
    timeout_s: float = 10.0,
) -> dict[str, SwitchCounters]:
    """Counters of all switches, or of those named; all counters, or those named; in packets, or in bytes of
    whole Ethernet frames without FCS. `artifacts`: the program of each switch (see `assigned.programs`); by
    default that of this package. What a switch's program does not count is left out.

    One request a switch, for the cells of its ports, and all switches at once. CountersError names the switch
    that did not answer.
    """
    asked = [*(fabric.switches if switches is None else switches)]
    artifacts = artifacts or dict.fromkeys(asked, find_artifacts())
    chosen = {*(counters or ())} & {*KNOWN} or {*KNOWN}
    names = {switch: _names(artifacts[switch], chosen) for switch in asked}
    counted = {name for each in names.values() for name in each.values()}
    if counters and (lacking := sorted(chosen - counted)):
        raise CountersError(f"no program of these switches has a counter {', '.join(lacking)}")

    def read(readings: Readings) -> dict[str, SwitchCounters]:
        calls = []
        for switch, stub in readings.stubs.items():
            request = p4r.ReadRequest(device_id=fabric.switches[switch].device_id)
            for number, name in names[switch].items():
                for cell in _cells(name, fabric.peers[switch]):
                    entry = request.entities.add().counter_entry
                    entry.counter_id, entry.index.index = number, cell
            calls.append((switch, stub.Read(request, timeout=timeout_s)))
        return {
            switch: _switch_counters(fabric, switch, names[switch], replies, unit)
            for switch, replies in calls
        }

    with Readings(fabric, asked) as readings:
        return readings.call(lambda: read(readings))


def _names(artifacts: Artifacts, chosen: set[str]) -> dict[int, str]:
    """Of those counters that the program has, by their numbers in it."""
    ids = {counter.name.rsplit(".", 1)[-1]: counter.id for counter in artifacts.schema.counters}
    return {ids[name]: name for name in KNOWN if name in ids and name in chosen}


def _cells(counter: str, ports: Iterable[int]) -> Iterable[int]:
    """The cells of a counter that belong to these ports, or all of one that has nothing to do with ports."""
    if counter in WHOLE:
        return range(WHOLE[counter])
    width = PATH_BUCKETS if counter in BY_PATH else 4 if counter in (*BY_KIND, "refused") else 1
    return (port * width + cell for port in ports for cell in range(width))


def _switch_counters(
    fabric: Fabric, switch: str, names: Mapping[int, str], replies: Iterable[p4r.ReadResponse], unit: Unit
) -> SwitchCounters:
    cells: dict[str, dict[int, int]] = {name: {} for name in names.values()}
    try:
        for reply in replies:
            for entity in reply.entities:
                entry = entity.counter_entry
                count = entry.data.packet_count if unit == "packets" else entry.data.byte_count
                cells[names[entry.counter_id]][entry.index.index] = count
    except grpc.RpcError as error:
        reason = in_words(fabric, switch, cast(Any, error).details())
        raise CountersError(f"{switch}: counters cannot be read: {reason}") from None
    return arranged(cells, fabric.peers[switch])


def arranged(cells: Mapping[str, Mapping[int, int]], ports: Iterable[int]) -> SwitchCounters:
    """One switch's counters from their cells: counter -> index -> count. A cell that is not there holds 0, a
    counter that is not there is left out."""
    ports = list(ports)

    def by_port(names: Iterable[str], read: Callable[[Mapping[int, int], int], Any]) -> SwitchCounters:
        return {name: {port: read(cells[name], port) for port in ports} for name in names if name in cells}

    result = {
        **by_port(BY_KIND, lambda cell, port: _kinds(cell, port * len(KINDS))),
        **by_port((*BY_PORT, HELD_BACK), lambda cell, port: cell.get(port, 0)),
        **by_port(
            ("refused",), lambda cell, port: {why: cell.get(port * 4 + n, 0) for n, why in enumerate(REFUSED)}
        ),
        **by_port(BY_PATH, _buckets),
    }
    for name in ("no_path", "discarded_kind"):
        if name in cells:
            result[name] = _kinds(cells[name], 0)
    if "discarded" in cells:
        result["discarded"] = {why: cells["discarded"].get(index, 0) for index, why in enumerate(DISCARDED)}
    return result


def _kinds(cells: Mapping[int, int], base: int) -> KindCounts:
    return {kind: cells.get(base + code, 0) for kind, code in KINDS.items()}


def _buckets(cells: Mapping[int, int], port: int) -> list[int]:
    return [cells.get(port * PATH_BUCKETS + bucket, 0) for bucket in range(PATH_BUCKETS)]
