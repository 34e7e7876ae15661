"""Which flows start when, as columns: every random choice is the seed's."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import numpy as np
import numpy.typing as npt

from csaud_sim.experiment.model import Experiment, Traffic
from csaud_sim.experiment.sizes import PUBLISHED, Points, draw, mean_of

Hosts = npt.NDArray[np.uint16]


@dataclass(frozen=True)
class Flows:
    """One element a flow, in the order in which they start."""

    src: Hosts
    dst: Hosts
    bytes: npt.NDArray[np.uint64]
    start_ns: npt.NDArray[np.int64]


def make_flows(traffic: Traffic, rates: npt.NDArray[np.int64], to: int | None, seed: int) -> Flows:
    """Flows as asked for. Each starts at a moment of a Poisson process whose rate gives the load; of an
    incast, all of the senders' at the same one, of a matching, all hosts'.

    Args:
        rates: of every host's link, bit/s.
        to: the number of the host `traffic.to`.
    """
    random = np.random.default_rng([seed, 0x0F10])
    hosts, count = len(rates), traffic.flows
    group = traffic.group(hosts)
    gap = traffic.gap_ns(hosts, float(rates.sum() if to is None else rates[to]))
    moments = np.cumsum(random.exponential(gap, -(-count // group)))
    start = np.repeat(moments, group)[:count].astype(np.int64)
    if traffic.pattern == "matching":
        src, dst = _matching(hosts, count, seed if traffic.matching is None else traffic.matching)
    else:
        src, dst = _PATTERNS[traffic.pattern](random, hosts, count, group, to)
    return Flows(src.astype(np.uint16), dst.astype(np.uint16), _sizes(traffic.sizes, count, random), start)


_PAYLOAD = 4064
_RANKS = 64  # of collectives of all hosts: how many there are is not asked for


def packets_of(experiment: Experiment) -> float:
    """About how many packets of DATA it has, first copies; a ring's worth of each collective."""
    traffic, collectives = experiment.traffic, experiment.collectives
    packets = 0.0
    if traffic is not None:
        packets += traffic.flows * max(1.0, mean_of(traffic.sizes) / _PAYLOAD)
    if collectives is not None:
        packets += collectives.repeats * (collectives.ranks or _RANKS) * 2 * collectives.bytes / _PAYLOAD
    return packets


def _sizes(sizes: str | int | Points, count: int, random: np.random.Generator) -> npt.NDArray[np.uint64]:
    if isinstance(sizes, int):
        return np.full(count, sizes, np.uint64)
    return draw(PUBLISHED[sizes] if isinstance(sizes, str) else sizes, count, random)


_Ends = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]


def _random(random: np.random.Generator, hosts: int, count: int, group: int, to: int | None) -> _Ends:
    src = random.integers(0, hosts, count)
    return src, (src + random.integers(1, hosts, count)) % hosts


def _permutation(random: np.random.Generator, hosts: int, count: int, group: int, to: int | None) -> _Ends:
    """Each host has its next one in one circle of all, in an order by seed."""
    circle = random.permutation(hosts)
    following = np.empty(hosts, np.int64)
    following[circle] = np.roll(circle, -1)
    src = random.integers(0, hosts, count)
    return src, following[src]


def _all_to_all(random: np.random.Generator, hosts: int, count: int, group: int, to: int | None) -> _Ends:
    """Every ordered pair once before any comes again; each round in another order."""
    pairs = hosts * (hosts - 1)
    rounds = [random.permutation(pairs) for _ in range(-(-count // pairs))]
    pair = np.concatenate(rounds)[:count]
    src, step = np.divmod(pair, hosts - 1)
    return src, (src + 1 + step) % hosts


def _incast(random: np.random.Generator, hosts: int, count: int, group: int, to: int | None) -> _Ends:
    """`group` different hosts to one, again and again."""
    times = -(-count // group)
    receivers = random.integers(0, hosts, times) if to is None else np.full(times, to)
    others = np.argsort(random.random((times, hosts - 1)), axis=1)[
        :, :group
    ]  # of each row, so many at random
    senders = (receivers[:, None] + 1 + others) % hosts
    return senders.reshape(-1)[:count], np.repeat(receivers, group)[:count]


def _matching(hosts: int, count: int, seed: int) -> _Ends:
    """Each host sends once and receives once, again and again: both orders are shuffled, and who would send
    to itself takes the next one's receiver. The first round is what `gen_permutation.py` of
    ultraethernet/uet-htsim makes of this seed; its recorded runs have 13."""
    random = Random(seed)
    src, dst = [], []
    for _ in range(-(-count // hosts)):
        senders, receivers = list(range(hosts)), list(range(hosts))
        random.shuffle(senders)
        random.shuffle(receivers)
        for i, sender in enumerate(senders):
            if sender == receivers[i]:
                after = (i + 1) % hosts
                receivers[i], receivers[after] = receivers[after], receivers[i]
        src += senders
        dst += receivers
    return np.array(src[:count]), np.array(dst[:count])


_PATTERNS = {
    "random": _random,
    "permutation": _permutation,
    "all-to-all": _all_to_all,
    "incast": _incast,
}
