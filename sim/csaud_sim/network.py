"""Ranks on a simulated fabric: the one place that knows the native module."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from csaud._core import EndpointConfig
from csaud.config.settings import Settings
from csaud.network.addresses import largest_path_mtu, to_int
from csaud.start.endpoint import apply_settings
from csaud_controller.inventory import Fabric as Inventory

from csaud_sim._core import Simulation
from csaud_sim.fabric import SimulatedFabric
from csaud_sim.work import WorkNetwork

if TYPE_CHECKING:
    from csaud_sim.told import Figures, LinkColumns, MessageColumns

SECOND = 1_000_000_000  # ns
_QKEY = 0x1234567
_FIRST_QPN = 0x100
_PACKETS_PER_MESSAGE = 512
DEFAULTS = Settings()
_HEADER = 32  # bytes of the path MTU
_LOOK_EVERY = SECOND // 100


@dataclass(frozen=True)
class Seat:
    """A rank: the host it is on, its settings there, what of the core is no setting
    (`csaud._core.EndpointConfig`), us that its clock gains in a second, and what that shows at first."""

    host: str
    settings: Settings = DEFAULTS
    core: Mapping[str, Any] = field(default_factory=dict)
    drift_ppm: float = 0.0
    clock_offset_ns: int = 0


@dataclass(frozen=True)
class Followed:
    """What a ledger holds; see `csaud_sim._core`."""

    figures: Figures
    recoveries: npt.NDArray[np.int64]
    messages: MessageColumns
    links: LinkColumns


def path_mtu_of(inventory: Inventory, seats: Sequence[Seat]) -> int:
    """What they all have: as the fabric allows and their settings ask, or as their core is told."""
    asked = [seat.settings.mtu for seat in seats if seat.settings.mtu]
    common = min([largest_path_mtu(inventory.mtu), *asked])
    return min((seat.core.get("path_mtu", common) for seat in seats), default=common)


class Network(WorkNetwork):
    """Endpoints attached to the fabric, under one virtual clock in nanoseconds.

    Args:
        fabric: holds its tables.
        seats: of each rank, in rank order.
        pipeline_ns: what a packet takes in a switch.
        payloads: are carried; without them packets are as long.
        ledger: copies, messages and links are followed.
        oracle_ns: senders learn of lost copies so long after; None: they do not.
        engine: library of what keeps time; None: the event heap that comes along.
    """

    def __init__(
        self,
        fabric: SimulatedFabric,
        seats: Sequence[Seat],
        *,
        pipeline_ns: int = 0,
        payloads: bool = True,
        ledger: bool = False,
        oracle_ns: int | None = None,
        engine: str | None = None,
    ) -> None:
        self.fabric, self.seats = fabric, list(seats)
        inventory = fabric.inventory
        self.path_mtu = path_mtu_of(inventory, seats)
        self._native = Simulation(
            fabric.native,
            pipeline_ns=pipeline_ns,
            payloads=payloads,
            ledger=ledger,
            oracle_ns=oracle_ns,
            engine=engine,
        )
        super().__init__(self._native)
        for rank, seat in enumerate(seats):
            config = EndpointConfig()
            config.rank, config.world, config.qkey = rank, len(seats), _QKEY
            config.local_ipv4 = to_int(str(inventory.hosts[seat.host].ip))
            config.local_qpn = _FIRST_QPN + rank
            config.path_mtu = self.path_mtu
            apply_settings(config, seat.settings)
            for name, value in seat.core.items():
                setattr(config, name, value)
            at = inventory.attachment(seat.host)
            link = inventory.link_of(inventory.edge_at[at])
            self._native.add_host(
                config, at.node, at.port, nic_rate_bps=link.rate, delay_ns=link.delay,
                drift_ppm=seat.drift_ppm, clock_offset_ns=seat.clock_offset_ns,
            )  # fmt: skip
        self._native.connect()

    @property
    def inventory(self) -> Inventory:
        """What is wired to what."""
        return self.fabric.inventory

    @property
    def max_message_bytes(self) -> int:
        """Longest message."""
        return (self.path_mtu - _HEADER) * _PACKETS_PER_MESSAGE

    def impair(self, switch: str, port: int, **how: Any) -> None:
        """Impair a link; `how` as of `csaud_sim._core.Simulation.impair`."""
        self._native.impair(switch, port, **how)

    def add_bursts(self, host: str, *, to: int, **plan: Any) -> None:
        """Plain UDP from a host, ranks' or not, from now on; `plan` as of `Simulation.add_bursts`."""
        inventory = self.fabric.inventory
        at = inventory.attachment(host)
        link = inventory.link_of(inventory.edge_at[at])
        self._native.add_bursts(
            at.node, at.port, src_ipv4=to_int(str(inventory.hosts[host].ip)), dst_ipv4=to,
            nic_rate_bps=link.rate, delay_ns=link.delay, **plan,
        )  # fmt: skip

    def stop_bursts(self) -> None:
        """No more of any."""
        self._native.stop_bursts()

    def bursts_sent(self) -> list[int]:
        """Packets of each, in the order in which they were added."""
        return [int(count) for count in self._native.bursts_sent()]

    @property
    def followed(self) -> Followed:
        """What the ledger holds."""
        native = self._native
        return Followed(native.figures(), native.recoveries(), native.messages(), native.links())

    def run(self, until: int) -> bool:
        """Let time pass until some collective of some rank is over, or until `until`: False."""
        return self._native.run(until, each=True)

    def settle(self, limit_ns: int = 10 * SECOND) -> bool:
        """Let everything end that is under way; False where it does not within `limit_ns`."""
        deadline = self.now + limit_ns
        while not self._native.quiet:
            if self.now >= deadline:
                return False
            self._native.advance(min(deadline, self.now + _LOOK_EVERY))
        return True

    def stats(self, rank: int) -> dict[str, int]:
        """Counters of a rank's endpoint, and those of a device, which loses nothing here."""
        return {"rx_queue_drops": 0, **self._native.stats(rank)}

    def memory(self, rank: int) -> dict[str, int]:
        """Bytes of a rank's endpoint, by what for."""
        return self._native.memory(rank)

    def flow_times(self, rank: int) -> list[float]:
        """Seconds that each message took that the rank received, from its first packet to its last one."""
        return list(self._native.message_times(rank) / SECOND)
