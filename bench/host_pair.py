"""CSA-UD and its peers on one veth pair, in turns: goodput, round trip, goodput under loss. Medians.

A peer that is not installed has no rows; what is then compared with nobody has a row of its own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from statistics import median

from bench.host_peers import IPERF3, OFI_RXD, OFI_TCP, PEERS, CsaUd, Effort, Iperf3, Libfabric, installed
from bench.host_rig import HostRigError, Pair
from bench.results import Result, result

MESSAGE = 1 << 20
SMALL = 64
LOSS = 0.01
WINDOW = 256  # packets; a veth pair has no queue of its own that would overflow
Say = Callable[[str], None]

# What each contender does, and whether the pair's offloads are on meanwhile.
_Way = tuple[str, Callable[[Pair, int, Effort], float], bool]


def goodput(cores: tuple[int, int], rounds: int, effort: Effort, say: Say) -> list[Result]:
    """Messages of 1 MB one way, on each form of the soft device; targets are for the best form, which without
    offloads is the best one of those without.
    """
    trains = CsaUd("CSA-UD", mode="udp", segmentation="on", window=WINDOW)
    xdp = CsaUd("CSA-UD, AF_XDP, no offloads", mode="xdp", window=WINDOW)
    plain = CsaUd("CSA-UD, no offloads", mode="udp", segmentation="off", window=WINDOW)
    raw = CsaUd("CSA-UD, raw sockets, no offloads", mode="raw", window=WINDOW)
    no_offloads = "iperf3 TCP, no offloads"
    ways: list[_Way] = [
        ("UDP", trains.goodput, True),
        ("in turns", trains.in_turns, True),
        ("AF_XDP, no offloads", xdp.goodput, False),
        ("UDP, no offloads", plain.goodput, False),
        ("raw sockets, no offloads", raw.goodput, False),
    ]
    for ofi in filter(installed, (OFI_RXD, OFI_TCP)):
        ways.append((ofi.name, ofi.goodput, True))
    if installed(IPERF3):
        ways += [(no_offloads, IPERF3.goodput, False), ("iperf3 TCP", IPERF3.goodput, True)]
    found = _alternate(cores, rounds, MESSAGE, effort, ways, say)
    forms = [name for name in ("UDP", "AF_XDP, no offloads") if found[name]]
    best = max(forms, key=lambda name: median(found[name]), default="UDP")
    rows = []
    for form in ("UDP", "AF_XDP, no offloads"):
        limits: dict[str, float | None] = {OFI_RXD.name: 5.0, OFI_TCP.name: 1.0, "iperf3 TCP": 1.0}
        if form != best:
            limits = dict.fromkeys(limits)
        rows += _rows(f"goodput, 1 MB messages, {form}", form, limits, found)
    both = dict.fromkeys((OFI_RXD.name, OFI_TCP.name))
    rows += _rows("goodput, 1 MB there and back in turns, UDP", "in turns", both, found)
    for form, bound in (
        ("AF_XDP, no offloads", 1.2),
        ("UDP, no offloads", None),
        ("raw sockets, no offloads", None),
    ):
        rows += _rows(f"goodput, 1 MB messages, {form}", form, {no_offloads: bound}, found)
    return list({(row.name, row.peer): row for row in rows}.values())


def round_trip(cores: tuple[int, int], rounds: int, effort: Effort, say: Say) -> list[Result]:
    """Messages of 64 bytes, one at a time, on each form of the soft device; the target is for the best."""
    forms = {
        "AF_XDP": CsaUd("CSA-UD, AF_XDP", mode="xdp"),
        "UDP": CsaUd("CSA-UD, UDP", mode="udp", segmentation="on"),
        "raw sockets": CsaUd("CSA-UD, raw sockets", mode="raw"),
    }
    ways: list[_Way] = [
        *((name, form.round_trip, True) for name, form in forms.items()),
        *((ofi.name, ofi.round_trip, True) for ofi in (OFI_RXD, OFI_TCP) if installed(ofi)),
    ]
    found = _alternate(cores, rounds, SMALL, effort, ways, say)
    us = {name: median(values) for name, values in found.items() if values}
    ours = sorted((us[name], name) for name in forms if name in us)
    rows = []
    for place, (value, name) in enumerate(ours):
        row = (f"round trip, 64 B, {name}", value, "us")
        if OFI_RXD.name not in us and OFI_TCP.name not in us:
            rows.append(result(*row))
        if OFI_RXD.name in us:
            peer = us[OFI_RXD.name]
            if place == 0:
                rows.append(result(*row, peer=OFI_RXD.name, peer_value=peer, bound="at most", limit=0.5))
            else:
                rows.append(result(*row, peer=OFI_RXD.name, peer_value=peer))
        if place == 0 and OFI_TCP.name in us:
            rows.append(result(*row, peer=OFI_TCP.name, peer_value=us[OFI_TCP.name]))
    return rows


def under_loss(cores: tuple[int, int], rounds: int, effort: Effort, say: Say) -> list[Result]:
    """The same 1 MB messages with 1 % of the frames lost each way, over what they are without; offloads off,
    since otherwise a lost frame would be fifteen packets.
    """
    ours = CsaUd("CSA-UD", mode="udp", segmentation="off", window=WINDOW)
    contenders: list[CsaUd | Libfabric | Iperf3] = [ours, *(peer for peer in PEERS if installed(peer))]
    found: dict[tuple[str, bool], list[float]] = defaultdict(list)
    with Pair(cores) as pair:
        pair.offloads(False)
        for _ in range(rounds):
            for lossy in (False, True):
                pair.lose(LOSS if lossy else 0.0)
                for one in contenders:
                    _attempt(found[one.name, lossy], say, f"{one.name}, {'1 %' if lossy else 'no'} loss",
                             lambda one=one: one.goodput(pair, MESSAGE, effort))  # type: ignore[misc]  # fmt: skip
    rows = []
    for one in contenders:
        lossy_values, clean = found[one.name, True], found[one.name, False]
        if not lossy_values or not clean:
            continue
        name = f"goodput at 1 % loss, {'CSA-UD' if one is ours else one.name}"
        rows.append(_row(name, lossy_values, "without loss", clean, 0.9 if one is ours else None))
    return rows


def _alternate(
    cores: tuple[int, int], rounds: int, size: int, effort: Effort, ways: list[_Way], say: Say
) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {name: [] for name, _, _ in ways}
    with Pair(cores) as pair:
        for _ in range(rounds):
            for name, measure, offloads in ways:
                pair.offloads(offloads)
                _attempt(found[name], say, name, lambda m=measure: m(pair, size, effort))  # type: ignore[misc]
    return found


def _attempt(into: list[float], say: Say, name: str, measure: Callable[[], float]) -> None:
    """One peer that fails does not end the others' measurement."""
    try:
        into.append(measure())
    except HostRigError as error:
        say(f"{name}: {error}")


def _rows(
    name: str, way: str, limits: Mapping[str, float | None], found: Mapping[str, list[float]]
) -> list[Result]:
    """A way beside each peer that was measured, at least `limits` times as fast where that is wanted; by
    itself where none was.
    """
    if not found[way]:
        return []
    beside = [(peer, limit) for peer, limit in limits.items() if found.get(peer)]
    if not beside:
        return [result(name, median(found[way]) / 1e6, "MB/s")]
    return [_row(name, found[way], peer, found[peer], limit) for peer, limit in beside]


def _row(name: str, values: list[float], peer: str, peer_values: list[float], limit: float | None) -> Result:
    ours, theirs = median(values) / 1e6, median(peer_values) / 1e6
    if limit is None:
        return result(name, ours, "MB/s", peer=peer, peer_value=theirs)
    return result(name, ours, "MB/s", peer=peer, peer_value=theirs, bound="at least", limit=limit)
