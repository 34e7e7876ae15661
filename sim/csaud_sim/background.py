"""Traffic beside a job: what a scenario's `background` asks for, as emulated hosts send it
(`csaud_topologies.job.background`)."""

from __future__ import annotations

from collections.abc import Sequence

from csaud.network.addresses import to_int
from csaud_topologies.record.model import Background
from csaud_topologies.scenario.model import Incast
from csaud_topologies.scenario.placement import sources_of
from csaud_topologies.workloads.traffic import PORT, pace

from csaud_sim.network import SECOND, Network


class BackgroundTraffic:
    """Incasts on a network, from `begin` to `end`.

    RunError where the fabric has too few hosts for one.
    """

    def __init__(self, network: Network, asked: Sequence[Incast]) -> None:
        self._network = network
        self._asked = [(incast, sources_of(incast, network.fabric.inventory)) for incast in asked]

    def begin(self) -> None:
        """Every source sends its first burst now."""
        inventory = self._network.fabric.inventory
        for incast, sources in self._asked:
            rate = inventory.link_of(inventory.edge_at[inventory.attachment(incast.to)]).rate
            pps, every_s = pace(incast.load, rate, incast.packet, incast.burst, incast.duty)
            for source in sources:
                self._network.add_bursts(
                    source,
                    to=to_int(str(inventory.hosts[incast.to].ip)),
                    udp_port=PORT,
                    payload=incast.packet,
                    burst=incast.burst,
                    interval_ns=SECOND / pps,
                    every_ns=every_s * SECOND,
                )

    def end(self) -> None:
        """No more of it."""
        self._network.stop_bursts()

    def sent(self) -> list[Background]:
        """What it was."""
        counts = iter(self._network.bursts_sent())
        return [
            Background(to=incast.to, sources=sources, packets_sent=sum(next(counts) for _ in sources))
            for incast, sources in self._asked
        ]
