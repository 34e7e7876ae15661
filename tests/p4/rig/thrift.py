"""What the tests ask of simple_switch's Thrift service beside what the package does: all queues of a port
at once, and registers.
"""

from __future__ import annotations

from csaud_softswitch.bmv2.thrift import I32, I64, STRING, SimpleSwitchThrift


class Thrift(SimpleSwitchThrift):
    """A connection to one simple_switch."""

    def set_rates(self, port: int, packets_per_s: int) -> None:
        """Of each priority queue of a port; 0 is none."""
        self.set("set_egress_queue_rate", (I32, port), (I64, packets_per_s))

    def set_depths(self, port: int, packets: int) -> None:
        """Of each priority queue of a port."""
        self.set("set_egress_queue_depth", (I32, port), (I32, packets))

    def register_write(self, name: str, index: int, value: int) -> None:
        self.call(
            "bm_register_write", (I32, 0), (STRING, name), (I32, index), (I64, value), service="standard"
        )

    def register_read(self, name: str, index: int) -> int:
        return self.call("bm_register_read", (I32, 0), (STRING, name), (I32, index), service="standard")
