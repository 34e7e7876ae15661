"""What a P4 switch must be able to do to take part in an exchange, and how a vector is played on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from csaud_softswitch.exchange.names import Names
from csaud_softswitch.exchange.told import told
from csaud_softswitch.exchange.vector import Step, Vector
from csaud_softswitch.p4runtime.errors import Code
from csaud_softswitch.p4runtime.p4info_index import P4InfoIndex
from csaud_softswitch.p4runtime.proto import p4r


@dataclass(frozen=True)
class Departure:
    """A frame that left by a port."""

    port: int
    frame: bytes


class Target(Protocol):
    """A switch with a program, its ports and a controller's stream. Calls return when the switch is quiet
    again.
    """

    @property
    def identity(self) -> dict[str, str]:
        """Its name and version, as a vector keeps them."""

    @property
    def index(self) -> P4InfoIndex: ...

    def write(self, updates: list[p4r.Update]) -> list[Code]:
        """Apply a batch; the canonical code of each update."""

    def read(self, entity: p4r.Entity) -> list[p4r.Entity]: ...

    def send(self, port: int, frame: bytes) -> None: ...

    def send_packet_out(self, packet: p4r.PacketOut) -> None: ...

    def set_link(self, port: int, up: bool) -> None: ...

    def pause(self, seconds: float) -> None:
        """Let time pass."""

    def messages(self) -> list[p4r.StreamMessageResponse]:
        """Digest lists and idle notifications that came since the last call."""

    def acknowledge(self, ack: p4r.DigestListAck) -> None: ...

    def departures(self, expected: int = 0) -> list[Departure]:
        """Frames that left since the last call. A target in real time waits a little longer for what is
        expected (frames and packet-ins) before it takes a frame for dropped.
        """

    def packet_ins(self) -> list[p4r.PacketIn]:
        """Packets that came to the controller since the last call."""


def play(case: Vector, target: Target) -> Vector:
    """Play the case's steps; returns the vector with the target's answers in it."""
    names = Names(target.index)
    lists: dict[int, int] = {}
    expected = [len(step.get("out", ())) for step in case.steps]
    steps = [
        _play_step(step, target, names, lists, count)
        for step, count in zip(case.case().steps, expected, strict=True)
    ]
    return Vector(
        name=case.name,
        about=case.about,
        ports=list(case.ports),
        steps=steps,
        recorded=target.identity,
        counters=counters(target),
        direct_counters=direct_counters(target, names),
    )


def _play_step(step: Step, target: Target, names: Names, lists: dict[int, int], expected: int) -> Step:
    """lists: the id of the last list of each digest."""
    if "write" in step:
        codes = target.write([names.update(item) for item in step["write"]])
        return {**step, "codes": [code.name for code in codes]} if any(codes) else step
    if "link" in step:
        target.set_link(step["link"]["port"], step["link"]["up"])
        return step
    if "pause" in step:
        target.pause(step["pause"])
        messages = target.messages()
        lists.update((m.digest.digest_id, m.digest.list_id) for m in messages if m.HasField("digest"))
        return {**step, "out": told(messages, names)}
    if "ack" in step:
        digest = names.digest_id(step["ack"])
        target.acknowledge(p4r.DigestListAck(digest_id=digest, list_id=lists.get(digest, 0)))
        return step
    if "in" in step:
        target.send(step["in"]["port"], bytes.fromhex(step["in"]["frame"]))
    else:
        body = step["packet_out"]
        metadata = names.metadata(target.index.packet_out, body["metadata"])
        target.send_packet_out(p4r.PacketOut(payload=bytes.fromhex(body["payload"]), metadata=metadata))
    return {**step, "out": _outputs(target, expected)}


def _outputs(target: Target, expected: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [
        {"port": left.port, "frame": left.frame.hex()}
        for left in sorted(target.departures(expected), key=lambda d: (d.port, d.frame))
    ]
    by_id = {spec.id: spec.name for spec in target.index.packet_in}
    for packet in target.packet_ins():
        values = {by_id[m.metadata_id]: int.from_bytes(m.value, "big") for m in packet.metadata}
        found.append({"port": "cpu", "metadata": values, "frame": packet.payload.hex()})
    return found


def counters(target: Target) -> dict[str, dict[str, list[int]]]:
    counters: dict[str, dict[str, list[int]]] = {}
    for spec in sorted(target.index.counters.values(), key=lambda c: c.name):
        cells: dict[str, list[int]] = {}
        for entity in target.read(p4r.Entity(counter_entry=p4r.CounterEntry(counter_id=spec.id))):
            data = entity.counter_entry.data
            if data.packet_count or data.byte_count:
                cells[str(entity.counter_entry.index.index)] = [data.packet_count, data.byte_count]
        if cells:
            counters[spec.name] = cells
    return counters


def direct_counters(target: Target, names: Names) -> dict[str, list[dict[str, Any]]]:
    counters: dict[str, list[dict[str, Any]]] = {}
    for spec in sorted(target.index.tables.values(), key=lambda t: t.name):
        if not spec.direct_counter_id:
            continue
        wanted = p4r.DirectCounterEntry(table_entry=p4r.TableEntry(table_id=spec.id))
        rows = []
        for entity in target.read(p4r.Entity(direct_counter_entry=wanted)):
            entry, data = entity.direct_counter_entry.table_entry, entity.direct_counter_entry.data
            rows.append(
                {
                    "match": names.key(spec, list(entry.match)),
                    "priority": entry.priority,
                    "count": [data.packet_count, data.byte_count],
                }
            )
        if rows:
            counters[spec.name] = sorted(rows, key=lambda row: (row["priority"], str(row["match"])))
    return counters
