"""The native core of the embedded P4 switch (C++20, built from softswitch/native).

Times are nanoseconds (int64). In virtual time they are whatever the caller says; a fabric that was started
uses CLOCK_MONOTONIC. Frames are Ethernet frames without FCS.

Values of P4 fields are big-endian bytes. They may be shorter or longer than the field's width as long as the
number fits into it (InvalidArgument otherwise); values that come back are padded to ceil(width / 8) bytes.

Names are those of the program's JSON, which are those of its P4Info ("Ingress.route.ipv4_lpm").
"""

from collections.abc import Sequence
from typing import Literal, TypeAlias, TypedDict

class ProgramError(ValueError):
    """The program's JSON is malformed or uses a construct that is not supported; the message names it."""

class NotFound(LookupError):
    """No such entry, member, group, index or port."""

class AlreadyExists(LookupError):
    """An entry with this match key (and priority), a member or group with this id is already there."""

class ResourceExhausted(LookupError):
    """The table or action profile has reached its size."""

class InvalidArgument(LookupError):
    """Key, parameter or action does not fit the table; the message says what was expected."""

class FailedPrecondition(LookupError):
    """The operation does not fit the present state: no program loaded, a member in use, const table."""

MatchField: TypeAlias = (
    tuple[Literal["exact"], bytes]
    | tuple[Literal["lpm"], bytes, int]  # value, prefix length
    | tuple[Literal["ternary"], bytes, bytes]  # value, mask
    | tuple[Literal["range"], bytes, bytes]  # low, high, both inclusive
    | tuple[Literal["optional"], bytes]
    | None  # don't care (lpm /0, ternary mask 0, range over all, optional absent)
)
Match: TypeAlias = Sequence[MatchField]
"""One item per key, in key order."""

Action: TypeAlias = (
    tuple[Literal["action"], str, Sequence[bytes]]  # name, parameters in order
    | tuple[Literal["member"], int]
    | tuple[Literal["group"], int]
)
ActionCall: TypeAlias = tuple[Literal["action"], str, Sequence[bytes]]
Count: TypeAlias = tuple[int, int]
"""(packets, bytes)"""

class KeyInfo(TypedDict):
    name: str  # as P4Info names the match field
    match_type: Literal["exact", "lpm", "ternary", "range", "optional"]
    width: int  # bits

class ActionInfo(TypedDict):
    name: str
    params: list[tuple[str, int]]  # name, width in bits

class TableInfo(TypedDict):
    name: str
    keys: list[KeyInfo]
    actions: list[ActionInfo]
    size: int  # entries
    direct_counter: str | None
    profile: str | None  # name of its action profile
    const_entries: bool  # entries are fixed by the program
    const_default: bool  # the default action is fixed by the program
    direct_meter: str | None
    idle_timeout: bool  # entries may have one

class ProfileInfo(TypedDict):
    name: str
    size: int
    has_selector: bool
    tables: list[str]

class CounterInfo(TypedDict):
    name: str
    size: int  # 0 for a direct counter
    table: str | None  # the table of a direct counter

class MeterInfo(TypedDict):
    name: str
    size: int  # 0 for a direct meter
    table: str | None  # the table of a direct meter
    unit: Literal["packets", "bytes"]
    rates: int  # 2: green, yellow, red

MeterRates: TypeAlias = tuple[float, int, float, int]
"""(committed rate, committed burst, peak rate, peak burst): packets or bytes, rates a second."""

class ValueSetInfo(TypedDict):
    name: str
    size: int  # members at most, 0: any number
    widths: list[int]  # bits of the parts of its key

class DigestInfo(TypedDict):
    name: str
    fields: list[tuple[str, int]]  # name in the JSON (empty for a constant), width in bits

class RegisterInfo(TypedDict):
    name: str
    size: int
    width: int

class PortStats(TypedDict):
    kind: Literal["veth", "memory", "link"]
    up: bool
    rx_packets: int
    rx_bytes: int
    tx_packets: int  # left by the port (a link: handed to the wire)
    tx_bytes: int
    queued: int  # packets in the port's queues now
    queued_max: int  # the most there ever were
    queue_full: int  # dropped by a full queue, unseen by the program: must stay 0
    link_down_drops: int  # sent to this port, or queued or on its wire, while it was down
    rx_ring_drops: int  # lost by the kernel before the program saw them (veth): must stay 0
    rx_errors: int  # too long for a frame buffer, or not receivable
    tx_errors: int  # refused by the kernel for another reason than the link being down (veth)

