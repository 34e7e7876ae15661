"""The fabric, the work and the contenders of `bench recovery`, all in the virtual time of the tests' network.

A fabric of 8 leaves and 8 spines at 100 Gb/s with 64 ranks, neighbours in a ring at different leaves, packets
of 4 KB, a round trip of 10 us without queues. Every packet takes the next of 16 paths, so queues of different
depth reorder. Loss strikes DATA and control packets alike.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import csaud_testnet
import numpy as np
import numpy.typing as npt
from csaud import _core
from csaud.config.settings import Settings

from bench import virtual_collectives

RTT_US = 10.0
RANKS = 64
PAYLOAD_BYTES = 4_064  # of a packet, as links count it
FIXED_US = (10, 20, 50, 100, 500)  # 1, 2 and 5 round trips, 100 us, 500 us

_RATE = 100_000_000_000
_PAYLOAD = 64  # bytes that are simulated of the 4,064 that count on links
_MTU = 32 + _PAYLOAD
_FRAME = 4206
_LATENCY_NS = 4_500
_QUEUE_MAX_NS = 1_000_000

Fields = Mapping[str, Any]


def _scaled(rate_bps: int) -> int:
    """The rate at which a simulated packet takes as long as a whole one."""
    return rate_bps * _MTU // 4096


@dataclasses.dataclass(frozen=True)
class Case:
    """One workload under one kind of loss.

    Attributes:
        pattern: "ring" (all-reduce), "all_to_all", "incast" or "urgent" (a ring of messages of two packets
            beside an all-to-all of `packets`; the ring is measured).
        loss: part of all packets that is lost.
        burst: packets lost in a row, on average.
        link: further fields of LinkModel.
        ranks: how many.
        packets: of a message.
        also: what is odd about the fabric, for people.
    """

    pattern: str
    loss: float = 0.0
    burst: float = 1.0
    link: tuple[tuple[str, Any], ...] = ()
    ranks: int = RANKS
    packets: int = 32
    also: str = ""

    @property
    def title(self) -> str:
        """For people."""
        return f"{self.pattern.replace('_', '-')}, {self.ranks} ranks, loss {self.conditions}"

    @property
    def conditions(self) -> str:
        """The loss, and what is odd about the fabric."""
        bursts = f" in bursts of {self.burst:g}" if self.burst > 1 else ""
        return f"{self.loss:g}{bursts}" + (f", {self.also}" if self.also else "")


@dataclasses.dataclass(frozen=True)
class Contender:
    """A way to find losses: settings of the endpoints, and of the network (the oracle's)."""

    name: str
    config: tuple[tuple[str, Any], ...] = ()
    link: tuple[tuple[str, Any], ...] = ()


def contender(name: str, link: Fields | None = None, **config: Any) -> Contender:
    """One by its settings."""
    return Contender(name, tuple(config.items()), tuple((link or {}).items()))


_INTERVAL_ALONE: dict[str, Any] = {"detect_loss": False, "detect_gap": False}
ADAPTIVE = contender("adaptive", **_INTERVAL_ALONE)
ORACLE = contender(
    "oracle", {"oracle": round(RTT_US * 500)}, detect_loss=True, detect_gap=False, detect_interval=False
)
FIXED = tuple(contender(f"fixed {us} us", **_INTERVAL_ALONE, fixed_interval=us * 1000) for us in FIXED_US)

_DEFAULTS, _UNTOLD = Settings(), _core.EndpointConfig()
# What a job has that sets nothing: the others here are tuned to this fabric, whose round trip is 10 us.
SHIPPED = contender(
    "as shipped",
    rate_bps=_scaled(_UNTOLD.rate_bps),
    shared_window=_DEFAULTS.shared_window,
    timer_tick=round(_DEFAULTS.timer_tick * 1e9),
    queue_max=round(_DEFAULTS.queue_max * 1e9),
    tx_ts_unit_ns=_UNTOLD.tx_ts_unit_ns,
)


@dataclasses.dataclass
class Outcome:
    """What a contender made of a case, over all its seeds; times in us."""

    flows: npt.NDArray[np.float64]
    completions: npt.NDArray[np.float64]
    sent: int
    spurious: int
    control: int
    finished: bool
    deepest: int
    queue_dropped: int
    found_by: dict[str, int]
    collectives: int  # that were run, those that are not measured included

    @property
    def spurious_bytes(self) -> float:
        """Payload that came twice, bytes a collective; every packet of these workloads is full."""
        return self.spurious * PAYLOAD_BYTES / self.collectives

    def flow(self, percent: float) -> float:
        """A percentile of flow completion times, us."""
        return float(np.percentile(self.flows, percent)) if self.flows.size else float("inf")

    @property
    def completion(self) -> float:
        """Mean completion time of the collective, us."""
        return float(self.completions.mean()) if self.completions.size else float("inf")


def run(case: Case, by: Contender, seeds: int, iterations: int) -> Outcome:
    """All seeds of one contender on one case. The same arguments give the same outcome."""
    parts = [_run(case, by, seed, iterations) for seed in range(1, seeds + 1)]

    def count(counter: str) -> int:
        return sum(part.stats[counter] for part in parts)

    return Outcome(
        flows=np.concatenate([part.flows for part in parts]) / 1000,
        completions=np.concatenate([part.completions for part in parts]) / 1000,
        sent=count("tx_data"),
        spurious=count("rx_duplicates"),
        control=count("tx_control"),
        finished=all(part.finished for part in parts),
        deepest=max(part.fabric["deepest_queue"] for part in parts),
        queue_dropped=sum(part.fabric["queue_dropped"] for part in parts),
        found_by={name: count(f"rtx_{name}") for name in ("loss", "gap", "interval", "probe")},
        collectives=seeds * (iterations + 1),
    )


def _run(case: Case, by: Contender, seed: int, iterations: int) -> virtual_collectives.Outcome:
    config = _core.EndpointConfig()
    settings = {
        "epoch": 1,
        "qkey": 0x1234567,
        "path_mtu": _MTU,
        "rate_bps": _scaled(_RATE),
        "early_pool_packets": 1 << 16,
        "shared_window": 64,  # two bandwidth-delay products
        "tx_ts_unit_ns": 100,
        "timer_tick": 1_000,
        "queue_max": _QUEUE_MAX_NS,
        **dict(by.config),
    }
    link = csaud_testnet.LinkModel()
    links = {
        "latency": _LATENCY_NS,
        "rate_bps": _RATE,
        "data_bytes": _FRAME,
        "nic_queue": 2,
        "leaves": 8,
        "spines": 8,
        **dict(case.link),
        **dict(by.link),
    }
    chance = csaud_testnet.Chance()
    chances = {"drop_data": case.loss, "drop_control": case.loss, "burst": case.burst, "seed": seed}
    work = virtual_collectives.Workload(
        case.pattern,
        case.ranks,
        case.packets,
        iterations=iterations + 1,
        warm_up=1,  # round trips and step times are known from then on
        limit=200_000_000,
    )
    for thing, fields in ((config, settings), (link, links), (chance, chances)):
        for name, value in fields.items():
            if not hasattr(thing, name):
                raise AttributeError(f"{type(thing).__name__} has no {name}")
            setattr(thing, name, value)
    return virtual_collectives.run(work, config, link, chance)
