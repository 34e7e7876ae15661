"""Every setting of the library in one table: name, default, unit, help. `csaud settings` prints it.

The table is the dataclass below, so a setting has its type, its default and its words in one row. What only
tests and benchmarks change is no setting but an attribute of `_core.EndpointConfig`, which they make.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any


def _row(
    default: Any,
    unit: str,
    help: str,
    *,
    choices: tuple[str, ...] = (),
    low: float = 0,
    high: float = float("inf"),
    agreed: bool = False,
    hidden: bool = False,
) -> Any:
    """One row of the table. `low` and `high` bound numbers, inclusive; `agreed`: the same at every rank;
    `hidden`: never shown."""
    metadata = {
        "unit": unit, "help": help, "choices": choices, "low": low, "high": high, "agreed": agreed,
        "hidden": hidden,
    }  # fmt: skip
    return dataclasses.field(default=default, metadata=metadata, repr=not hidden)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The values in force. Zero or an empty string means "choose for me" where the help says so."""

    # who and where
    device: str = _row("soft", "name", "device that carries the packets", choices=("soft", "verbs"))
    mode: str = _row(
        "auto",
        "name",
        "soft device: raw needs CAP_NET_RAW, udp needs nothing and checks less, auto takes udp on loopback "
        "and elsewhere raw where it can; "
        "xdp needs root, has an interface's queue to itself and is faster",
        choices=("auto", "raw", "udp", "xdp"),
    )
    address: str = _row(
        "", "IP address", "local address of this rank; empty: that of the route to MASTER_ADDR"
    )
    verbs_device: str = _row(
        "",
        "name",
        "verbs device: RDMA device by name (csaud device list); empty: the one that has the address",
    )
    verbs_gid_index: int = _row(
        -1,
        "index",
        "verbs device: entry of its GID table; -1: the RoCEv2 one of the address",
        low=-1,
        high=255,
    )
    store_port: int = _row(0, "TCP port", "port of rank 0's rendezvous; 0: MASTER_PORT", high=65535)
    store_timeout: float = _row(60.0, "s", "how long the ranks wait for each other at the start", low=0.1)
    close_timeout: float = _row(5.0, "s", "how long close() waits for the other ranks to close, too", low=0)
    secret: str = _row(
        "",
        "text",
        "known to this job's ranks alone, 16 characters or more: they meet under TLS and let in nobody else",
        hidden=True,
    )
    secret_file: str = _row("", "path", "file with the secret, instead of `secret`")
    auth: str = _row(
        "off",
        "name",
        "packets are authenticated: their headers; needs a secret, the soft device and libsodium",
        choices=("off", "headers"),
        agreed=True,
    )
    epoch: int = _row(0, "number", "world epoch of the job; 0: drawn by rank 0", high=65535)
    # who goes on after failures
    arbiter: str = _row(
        "majority",
        "majority, tcpstore://host:port or etcd://host:port",
        "who says which group goes on: more than half of the ranks, or a store that outlives them; "
        "tcpstore:// alone is that of torchrun's agent",
        agreed=True,
    )
    member_port: int = _row(
        0, "TCP port", "where this rank listens for the others and for newcomers; 0: any", high=65535
    )
    # packets
    mtu: int = _row(
        0, "bytes", "RDMA path MTU (CSA header and payload); 0: largest that fits the link", high=4096
    )
    window: int = _row(
        0,
        "packets",
        "what a receiver lets one sender have in flight, four times as many where a schedule has no other; "
        "0: 128 KB of them, 32 at a path MTU of 4096",
        high=512,
        agreed=True,
    )
    shared_window: int = _row(
        128,
        "packets",
        "what all senders together may have under way to one rank",
        low=1,
        high=65535,
        agreed=True,
    )
    paths: int = _row(
        16, "paths", "path identities that a sender spreads its packets over", low=1, high=16384, agreed=True
    )
    spray: int = _row(0, "code", "spray mode asked of the switches; 0: the fabric's own", high=8)
    path_policy: str = _row(
        "mixed",
        "name",
        "the path of the next packet: in turn, one a peer, past penalised ones, where packets arrived, both",
        choices=("oblivious", "ecmp", "bitmap", "reps", "mixed"),
    )
    ordered: bool = _row(False, "flag", "this rank holds each path to be FIFO (ECMP, entropy, host-directed)")
    rate_bps: int = _row(
        0, "bit/s", "rate of this rank's link, at which it paces its packets; 0: unpaced", high=10**15
    )
    ecn: bool = _row(True, "flag", "DATA goes as ECT(0), so that switches may mark it (ECN)")
    parity: bool = _row(True, "flag", "PARITY follows messages where packets are lost silently")
    queue_max: float = _row(
        0.02, "s", "longest time that a packet may stand in the fabric's queues", low=1e-6, high=10
    )
    controller: str = _row(
        "",
        "unix:/path or host:port",
        "controller that is told of this rank's paths and may deny some; empty: none",
    )
    report_interval: float = _row(1.0, "s", "time between two such reports", low=0.05)
    # finding losses
    timer_tick: float = _row(
        0.000001,
        "s",
        "what a timer resolves: floor of the adaptive interval, beside half a round trip",
        low=0.000001,
        high=1,
    )
    dead_after: float = _row(
        3.5, "s", "a peer that answers no probe for so long is unreachable", low=0.05, high=1e6
    )
    # collectives
    all_reduce: str = _row(
        "auto",
        "name",
        "algorithm of all-reduce; auto takes halving_doubling where a rank's chunk is up to 4,096 bytes; "
        "hierarchical sums inside hosts first, and is auto for groups without as many ranks on each",
        choices=("ring", "halving_doubling", "hierarchical", "auto"),
        agreed=True,
    )
    # limits and sizes
    timeout: float = _row(
        600.0,
        "s",
        "longest time that one collective may take, from its call on, waited for or not; then the job ends; "
        "0: no limit",
    )
    warn_after: float = _row(
        30.0, "s", "a warning says what a collective waits for that takes so long; 0: none", high=1e9
    )
    flight_records: int = _row(
        1024, "collectives", "latest collectives that the flight recorder keeps", low=16, high=1 << 20
    )
    flight_dir: str = _row(
        "",
        "path",
        "folder of flight records, written on an error and on SIGUSR1; empty: none (see csaud flight)",
    )
    stats_dir: str = _row(
        "",
        "path",
        "folder where counters are left when a communicator closes or its process ends; empty: none",
    )
    trace_dir: str = _row(
        "",
        "path",
        "folder where each rank leaves a trace of its latest collectives (flight_records of them) for "
        "Perfetto when a communicator closes or its process ends; empty: none",
    )
    rx_buffer: int = _row(
        33_554_432,
        "bytes",
        "receive buffer: of the socket, as asked of the kernel, or posted to the RDMA device",
        low=4096,
        high=2**31 - 1,
    )
    segmentation: str = _row(
        "auto",
        "name",
        "trains of packets, which the kernel cuts and merges; auto: on the loopback interface, and in modes "
        "auto and udp to ranks that are found on this rank's own link; on: mode udp, to all ranks, so not "
        "where a switch faces this host",
        choices=("auto", "on", "off"),
    )
    shared_memory: str = _row(
        "auto",
        "name",
        "soft device: packets to ranks of this host and user go through memory; auto: with mode=auto",
        choices=("auto", "on", "off"),
    )
    spin: float = _row(
        0.00005, "s", "longest time that a waiting thread looks for packets without sleeping", high=1
    )
    batch: int = _row(64, "packets", "packets per system call", low=1, high=256)
    log: str = _row("warning", "level", "log level", choices=("debug", "info", "warning", "error"))