class SwitchStats(TypedDict):
    """Packets of one switch; rx + packet_out + copies == the sum of all the others once it is quiet."""

    rx: int  # frames given to the ingress parser, packet_out included
    copies: int  # clones and replicas made
    dropped_ingress: int  # egress_spec was the drop port (or no program is loaded)
    dropped_egress: int
    no_such_port: int  # sent to a port that does not exist
    bad_priority: int  # priority beyond the number of queues
    queue_full: int
    link_down: int
    packet_in: int
    packet_in_overflow: int  # packet-in queue was full
    tx: int
    tx_errors: int
    flushed: int  # queued when the program was replaced or their port removed
    queued: int
    assertions: int  # failed; these packets are among those dropped
    resubmitted: int  # passes, not packets: no part of the balance
    recirculated: int  # likewise
    looped: int  # after 1,024 passes, while 1,024 packets waited for another, or beyond 9,728 bytes
    digests: int  # queued for the control plane
    digest_overflow: int  # lost, as 16,384 were waiting

class Switch:
    @property
    def name(self) -> str: ...
    @property
    def device_id(self) -> int: ...
    @property
    def loaded(self) -> bool: ...
    @property
    def machine_code(self) -> list[str]:
        """Which of the program's parser, ingress, egress and deparser are machine code; others are
        interpreted."""

    def load(self, bmv2_json: str) -> None:
        """Replace the program: tables, profiles, counters and registers start empty, ports and queues stay.

        Raises ProgramError and leaves the present program as it is when the JSON is not acceptable.
        """

    def adopt(self, filled: Switch, keep_state: bool = False) -> None:
        """Take over the program of `filled`, a switch of another fabric, with its entries, clone sessions and
        multicast groups; `filled` has none then.

        One step for packets, and none is lost: what is queued passes the old egress first. With keep_state,
        what both programs have goes on from where it is: counters, registers, counts and meters of entries,
        slots of groups.
        """

    def hold(self) -> None:
        """Keep the fabric still: until release(), calls of this thread are one step for packets."""

    def release(self) -> None: ...

    # --- what the program has
    def tables(self) -> list[TableInfo]: ...
    def profiles(self) -> list[ProfileInfo]: ...
    def counters(self) -> list[CounterInfo]: ...
    def registers(self) -> list[RegisterInfo]: ...
    def meters(self) -> list[MeterInfo]: ...
    def value_sets(self) -> list[ValueSetInfo]: ...
    def digests(self) -> list[DigestInfo]: ...

    # --- table entries: the larger priority wins; only tables with ternary, range or optional keys have one
    def table_insert(self, table: str, match: Match, priority: int, action: Action) -> None: ...
    def table_modify(self, table: str, match: Match, priority: int, action: Action) -> None: ...
    def table_delete(self, table: str, match: Match, priority: int) -> None: ...
    def table_find(self, table: str, match: Match, priority: int) -> Action: ...
    def table_set_default(self, table: str, action: Action | None) -> None:
        """None puts the program's own default action back."""

    def table_get_default(self, table: str) -> Action | None: ...
    def table_entries(self, table: str) -> list[tuple[list[MatchField], int, Action]]:
        """(match, priority, action) in order of insertion, the program's const entries included."""

    def table_clear(self, table: str) -> None: ...
    def direct_counter(self, table: str, match: Match, priority: int) -> Count: ...
    def direct_counter_write(
        self, table: str, match: Match, priority: int, packets: int, octets: int
    ) -> None: ...
    def direct_counter_default(self, table: str) -> Count:
        """Packets that missed, counted while the table has a direct counter."""

    def direct_counter_default_write(self, table: str, packets: int, octets: int) -> None: ...

    # --- idle timeouts (FailedPrecondition on a table that does not support them); nanoseconds
    def table_set_idle_timeout(self, table: str, match: Match, priority: int, timeout_ns: int) -> None:
        """0 means never. Time counts from now, from each hit, and from each table_modify, which keeps it."""

    def table_idle_age(self, table: str, match: Match, priority: int) -> int:
        """Time since the entry was hit, inserted or modified last."""

    def poll_idle(self) -> list[tuple[str, list[MatchField], int]]:
        """(table, match, priority) of entries idle for their timeout, each once until it is hit again."""

    # --- action profiles
    def member_insert(self, profile: str, id: int, action: ActionCall) -> None: ...
    def member_modify(self, profile: str, id: int, action: ActionCall) -> None: ...
    def member_delete(self, profile: str, id: int) -> None: ...
    def members(self, profile: str) -> list[tuple[int, ActionCall]]: ...
    def group_insert(
        self, profile: str, id: int, members: Sequence[tuple[int, int, int | None]], max_size: int = 0
    ) -> None:
        """members: (member id, weight, watch port or None).

        A packet's hash modulo the live slots chooses one; a member of weight w has w slots. Slots are in
        simple_switch_grpc's order: that in which members were made, the number of a deleted one being used
        again. A port that does not exist is down.
        """

    def group_modify(
        self, profile: str, id: int, members: Sequence[tuple[int, int, int | None]], max_size: int = 0
    ) -> None: ...
    def group_delete(self, profile: str, id: int) -> None: ...
    def groups(self, profile: str) -> list[tuple[int, list[tuple[int, int, int | None]], int]]:
        """(group id, members as they were given, max_size)."""

    # --- state
    def counter_read(self, counter: str, index: int) -> Count: ...
    def counter_read_all(self, counter: str) -> list[Count]: ...
    def counter_write(self, counter: str, index: int, packets: int, octets: int) -> None: ...
    def meter_get(self, meter: str, index: int) -> MeterRates | None: ...
    def meter_set(self, meter: str, index: int, rates: MeterRates | None) -> None:
        """None: every packet is green, as before the first rates. Buckets start full.

        Colours are those of simple_switch: colour-blind, the peak rate looked at first.
        InvalidArgument when the committed rate is above the peak rate.
        """

    def direct_meter_get(self, table: str, match: Match, priority: int) -> MeterRates | None: ...
    def direct_meter_set(self, table: str, match: Match, priority: int, rates: MeterRates | None) -> None: ...
    def value_set_members(self, name: str) -> list[list[bytes]]:
        """One value a part of the key; in ascending order."""

    def value_set_set(self, name: str, members: Sequence[Sequence[bytes]]) -> None:
        """Replace all members. ResourceExhausted when there are more than its size."""

    def value_set_insert(self, name: str, member: Sequence[bytes]) -> None: ...
    def value_set_delete(self, name: str, member: Sequence[bytes]) -> None: ...
    def register_read(self, name: str, index: int) -> int: ...
    def register_read_all(self, name: str) -> list[int]: ...
    def register_write(self, name: str, index: int, value: int) -> None: ...

    # --- replication
    def clone_session_set(self, session: int, ports: Sequence[tuple[int, int]], truncate: int = 0) -> None:
        """ports: (egress port, rid), one copy each. truncate: bytes kept of each copy, 0 for all."""

    def clone_session_delete(self, session: int) -> None: ...
    def multicast_group_set(self, group: int, ports: Sequence[tuple[int, int]]) -> None: ...
    def multicast_group_delete(self, group: int) -> None: ...

    # --- controller packets
    def packet_out(self, payload: bytes) -> None:
        """Give a packet to ingress on the CPU port; the packet_out header first, as the program parses it.

        In virtual time it is processed at the fabric's present time, at once.
        """

    def poll_packet_in(self) -> list[bytes]:
        """Packets that left by the CPU port since the last call, packet_in header first.

        Clears packet_in_fd.
        """

    def packet_in_fd(self) -> int:
        """An eventfd, readable while packets or digests wait. It belongs to the switch: do not close it."""

    def digest_enable(self, name: str, enabled: bool) -> None:
        """Digests are thrown away until they are enabled; loading a program disables them."""

    def poll_digests(self) -> list[tuple[str, list[bytes], int]]:
        """(digest, values of its fields, time) since the last call, one a packet; 16,384 wait at most.

        They signal packet_in_fd, which poll_packet_in clears: call that one first.
        """

    def take_log(self) -> list[str]:
        """Messages of log_msg and of failed assertions since the last call, the last thousand at most."""

    # --- figures
    def port_stats(self) -> dict[int, PortStats]: ...
    def stats(self) -> SwitchStats: ...

