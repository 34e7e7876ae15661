"""Ranks on the soft device, one by one and without a rendezvous: a test can be all the other ranks itself."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from csaud import _core

from tests.support.netns import NetworkNamespace

Bytes = npt.NDArray[np.uint8]
Mode = Literal["raw", "udp", "xdp"]
_KINDS: Mapping[Mode, type[_core.Device]] = {
    "raw": _core.RawDevice,
    "udp": _core.UdpDevice,
    "xdp": _core.XdpDevice,
}

# The longest packet from the IPv4 header on: headers, a path MTU of 4096, pad and iCRC.
PACKET_BYTES = 4096 + 128
BATCH = 32


@dataclass(frozen=True)
class Address:
    """Where a rank is reached."""

    ipv4: str
    qpn: int


@dataclass(frozen=True)
class SoftJob:
    """What the ranks of one job have in common."""

    ranks: Mapping[int, Address]
    qkey: int
    epoch: int

    @property
    def world(self) -> int:
        return len(self.ranks)


class SoftRank:
    """One rank with its progress thread running; each message has a `coll_seq` of its own."""

    def __init__(self, progress: _core.Progress) -> None:
        self.progress = progress

    def post_send(self, dst: int, data: Bytes, coll_seq: int) -> int:
        """Send all of `data`; returns the transfer's id."""
        return self.progress.post(True, dst, 0, coll_seq, 0, 0, data, 0, data.nbytes, _core.Hints())

    def post_recv(self, src: int, buffer: Bytes, coll_seq: int) -> int:
        """Receive into all of `buffer`; returns the transfer's id."""
        return self.progress.post(False, src, 0, coll_seq, 0, 0, buffer, 0, buffer.nbytes, _core.Hints())

    def wait(self, timeout_s: float = 60.0) -> list[_core.Completion]:
        """What completed since the last call, waiting for the first."""
        completions: list[_core.Completion] = self.progress.wait(timeout_s)
        return completions

    def stats(self) -> dict[str, Any]:
        """The rank's counters by name."""
        stats: dict[str, Any] = self.progress.stats()
        return stats


@contextmanager
def soft_rank(
    namespace: NetworkNamespace,
    job: SoftJob,
    rank: int,
    mode: Mode = "raw",
    *,
    verify_icrc: bool = True,
    dead_after_s: float | None = None,
) -> Iterator[SoftRank]:
    """Rank `rank` of `job` on the soft device in `namespace`, which has its address.

    A peer that answers no probes is given up after `dead_after_s`.
    UDP sockets do not show IP ids, so there the iCRC can be verified only if all senders use id 0.
    """
    here = job.ranks[rank]
    config = _core.EndpointConfig()
    config.rank, config.world, config.epoch, config.qkey = rank, job.world, job.epoch, job.qkey
    config.local_ipv4, config.local_qpn = int(IPv4Address(here.ipv4)), here.qpn
    if mode == "udp":
        config.udp_source_port, config.zero_ip_id = config.roce_port, True
    config.verify_icrc = verify_icrc
    if dead_after_s is not None:
        config.dead_after = round(dead_after_s * 1e9)
    with namespace.entered():
        device = _KINDS[mode](int(IPv4Address(here.ipv4)), here.qpn, PACKET_BYTES, BATCH, 1 << 22)
    progress = _core.Progress(config, device, BATCH)
    for number, address in job.ranks.items():
        if number != rank:
            progress.set_peer(number, int(IPv4Address(address.ipv4)), address.qpn)
    progress.start()
    try:
        yield SoftRank(progress)
    finally:
        progress.stop()
