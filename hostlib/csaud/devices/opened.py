"""What opening a device gives."""

import dataclasses
from collections.abc import Callable

from csaud import _core


@dataclasses.dataclass(frozen=True, slots=True)
class Opened:
    """An open device. Packets that come before the endpoint exists wait in its queue, from `start` on.

    Attributes:
        native: the device.
        address: its IP address.
        qpn: its 24-bit queue pair number.
        mode: how it sends, "raw", "udp", "xdp" or "verbs".
        claim: keeps the QP number ours while it lives; None where the device gives numbers itself.
        max_mtu: largest path MTU that it carries, or carries well, bytes.
        start: makes it receive under the job's Q_Key; None where it receives anyway.
        set_names: over IPv6, tells it the job's addresses (16 bytes) and by which numbers the endpoint knows
            them; None over IPv4, where those are the addresses.
        set_segmentation: makes it send trains of packets or not; None where it never does.
        trains: UDP port where it takes trains of packets from ranks on its own link; 0: nowhere.
        link: tells it the job's other ranks that do so, too (rank, address, port, whether their devices have
            UDP sockets), and the job's path MTU; None: it cannot.
        share: tells it its own address and QP number, which ranks it shares memory with (rank, address as the
            endpoint knows it, QP number, address), whether the job has no others, the job's path MTU, and
            how many packets its window is; None: it cannot.
    """

    native: _core.Device
    address: str
    qpn: int
    mode: str
    claim: _core.QpnClaim | None = None
    max_mtu: int = 4096
    start: Callable[[int], None] | None = None
    set_names: Callable[[list[tuple[int, bytes]]], None] | None = None
    set_segmentation: Callable[[bool], None] | None = None
    trains: int = 0
    link: Callable[[list[tuple[int, int, int, bool]], int], None] | None = None
    share: Callable[[tuple[int, int], list[tuple[int, int, int, str]], bool, int, int], None] | None = None

    def close(self) -> None:
        """Let go of the device of a job that was never made, also where this is still kept, as by the
        traceback of the error: it is of no use afterwards."""
        for field in dataclasses.fields(self):
            object.__setattr__(self, field.name, None)
