"""simple_switch_grpc, the reference implementation."""

from __future__ import annotations

from dataclasses import replace

from csaud_controller.inventory import RECIRCULATION_PORT, Fabric
from csaud_controller.program.entities import TableState
from csaud_controller.targets.base import QueueLimit, Target, unwatched


class Bmv2(Target):
    """Its queues have depths, and rates in packets per second, set by its Thrift interface."""

    name = "bmv2"
    forgets_clones = True  # a session inserted again would make two clones of each packet

    def queue_limits(self, fabric: Fabric, switch: str) -> list[QueueLimit]:
        """Packet rates are those of full-sized frames: smaller ones fare better than on a real link.

        The port of recirculation gets the sum of all buffers: every packet that waits may have a clone there.
        """
        frame_bits = (fabric.mtu + 14) * 8
        limits = []
        for edge in fabric.edges:
            link = fabric.link_of(edge)
            rate = max(1, link.rate // frame_bits) if link.rate else 0
            limits += [QueueLimit(end.port, rate, link.buffer) for end in edge.ends if end.node == switch]
        clones = QueueLimit(RECIRCULATION_PORT, 0, sum(limit.depth for limit in limits))
        return [*sorted(limits), clones]

    def adapt(self, state: TableState, fabric: Fabric) -> TableState:
        """Without watch ports: probes find a dead link instead.

        Seen with BMv2 1.15.5: a group whose last watched port goes down makes it divide by zero at the next
        packet; a watched member cannot leave a group without an error; and all members of a group are
        returned with the watch port of the last.
        """
        groups = {key: unwatched(group) for key, group in state.groups.items()}
        return replace(state, groups=groups)