FIELDS: dict[str, dataclasses.Field[Any]] = {field.name: field for field in dataclasses.fields(Settings)}


AGREED = tuple(name for name, field in FIELDS.items() if field.metadata["agreed"])


def agreed(settings: Settings) -> dict[str, Any]:
    """The settings that must be the same at every rank. An epoch that was asked for must be, too; 0 asks for
    none."""
    return {**{name: getattr(settings, name) for name in AGREED}, "epoch": settings.epoch}


def differing(chosen: Mapping[str, Mapping[str, Any]]) -> str:
    """What differs of `agreed` settings, by whose they are, in words; empty where nothing does."""
    found: list[str] = []
    for name in dict.fromkeys(name for values in chosen.values() for name in values):
        owners: dict[str, list[str]] = {}
        for owner, values in chosen.items():
            if not (name == "epoch" and values.get(name) == 0):
                owners.setdefault(str(values.get(name)), []).append(owner)
        if len(owners) > 1:
            each = ", ".join(f"{value} at {_listed(those)}" for value, those in owners.items())
            found.append(f"{name} must be the same at every rank: {each}")
    return "; ".join(found)


def _listed(owners: list[str]) -> str:
    shown = owners[:8] + ([f"{len(owners) - 8} more"] if len(owners) > 8 else [])
    return shown[0] if len(shown) == 1 else ", ".join(shown[:-1]) + " and " + shown[-1]