class Tap:
    """Frames that pass a port, kept until they are taken. A port without a tap pays nothing for it."""

    def fd(self) -> int:
        """An eventfd, readable while frames wait. It belongs to the tap: do not close it."""

    def take(self) -> list[tuple[int, Literal["in", "out"], bytes, int]]:
        """(time, direction, frame, original length) in order; `in` is what the switch received.

        Out: what left by the port, at the time of its last bit. Clears fd.
        """

    @property
    def seen(self) -> int: ...
    @property
    def dropped(self) -> int:
        """Frames for which there was no room."""

    def close(self) -> None:
        """Idempotent; every other method raises InvalidArgument afterwards."""

class Fabric:
    """Switches, their ports and the memory links between them; one clock and, once started, one thread."""

    def __init__(self, seed: int = 0) -> None:
        """seed: of the programs' random numbers; each switch draws from its own stream (seed, device_id)."""

    def add_switch(
        self,
        name: str,
        device_id: int,
        *,
        cpu_port: int = 510,
        drop_port: int = 511,
        priority_queues: int = 8,
        seed: int | None = None,
    ) -> Switch: ...
    def add_veth_port(
        self, switch: str, port: int, ifname: str, *, rate_bps: int = 0, buffer_packets: int = 1024
    ) -> None:
        """A network interface as a port, opened in the calling thread's network namespace (AF_PACKET).

        rate_bps 0 means unlimited; buffer_packets is per priority queue. OSError when it cannot be opened.
        The port is up while the interface is up and has carrier.
        """

    def add_memory_port(
        self, switch: str, port: int, *, rate_bps: int = 0, buffer_packets: int = 1024
    ) -> None:
        """An edge of the fabric inside the process: frames come in by inject() and leave by poll()."""

    def add_link(
        self,
        a: str,
        a_port: int,
        b: str,
        b_port: int,
        *,
        rate_bps: int = 0,
        delay_ns: int = 0,
        buffer_packets: int = 1024,
    ) -> None: ...
    def remove_port(self, switch: str, port: int) -> None:
        """Remove a port (a link: both of its ends); what is queued there is counted as link_down."""

    def set_port_queue(
        self, switch: str, port: int, *, rate_bps: int | None = None, buffer_packets: int | None = None
    ) -> None: ...
    def set_link(self, switch: str, port: int, up: bool) -> None:
        """Take a memory port, or a memory link (both ends), down or up.

        What is on the wire is lost. What is queued goes through egress in its turn and is lost then.

        InvalidArgument for a veth port: it follows its interface.
        """

    def open_tap(self, switch: str, port: int, *, capacity: int = 64 << 20, snaplen: int = 0) -> Tap:
        """See what passes a port of any kind.

        Keeps `capacity` bytes at most, and of each frame the first `snaplen` (0: all).
        """

    def switch(self, name: str) -> Switch: ...
    def switches(self) -> list[str]: ...

    # --- virtual time (InvalidArgument once started)
    @property
    def now(self) -> int: ...
    def inject(self, switch: str, port: int, frame: bytes, now: int) -> None:
        """A frame arrives at a memory port; events before `now` happen first. now never goes back."""

    def inject_many(self, switch: str, port: int, frames: Sequence[bytes], now: int) -> None: ...
    def advance(self, now: int) -> None:
        """Let everything happen that is due up to and including `now`.

        This, injecting and starting raise InvalidArgument while a simulation has the fabric (csaud_sim).
        """

    def next_event(self) -> int | None: ...
    def poll(self) -> list[tuple[str, int, bytes, int]]:
        """Frames whose last bit has left at memory ports: (switch, port, frame, time of that bit)."""

    # --- real time
    def start(self) -> None:
        """Run in a native thread of its own. Every other method may be called meanwhile, from any thread."""

    def stop(self) -> None:
        """Stop the thread; what is still queued stays queued. Idempotent."""

    @property
    def running(self) -> bool: ...
