"""Native part of csaud; see hostlib/native/bindings. A test holds these names against the module's."""

import builtins
import enum
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

class PathPolicy(enum.Enum):
    """Which path the next packet to a peer takes."""

    oblivious = 0
    ecmp = 1
    bitmap = 2
    reps = 3
    mixed = 4

class EndpointConfig:
    """Settings of an endpoint; times in nanoseconds, rates in bit/s."""

    rank: int
    world: int
    epoch: int
    qkey: int
    auth_key: bytes
    local_ipv4: int
    local_qpn: int
    path_mtu: int
    roce_port: int
    loss_port: int
    udp_source_port: int
    zero_ip_id: bool
    make_icrc: bool
    verify_icrc: bool
    tos: int
    ecn: bool
    ttl: int
    tx_ts_unit_ns: int
    path_seq_bits: int
    tx_ts_bits: int
    credit_bits: int
    ecn_bits: int
    paths: int
    spray: int
    path_policy: PathPolicy
    ordered: bool
    window: int
    shaping: bool
    shared_window: int
    @property
    def longest_window(self) -> int: ...
    early_pool_packets: int
    pace_bps: int
    rate_bps: int
    detect_loss: bool
    detect_gap: bool
    detect_interval: bool
    detect_probe: bool
    interval_reorder: bool
    interval_hurry: bool
    fixed_interval: int
    parity: bool
    parity_rows: int
    rtt_initial: int
    rtt_refresh: int
    timer_tick: int
    queue_max: int
    stall_tolerance: int
    dead_after: int
    dead_probes: int
    abort_repeats: int
    abort_spacing: int
    linger: int
    peer_rest: int
    finished_memory: int
    cached_peers: int

class Hints:
    """What a collective's schedule knows of a message; times as CLOCK_MONOTONIC, ns."""

    def __init__(
        self,
        cls: int = 4,
        barrier: bool = False,
        expected_start: int = 0,
        jitter: int = 0,
        fan_in: int = 0,
    ) -> None: ...
    @property
    def fan_in(self) -> int: ...
    @property
    def cls(self) -> int: ...
    @property
    def barrier(self) -> bool: ...
    @property
    def scheduled(self) -> bool: ...
    @property
    def expected_start(self) -> int: ...
    @property
    def jitter(self) -> int: ...

class Status(enum.Enum):
    """What became of a send or receive."""

    ok = 0
    peer_unreachable = 1
    aborted = 2
    protocol = 3

class CompletionKind(enum.Enum):
    send = 0
    recv = 1

