"""The virtual network as the tests of the core use it."""

import random
from collections.abc import Callable
from typing import Any

import csaud_testnet
from csaud import _core

DATA, ACK, STATE, LOSS, CREDIT, PROBE, PROBE_RSP = 0, 1, 2, 3, 4, 5, 6
ABORT, PARITY = 9, 10
REASON_LOSS, REASON_GAP, REASON_INTERVAL, REASON_PROBED = 1, 2, 3, 4

US = 1_000
MS = 1_000_000
S = 1_000_000_000

QKEY = 0x1234567
EPOCH = 7

Hook = Callable[[Any], Any]


def config(**settings: Any) -> Any:
    """Settings for small packets on a fast link; times in ns."""
    c = _core.EndpointConfig()
    c.epoch, c.qkey = EPOCH, QKEY
    c.path_mtu = 32 + 64
    c.paths = 4
    c.rate_bps = 1_000_000_000
    c.rtt_initial = MS
    c.linger = 700 * MS  # longer than the slowest probe of a peer
    for name, value in settings.items():
        assert hasattr(c, name), name
        setattr(c, name, value)
    return c


def network(
    world: int = 2, *, link: dict[str, Any] | None = None, hook: Hook | None = None, **settings: Any
) -> Any:
    """A virtual network of `world` ranks; `link` sets fields of LinkModel, the rest is EndpointConfig."""
    model = csaud_testnet.LinkModel()
    for name, value in {"latency": 50 * US, **(link or {})}.items():
        setattr(model, name, value)
    net = csaud_testnet.VirtualNetwork(world, config(**settings), model, csaud_testnet.Chance())
    if hook is not None:
        net.set_hook(hook)
    return net


def content(size: int, seed: int = 1) -> bytes:
    return random.Random(seed).randbytes(size)


def only(*detectors: str) -> dict[str, bool]:
    """Settings that switch every other detector off, and parity, which would leave it nothing to find."""
    detects = {f"detect_{name}": name in detectors for name in ("loss", "gap", "interval", "probe")}
    return {**detects, "parity": False}


def transfer(
    net: Any,
    data: bytes,
    *,
    src: int = 0,
    dst: int = 1,
    coll_seq: int = 1,
    limit: int = 60 * S,
    fan_in: int = 0,
) -> None:
    """One message, receive posted first; settles and compares."""
    receive = net.post_recv(dst, src, len(data), coll_seq=coll_seq)
    net.post_send(src, dst, data, coll_seq=coll_seq, fan_in=fan_in)
    assert net.settle(net.now + limit), "not settled"
    assert net.received(dst, receive) == data
    assert all(c.status == _core.Status.ok for rank in (src, dst) for c in net.completions(rank))


def total(net: Any, counter: str, world: int = 2) -> int:
    return sum(net.stats(rank)[counter] for rank in range(world))


def retransmitted(net: Any, world: int = 2) -> dict[str, int]:
    """Retransmitted copies by detector, detectors that found none left out."""
    found = {name: total(net, f"rtx_{name}", world) for name in ("loss", "gap", "interval", "probe")}
    return {name: count for name, count in found.items() if count}


class Drop:
    """A hook that drops packets for which `wanted` holds, the first `times` of them; keeps what it saw."""

    def __init__(self, wanted: Callable[[Any], bool], times: int = 1 << 30, verdict: str = "drop") -> None:
        self._wanted, self._left, self._verdict = wanted, times, verdict
        self.hit = 0
        self.seen: list[tuple[int, int, int, int]] = []  # type, pkt_idx, attempt, path_id

    def __call__(self, p: Any) -> str | None:
        self.seen.append((p.type, p.pkt_idx, p.attempt, p.path_id))
        if self._left > 0 and self._wanted(p):
            self._left -= 1
            self.hit += 1
            return self._verdict
        return None


def first_copy(*indices: int) -> Callable[[Any], bool]:
    return lambda p: p.type == DATA and p.attempt == 0 and p.pkt_idx in indices
