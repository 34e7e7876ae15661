"""Goodput and queues of the ports between switches over a job's time, sampled while it runs."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from csaud_controller.inventory import Fabric
from csaud_controller.switches.errors import CountersError
from csaud_controller.switches.port_reader import PortReader
from csaud_runs.errors import RunError

from csaud_topologies.record.model import LinkSeries, Timeline

_EVERY_S = 1.0
DATA_HEADERS = 14 + 20 + 8 + 12 + 8 + 32 + 4
"""Bytes of a DATA frame that are not payload: Ethernet, IPv4, UDP, BTH, DETH, CSA and the iCRC."""
_LONGER_IPV6 = 20

PortId = tuple[str, int]


@dataclass(frozen=True)
class Sample:
    """What all ports between switches had counted at one time.

    Attributes:
        at_s: seconds after the job's begin.
        packets, octets: of DATA that left the port, by (switch, port).
        queues: packets that wait for the port; None where the target does not tell.
    """

    at_s: float
    packets: Mapping[PortId, int]
    octets: Mapping[PortId, int]
    queues: Mapping[PortId, int] | None


ReadSample = Callable[[float], Sample]
"""Asks all switches, at a time of the job; RunError when one does not answer."""


@contextmanager
def sampling(fabric: Fabric) -> Iterator[ReadSample]:
    """One request a switch and sample, over channels that are open as long as the body runs."""
    ports = [(name, port) for name in fabric.switches for port in fabric.uplinks(name)]

    def read(at_s: float) -> Sample:
        try:
            counts = reader.read()
        except CountersError as error:
            raise RunError(str(error)) from None
        queues = {port: depth for port in ports if (depth := counts[port].queue) is not None}
        return Sample(
            at_s,
            {port: counts[port].packets for port in ports},
            {port: counts[port].octets for port in ports},
            queues if len(queues) == len(ports) else None,
        )

    with PortReader(fabric) as reader:
        yield read


def series(fabric: Fabric, samples: list[Sample], ipv6: bool = False) -> Timeline | None:
    """The rates between samples; None where there are fewer than two. `ipv6`: DATA is over it."""
    if len(samples) < 2:
        return None
    pairs = list(itertools.pairwise(samples))
    headers = DATA_HEADERS + _LONGER_IPV6 * ipv6

    def goodput(port: PortId) -> list[float]:
        rates = []
        for before, after in pairs:
            octets = after.octets[port] - before.octets[port]
            payload = octets - headers * (after.packets[port] - before.packets[port])
            rates.append(max(0.0, 8 * payload / (after.at_s - before.at_s)))
        return rates

    def queue(port: PortId) -> list[int] | None:
        depths = [sample.queues[port] for sample in samples[1:] if sample.queues is not None]
        return depths if len(depths) == len(pairs) else None

    return Timeline(
        at_s=[round(after.at_s, 3) for _, after in pairs],
        links=[
            LinkSeries(
                switch=name,
                port=number,
                peer=fabric.peers[name][number].node,
                goodput_bps=[round(rate) for rate in goodput((name, number))],
                queue_packets=queue((name, number)),
            )
            for name, number in samples[0].packets
        ],
    )


class Sampler:
    """Takes a sample when it is time for one; `tick` is called often, first when the job begins."""

    def __init__(self, read: ReadSample) -> None:
        self._read = read
        self._begun: float | None = None
        self._asked = -_EVERY_S
        self.samples: list[Sample] = []

    def tick(self) -> None:
        """A sample that a switch is too slow for is left out; no job ends for a figure."""
        if self._begun is None:
            self._begun = time.monotonic()
        now = time.monotonic() - self._begun
        if now - self._asked >= _EVERY_S:
            self._asked = now
            with suppress(RunError):
                self.samples.append(self._read(now))