class Completion:
    """The end of a send or receive."""

    @property
    def id(self) -> int: ...
    @property
    def kind(self) -> CompletionKind: ...
    @property
    def status(self) -> Status: ...
    @property
    def rank(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    @property
    def started_ns(self) -> int: ...
    @property
    def finished_ns(self) -> int: ...

class PendingMessage:
    """A message that is not over."""

    @property
    def id(self) -> int:
        """what post returned; 0 where nothing was posted"""

    @property
    def is_send(self) -> bool: ...
    @property
    def posted(self) -> bool:
        """False: it comes, and no receive of its name was posted"""

    @property
    def peer(self) -> int: ...
    @property
    def comm(self) -> int: ...
    @property
    def coll_seq(self) -> int: ...
    @property
    def step(self) -> int: ...
    @property
    def chunk(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    @property
    def arrived(self) -> int:
        """packets of it that have arrived, as far as this rank knows"""

    @property
    def packets(self) -> int: ...

class Expected:
    """When a message is expected, ns: start of its first packet (0: not known), and deviation of that."""

    def __init__(self, start: int = 0, jitter: int = 0) -> None: ...
    @property
    def start(self) -> int: ...
    @property
    def jitter(self) -> int: ...

class StepTimes:
    """When the steps of one schedule end, after its begin: mean and deviation over its runs. Not to be
    touched while such a run is in flight."""

    def __init__(self) -> None: ...
    def expect(self, began: int, step: int) -> Expected:
        """Of a message of `step` in a run that began at `began`: it starts where the step before ends."""

    def learn(self, began: int, ended: Sequence[int]) -> None:
        """A run is over; `ended` holds when each step did (0: nothing was received in it)."""

class Plan:
    """A schedule as the executor takes it (csaud.collectives.plan)."""

    def __init__(self, operations: Sequence[tuple[Any, ...]], scratch: int, steps: int) -> None: ...

class Collective:
    """What the runs of one collective have in common."""

    def __init__(
        self,
        plan: Plan,
        element_bytes: int,
        ranks: Sequence[int],
        comm: int = 0,
        step_mark: int = 0,
        chunk_mark: int = 0,
        cls: int = 4,
        barrier: bool = False,
        op: str = "",
        element: str = "",
        times: StepTimes | None = None,
    ) -> None: ...

class Execution:
    """One run of a collective, on the caller's buffers."""

    def __init__(
        self,
        collective: Collective,
        number: int,
        data: object,
        source: object = None,
        scratch: object = None,
    ) -> None: ...
    @property
    def ended(self) -> bool:
        """Every operation has ended."""

    @property
    def failure(self) -> Completion | None:
        """The completion that ended it, of whichever transfer; None: none has."""

    @property
    def ended_ns(self) -> int:
        """When it ended, of CLOCK_MONOTONIC."""

    def release(self) -> bool:
        """Gives the buffers back once nothing works on them; False: something may."""

def combine(
    op: str, element: str, first: object, second: object, into: object, baseline: bool = False
) -> None:
    """into = first (op) second, as executions reduce; `baseline`: by loops for any processor."""

def divide(element: str, values: object, divisor: float) -> None:
    """values /= divisor, of floats, without Python's lock; 16-bit ones in 32 bits, rounded once."""

def dlpack_memory(object: object) -> tuple[npt.NDArray[np.uint8] | None, int, int, int]:
    """The memory of an object with __dlpack__, not copied: (array of numpy's of its bytes, with one more
    dimension of an element's; DLPack's type code, bits and lanes). No array where elements are not of whole
    bytes."""

class Device:
    """Carries packets; made by one of the classes below."""

    def __init__(self, ipv4: int, qpn: int, packet_bytes: int, batch: int, receive_buffer: int) -> None: ...
    @property
    def tx_blocked(self) -> int: ...

class RawDevice(Device):
    """Raw IPv4 sockets; PermissionError without CAP_NET_RAW."""

class XdpDevice(Device):
    """Rings shared with the kernel: AF_XDP and BPF; root, one rank a queue of an interface."""

class UdpDevice(Device):
    """UDP sockets, no privileges, one rank an address."""

    def __init__(
        self,
        ipv4: int,
        qpn: int,
        packet_bytes: int,
        batch: int,
        receive_buffer: int,
        segmentation: bool = False,
    ) -> None: ...
    def set_segmentation(self, on: bool) -> None: ...

class Ip6Device(Device):
    """Raw or UDP sockets over IPv6; makes and checks the iCRC itself."""

    def __init__(
        self,
        raw: bool,
        address: builtins.bytes,
        qpn: int,
        packet_bytes: int,
        batch: int,
        receive_buffer: int,
    ) -> None: ...
    def set_names(self, names: list[tuple[int, builtins.bytes]]) -> None:
        """The job's addresses, 16 bytes each, and by which 32-bit numbers the endpoint knows them; before the
        progress thread."""

class OnLinkDevice(Device):
    """Another device, but packets to ranks on its own link go in trains."""

    def __init__(
        self, under: Device, ipv4: int, packet_bytes: int, batch: int, receive_buffer: int
    ) -> None: ...
    @property
    def port(self) -> int:
        """Where this rank's trains come to."""
    def link(self, peers: list[tuple[int, int, int, bool]], path_mtu: int) -> None:
        """The job's other ranks that may be on the link: rank, address, port of their trains, and whether
        their devices have UDP sockets. While no progress thread runs."""

class SharedDevice(Device):
    """Another device, but packets to ranks of this host go through shared memory."""

    def __init__(self, under: Device, claim: QpnClaim, ring_bytes: int, batch: int) -> None: ...
    def share(
        self,
        own: tuple[int, int],
        ranks: list[tuple[int, int, int, str]],
        all: bool,
        packet_bytes: int,
        packets: int,
    ) -> None:
        """The job's other ranks of this host: rank, address as the endpoint knows it, QP number, address;
        `own`: this rank's address and QP number; `all`: the job has no others; the size of a ring. While no
        progress thread runs."""

def ip6_icrc(source: builtins.bytes, destination: builtins.bytes, udp: builtins.bytes) -> builtins.bytes:
    """The iCRC over IPv6, as on the wire: addresses of 16 bytes, then from the UDP header up to the iCRC."""

class StreamRole(enum.Enum):
    """What an end of `Progress.stream` does."""

    send = 0
    receive = 1
    ping = 2
    pong = 3

HAVE_VERBS: bool
DIRECT: int

def verbs_devices() -> list[dict[str, Any]]:
    """RDMA devices that libibverbs knows; RuntimeError where it is missing."""

class VerbsDevice(Device):
    """A UD queue pair on an RDMA device; the family of its GID is that of its packets."""

    def __init__(
        self,
        device: str,
        port: int,
        gid_index: int,
        gid: builtins.bytes,
        path_mtu: int,
        batch: int,
        receive_buffer: int,
    ) -> None: ...
    def start(self, qkey: int) -> None:
        """Receive and send under this Q_Key from now on; before the progress thread."""

    def set_names(self, names: list[tuple[int, builtins.bytes]]) -> None:
        """Over IPv6: the job's addresses, 16 bytes each, and by which 32-bit numbers the endpoint knows them;
        while no thread drives it."""

    @property
    def qpn(self) -> int: ...
    @property
    def has_loss_port(self) -> bool:
        """whether cut packets of the first form come to this process"""

class QpnClaim:
    """A QP number that no other process at this address can claim."""

class Pin:
    """Memory that is registered with the device for as long as this exists."""

class Progress:
    """An endpoint, a device and the thread that runs them without Python."""

    def __init__(self, config: EndpointConfig, device: Device, batch: int, spin_s: float = 0.0) -> None: ...
    def set_peer(self, rank: int, ipv4: int, qpn: int) -> None: ...
    def start(self) -> None: ...
    def stop(self) -> None: ...
    def post(
        self,
        is_send: bool,
        peer: int,
        comm: int,
        coll_seq: int,
        step: int,
        chunk: int,
        buffer: object,
        offset: int,
        length: int,
        hints: Hints,
    ) -> int: ...
    def wait(self, timeout_s: float) -> list[Completion]: ...
    def pin(self, buffer: object) -> Pin: ...
    def start_execution(self, execution: Execution) -> None: ...
    def run(self, execution: Execution, timeout_s: float) -> bool: ...
    def wait_for(self, execution: Execution, timeout_s: float) -> bool: ...
    def wait_any(self, executions: list[Execution], timeout_s: float) -> bool: ...
    def watch_any(self, executions: list[Execution], timeout_s: float) -> None:
        """Sleeps until one of them has ended or failed, recall() or the time is over; others drive, signals
        are not looked at."""
    def recall(self) -> None:
        """Ends the watch that goes on, or else the next one."""
    def awaited(self, execution: Execution) -> list[tuple[int, int]]: ...
    def flow_times(self) -> list[int]: ...
    def stream(
        self,
        role: StreamRole,
        peer: int,
        comm: int,
        first: int,
        bytes: int,
        messages: int,
        depth: int,
        buffer: object,
    ) -> tuple[list[int], int, Completion | None]: ...
    def wait_quiescent(self, timeout_s: float) -> bool: ...
    def abort(self, note: str = "") -> None: ...
    def abort_note(self) -> builtins.bytes: ...
    def pending(self) -> list[PendingMessage]: ...
    def tell(self, rank: int, note: builtins.bytes) -> None: ...
    def take_notes(self) -> dict[int, builtins.bytes]: ...
    def deny_path(self, path: int, denied: bool) -> None: ...
    def stats(self) -> dict[str, Any]: ...
    def silence(self, rank: int) -> float | None: ...
    @property
    def max_message_bytes(self) -> int: ...

def claim_qpn(address: str, qpn: int) -> QpnClaim | None: ...

STATS_HELP: dict[str, str]
wire: Any
