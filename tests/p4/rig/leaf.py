"""A leaf switch as the tests speak of it: entries by name, frames from its host, what came out, counts."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from csaud_softswitch.exchange.names import Names
from csaud_softswitch.p4runtime.errors import Code
from csaud_softswitch.p4runtime.proto import p4r

from tests.p4.rig.switch import Departure, Switch

OTHER, DATA, CONTROL, LOSS = range(4)
GROUP, HOST_GROUP = 7, 1
UPLINKS = (1, 2, 3, 4)
HOST_PORT = 5
RECIRCULATION_PORT = 127
BOUNCE_SESSION = 1
PROFILES = {
    "spray.paths": "CsaudIngress.spray.path_selector",
    "spray.alternative": "CsaudIngress.spray.second_selector",
}
"""Table -> its action profile; all hold the same groups."""
NOWHERE = 0xFFFF
"""A limit that no shadow reaches."""


@dataclass(frozen=True)
class Alarm:
    """An overflow_alarm_t."""

    port: int
    depth: int
    path_id: int
    kind: int
    at_us: int


class Leaf:
    """Uplinks (ports 1-4) in one path group to 10.0.2.0/24, and a host, 10.0.1.1, on port 5."""

    def __init__(self, switch: Switch, uplinks: Sequence[int] = UPLINKS) -> None:
        self.switch = switch
        self.uplinks = tuple(uplinks)
        self.names = Names(switch.index)
        self.reset()

    def reset(self) -> None:
        """As it was at first: the program loaded anew, routes and groups installed, every count zero."""
        self.switch.reset()
        self.clones(True)
        for profile in PROFILES.values():
            for port in (*UPLINKS, HOST_PORT):
                action = {"action": name("spray.forward"), "params": {"port": port}}
                self.write({"insert": {"profile": profile, "member": port, **action}})
        self.group(GROUP, self.uplinks)
        for table in PROFILES:
            self.write({"insert": {"table": name(table), "match": {"group": GROUP}, "group": GROUP}})
            self.write(
                {"insert": {"table": name(table), "match": {"group": HOST_GROUP}, "member": HOST_PORT}}
            )
        self.insert("route.ipv4_lpm", {"dst": "10.0.2.0/24"}, "route.set_group", group=GROUP)
        self.insert("route.ipv4_lpm", {"dst": "10.0.1.1/32"}, "route.set_group", group=HOST_GROUP)

    def clones(self, on: bool) -> None:
        """The session that BOTH clones to, there or not."""
        session = p4r.CloneSessionEntry(session_id=BOUNCE_SESSION)
        session.replicas.add(egress_port=RECIRCULATION_PORT, instance=1)
        entry = p4r.PacketReplicationEngineEntry(clone_session_entry=session)
        entity = p4r.Entity(packet_replication_engine_entry=entry)
        kind = p4r.Update.INSERT if on else p4r.Update.DELETE
        codes = self.switch.write([p4r.Update(type=kind, entity=entity)])
        assert codes == [Code.OK], codes

    # --- what it is told

    def write(self, *items: dict[str, Any]) -> None:
        """Updates in the form of csaud_softswitch.exchange.names; all must be accepted."""
        codes = self.switch.write([self.names.update(item) for item in items])
        assert not any(codes), (items, codes)

    def insert(
        self, table: str, match: dict[str, Any], action: str, priority: int = 0, **params: int
    ) -> None:
        self._entry("insert", table, match, action, priority, params)

    def modify(
        self, table: str, match: dict[str, Any], action: str, priority: int = 0, **params: int
    ) -> None:
        self._entry("modify", table, match, action, priority, params)

    def _entry(
        self, kind: str, table: str, match: dict[str, Any], action: str, priority: int, params: dict[str, int]
    ) -> None:
        body = {"table": name(table), "match": match, "action": name(action), "params": params}
        self.write({kind: body | ({"priority": priority} if priority else {})})

    def group(self, number: int, ports: Sequence[int], kind: str = "insert") -> None:
        """The members of a group; each is watched."""
        rows = [{"member": port, "weight": 1, "watch_port": port} for port in ports]
        for profile in PROFILES.values():
            self.write({kind: {"profile": profile, "group": number, "members": rows}})

    def spray(
        self, mode: str, kind: str = "insert", *, priority: int = 10, asked: int | None = None, **params: int
    ) -> None:
        """Choose the mode for DATA, or for those packets only whose sender asks for `asked`."""
        match = {"kind": f"{DATA}&&&3"} | ({} if asked is None else {"asked": f"{asked}&&&15"})
        self._entry(kind, "spray.policy", match, f"spray.{mode}", priority, params)

    def weigh(self, shares: Sequence[int], kind: str = "insert") -> None:
        """The group's 64 buckets: bucket b goes to the path shares[b % len(shares)]."""
        self.write(
            *(
                {
                    kind: {
                        "table": name("spray.buckets"),
                        "match": {"group": GROUP, "bucket": bucket},
                        "action": name("spray.set_index"),
                        "params": {"index": shares[bucket % len(shares)]},
                    }
                }
                for bucket in range(64)
            )
        )

    def limit(
        self,
        port: int,
        trim_at: int = NOWHERE,
        no_trim_at: int | None = None,
        drop_at: int = NOWHERE,
        alarm_at: int = NOWHERE,
        other_at: int | None = None,
        loss_byte_time: int = 0,
    ) -> None:
        """no_trim_at and other_at are drop_at where they are not given."""
        self.insert(
            "congestion.limits", {"port": port}, "congestion.set_limits",
            trim_at=trim_at, no_trim_at=drop_at if no_trim_at is None else no_trim_at,
            other_at=drop_at if other_at is None else other_at, drop_at=drop_at, alarm_at=alarm_at,
            loss_byte_time=loss_byte_time,
        )  # fmt: skip

    def signal(
        self,
        port: int,
        what: str = "trim",
        *,
        size: int = 94,
        dscp: int = 20,
        priority: int = 7,
        icrc: int = 0,
        match: dict[str, str] | None = None,
        rank: int = 10,
        kind: str = "insert",
    ) -> None:
        """What becomes of DATA at a port; `match` has further keys, `rank` is the entry's priority."""
        params = {} if what == "drop" else {"size": size, "dscp": dscp, "priority": priority, "icrc": icrc}
        keys: dict[str, Any] = {"port": port} | (match or {})
        self._entry(kind, "loss_signal.signal", keys, f"loss_signal.{what}", rank, params)

    def congested(
        self, what: str = "trim", ports: Sequence[int] = (1,), drop_at: int = 100, **params: Any
    ) -> None:
        """Ports that have no room for DATA at all, and say so in this way."""
        for port in ports:
            self.limit(port, trim_at=0, drop_at=drop_at)
            self.signal(port, what, **params)

    def lose(
        self, port: int, probability: float, *, seed: int = 5, signalled: bool = False, kind: int = DATA
    ) -> None:
        threshold = min(round(probability * 2**32), 2**32 - 1)
        self.insert(
            "fault.inject", {"port": port, "kind": f"{kind}&&&3"}, "fault.lose", 10,
            threshold=threshold, seed=seed, signalled=int(signalled),
        )  # fmt: skip

    def mark(self, port: int, low: int, high: int, seed: int = 3) -> None:
        self.insert("ecn.marking", {"port": port}, "ecn.mark_between", low=low, high=high, seed=seed)

    def set_depth(self, port: int, packets: int, *, other: bool = False) -> None:
        """The port's occupancy shadow: of CSA, or of other traffic."""
        self.switch.register_write("occupancy", port + (128 if other else 0), packets)

    # --- what it is sent

    def send(
        self,
        frames: Sequence[bytes],
        *,
        gap_ns: int = 0,
        port: int = HOST_PORT,
        expected: int | None = None,
    ) -> list[Departure]:
        """Send from the host; what came out, in order of time. expected: how many ought to, or all."""
        count = len(frames) if expected is None else expected
        return self.switch.exchange([(port, frame) for frame in frames], gap_ns, count)

    def one(self, frame: bytes) -> bytes:
        """What comes out when this goes in: one frame."""
        [left] = self.send([frame])
        return left.frame

    def ports(self, frames: Sequence[bytes], *, gap_ns: int = 0, expected: int | None = None) -> list[int]:
        """Where the frames left, in the order they were sent; those that did not leave are missing.

        What left is known by what no switch changes, the bytes from the IPv4 source on.
        """
        left: dict[bytes, deque[int]] = defaultdict(deque)
        for departure in self.send(frames, gap_ns=gap_ns, expected=expected):
            left[departure.frame[26:]].append(departure.port)
        return [left[frame[26:]].popleft() for frame in frames if left[frame[26:]]]

    def during(self, frames: Sequence[bytes], changes: Sequence[Callable[[], None]]) -> list[Departure]:
        """Send while the changes are made: between the frames in virtual time, meanwhile in real time."""
        if "virtual-time" in self.switch.abilities:
            size = len(frames) // (len(changes) + 1) + 1
            out: list[Departure] = []
            for number in range(len(changes) + 1):
                out += self.send(frames[number * size : (number + 1) * size], gap_ns=1000)
                if number < len(changes):
                    changes[number]()
            return out
        with ThreadPoolExecutor(1) as pool:
            sending = pool.submit(self.send, frames, gap_ns=300_000)
            for change in changes:
                change()
            assert not sending.done(), "the changes took longer than the traffic"
            return sending.result()

    # --- what it counted

    def count(self, counter: str, port: int, kind: int) -> int:
        """Packets in a cell port * 4 + kind."""
        return self.cell(counter, port * 4 + kind)

    def buckets(self, counter: str, port: int) -> dict[int, int]:
        """Packets by path bucket of a port, those that are not zero."""
        cells = {bucket: self.cell(counter, port * 16 + bucket) for bucket in range(16)}
        return {bucket: packets for bucket, packets in cells.items() if packets}

    def cell(self, counter: str, index: int) -> int:
        """Packets in one cell of a counter."""
        spec = next(c for c in self.switch.index.counters.values() if c.name == full_name(counter))
        entry = p4r.CounterEntry(counter_id=spec.id)
        entry.index.index = index
        [entity] = self.switch.read(p4r.Entity(counter_entry=entry))
        return int(entity.counter_entry.data.packet_count)

    def direct(self, table: str, match: dict[str, Any], priority: int = 0) -> int:
        """Packets that an entry counted."""
        update = self.names.update({"insert": {"table": name(table), "match": match, "priority": priority}})
        wanted = p4r.DirectCounterEntry(table_entry=update.entity.table_entry)
        [entity] = self.switch.read(p4r.Entity(direct_counter_entry=wanted))
        return int(entity.direct_counter_entry.data.packet_count)

    # --- digests

    def subscribe(self) -> None:
        """Have alarms told at once, one a list."""
        [spec] = self.switch.index.digests.values()
        config = p4r.DigestEntry.Config(max_timeout_ns=0, max_list_size=1, ack_timeout_ns=0)
        entity = p4r.Entity(digest_entry=p4r.DigestEntry(digest_id=spec.id, config=config))
        codes = self.switch.write([p4r.Update(type=p4r.Update.INSERT, entity=entity)])
        assert codes == [Code.OK], codes

    def alarms(self, expected: int) -> list[Alarm]:
        """Alarms that were told since the last call."""
        return [
            Alarm(*(int.from_bytes(member.bitstring, "big") for member in data.struct.members))
            for message in self.switch.digests(expected)
            for data in message.data
        ]


def name(short: str) -> str:
    return f"CsaudIngress.{short}"


def full_name(counter: str) -> str:
    """Of a counter: those of egress are in the controls `telemetry` and `departure`."""
    pipeline = "CsaudEgress" if counter.startswith(("telemetry", "departure")) else "CsaudIngress"
    return f"{pipeline}.{counter}"


def spread(ports: Sequence[int]) -> Counter[int]:
    return Counter(ports)
