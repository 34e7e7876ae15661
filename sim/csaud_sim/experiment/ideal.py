"""How long a flow takes that has the fabric for itself: what its slowdown is measured against.

A flow of B bytes is N packets, N - 1 of them full. On a path of m links (and m - 1 switches), link k takes
t_k for a full packet and l_k for the last one (preamble, FCS and gap included), and D is all that does not
depend on sizes: propagation delays, and a pipeline a switch. No packet arrives before

    a = t_1 + ... + t_m + (N - 2) max(t_1, t_m) + D                                   the last full one
    b = (N - 1) t_1 + l_1 + ... + l_m + D                                             the last one
    c = min(t_1 + ... + t_(m-1), (N - 1) t_1 + l_1 + ... + l_(m-1)) + (N - 1) t_m + l_m + D

where c is when the last link has carried all of them, from the first that can be there. The ideal time is the
largest of these (of N = 1: b), on the path where a full packet is fastest. Packets of a flow may go different
ways and overtake each other, so only the links of its two hosts are taken to be shared by them; there is no
window, credit or acknowledgement in it. Nothing is faster, whatever sprays.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from csaud_controller.inventory import Edge, Fabric

FRAME_OVERHEAD = 24
"""Bytes of preamble, FCS and gap; the simulator's."""
_BESIDE_PAYLOAD = 14 + 52 + 32
"""Bytes of Ethernet, of IPv4 to iCRC (`csaud.network.addresses.PACKET_OVERHEAD`), and of the CSA header."""
_CSA = 32
_PADDED = 4  # bytes of which RoCE has whole ones


@dataclass(frozen=True)
class _Path:
    rates: tuple[int, ...]
    delays: tuple[int, ...]


def ideal_times(
    fabric: Fabric,
    hosts: list[str],
    src: npt.NDArray[np.uint16],
    dst: npt.NDArray[np.uint16],
    nbytes: npt.NDArray[np.uint64],
    *,
    path_mtu: int,
    pipeline_ns: int = 0,
) -> npt.NDArray[np.float64]:
    """Nanoseconds of each flow; `src` and `dst` are numbers of `hosts`."""
    paths = _Paths(fabric, hosts, _frame_ns(path_mtu - _CSA))
    pairs = src.astype(np.int64) * len(hosts) + dst
    found = np.zeros(len(src))
    by_path: dict[_Path, list[int]] = {}
    for pair in np.unique(pairs).tolist():
        by_path.setdefault(paths.between(*divmod(pair, len(hosts))), []).append(pair)
    for path, those in by_path.items():
        chosen = np.isin(pairs, those)
        found[chosen] = _on_path(path, nbytes[chosen].astype(np.float64), path_mtu - _CSA, pipeline_ns)
    return found


def base_rtt(fabric: Fabric, path_mtu: int, pipeline_ns: int = 0) -> int:
    """Nanoseconds of a full packet and its acknowledgement over the longest of the shortest paths between
    switches with hosts."""
    first = {fabric.attachment(host).node: host for host in fabric.hosts}
    hosts = list(first.values()) + [host for host in fabric.hosts if host not in first.values()][:1]
    paths = _Paths(fabric, hosts, _frame_ns(path_mtu - _CSA))
    longest = 0.0
    for src in range(len(hosts)):
        for dst in range(len(hosts)):
            if src != dst:
                path = paths.between(src, dst)
                sent = sum(float(_wire_ns(path_mtu - _CSA, r) + _wire_ns(0, r)) for r in path.rates)
                longest = max(longest, sent + 2 * sum(path.delays) + 2 * pipeline_ns * (len(path.rates) - 1))
    return round(longest)


def _on_path(
    path: _Path, nbytes: npt.NDArray[np.float64], payload: int, pipeline: int
) -> npt.NDArray[np.float64]:
    packets = np.maximum(np.ceil(nbytes / payload), 1)
    last = nbytes - (packets - 1) * payload
    full = [_wire_ns(payload, rate) for rate in path.rates]
    short = [_wire_ns(last, rate) for rate in path.rates]
    others = packets - 1
    alone = others * full[0] + sum(short)
    full_ones = sum(full) + (packets - 2) * np.maximum(full[0], full[-1])
    first = np.minimum(sum(full[:-1]), others * full[0] + sum(short[:-1]))
    all_of_them = first + others * full[-1] + short[-1]
    slowest = np.where(packets > 1, np.maximum(np.maximum(full_ones, alone), all_of_them), alone)
    fixed = sum(path.delays) + (len(path.rates) - 1) * pipeline
    return np.asarray(slowest + fixed, np.float64)


def _wire_ns(payload: npt.NDArray[np.float64] | int, rate: int) -> npt.NDArray[np.float64]:
    if rate == 0:
        return np.zeros(np.shape(payload))
    padded = np.ceil(np.asarray(payload, np.float64) / _PADDED) * _PADDED
    return np.ceil((padded + _BESIDE_PAYLOAD + FRAME_OVERHEAD) * 8e9 / rate)


def _frame_ns(payload: int) -> int:
    """Of a full packet at 1 bit/s, so that it can be divided by rates."""
    return (payload + _BESIDE_PAYLOAD + FRAME_OVERHEAD) * 8_000_000_000


class _Paths:
    """The fastest path of a full packet between hosts."""

    def __init__(self, fabric: Fabric, hosts: list[str], frame: int) -> None:
        self._fabric, self._frame = fabric, frame
        self._edges: dict[str, list[tuple[str, Edge]]] = {name: [] for name in fabric.switches}
        for edge in fabric.switch_edges():
            self._edges[edge.a].append((edge.b, edge))
            self._edges[edge.b].append((edge.a, edge))
        self._at = [fabric.attachment(host) for host in hosts]
        self._host_link = [fabric.link_of(fabric.edge_at[end]) for end in self._at]
        self._from: dict[str, dict[str, tuple[tuple[int, ...], tuple[int, ...]]]] = {}

    def between(self, src: int, dst: int) -> _Path:
        """From host to host."""
        start, end = self._at[src].node, self._at[dst].node
        if start not in self._from:
            self._from[start] = self._search(start)
        rates, delays = self._from[start][end]
        first, last = self._host_link[src], self._host_link[dst]
        return _Path((first.rate, *rates, last.rate), (first.delay, *delays, last.delay))

    def _search(self, start: str) -> dict[str, tuple[tuple[int, ...], tuple[int, ...]]]:
        """Dijkstra: rates and delays of the links to every switch."""
        done: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {}
        queue: list[tuple[int, str, tuple[int, ...], tuple[int, ...]]] = [(0, start, (), ())]
        while queue:
            cost, name, rates, delays = heapq.heappop(queue)
            if name in done:
                continue
            done[name] = rates, delays
            for neighbour, edge in self._edges[name]:
                if neighbour not in done:
                    link = self._fabric.link_of(edge)
                    more = link.delay + (self._frame // link.rate if link.rate else 0) + 1
                    heapq.heappush(
                        queue, (cost + more, neighbour, (*rates, link.rate), (*delays, link.delay))
                    )
        return done
