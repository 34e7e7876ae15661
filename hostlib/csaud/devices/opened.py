"""What opening a device gives."""

import dataclasses

from csaud import _core


@dataclasses.dataclass(frozen=True, slots=True)
class Opened:
    """A device ready to receive: packets that come before the endpoint exists wait in its queue.

    Attributes:
        native: the device.
        ipv4: its address, dotted.
        qpn: its 24-bit queue pair number.
        mode: how it sends, "raw" or "udp".
        claim: keeps the QP number ours while it lives.
    """

    native: _core.Device
    ipv4: str
    qpn: int
    mode: str
    claim: _core.QpnClaim
