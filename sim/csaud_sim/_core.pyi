"""Host endpoints attached to P4 switches under virtual time (C++20, built from sim/native). Times are ns."""

from typing import Any

from csaud._core import EndpointConfig, Hints
from csaud_softswitch._core import Fabric
from numpy.typing import NDArray

class VirtualFabric:
    def __init__(self, fabric: Fabric) -> None:
        """ValueError where the fabric runs in real time."""

    def add_rank(self, config: EndpointConfig, switch: str, port: int, nic_rate_bps: int = 0) -> None:
        """A rank at a memory port, in rank order; its NIC sends at most `nic_rate_bps` (0: no limit)."""

    def set_peer(self, rank: int, peer: int, ipv4: int, qpn: int) -> None: ...
    def post(
        self,
        is_send: bool,
        rank: int,
        peer: int,
        comm: int,
        coll_seq: int,
        step: int,
        chunk: int,
        buffer: NDArray[Any],
        offset: int,
        length: int,
        hints: Hints,
    ) -> int:
        """Post bytes [offset, offset + length) of a contiguous buffer; returns the transfer's id."""

    def run(self, until: int) -> list[tuple[int, int, str, int, int, int]]:
        """Run until something completes, or the time `until`.

        Returns (rank, id, status, peer or failed rank, started, finished) of what completed at that moment.
        """

    def kill(self, rank: int) -> None:
        """Nothing more comes from or goes to this rank."""

    def stats(self, rank: int) -> dict[str, int]: ...
    @property
    def quiet(self) -> bool:
        """Nobody has anything unfinished or queued, and nothing is under way."""

    @property
    def now(self) -> int: ...
