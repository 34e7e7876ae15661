"""Host endpoints attached to P4 switches under virtual time (C++20, built from sim/native). Times are ns."""

from csaud._core import EndpointConfig, Execution
from csaud_softswitch._core import Fabric

class VirtualFabric:
    def __init__(self, fabric: Fabric) -> None:
        """ValueError where the fabric runs in real time."""

    def add_rank(self, config: EndpointConfig, switch: str, port: int, nic_rate_bps: int = 0) -> None:
        """A rank at a memory port, in rank order; its NIC sends at most `nic_rate_bps` (0: no limit)."""

    def set_peer(self, rank: int, peer: int, ipv4: int, qpn: int) -> None: ...
    def start(self, rank: int, execution: Execution) -> None:
        """Start a collective of a rank."""

    def run(self, until: int) -> bool:
        """Run until some execution is over, or until the time `until`: False."""

    def kill(self, rank: int) -> None:
        """Nothing more comes from or goes to this rank."""

    def stats(self, rank: int) -> dict[str, int]: ...
    @property
    def quiet(self) -> bool:
        """Nobody has anything unfinished or queued, and nothing is under way."""

    @property
    def now(self) -> int: ...
