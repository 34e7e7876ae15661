"""A small, consistent world for the tests of books and reports: two leaves, two spines, two hosts."""

from __future__ import annotations

from csaud_controller.inventory import Fabric, leaf_spine
from csaud_topologies.record.books import CONTROL, DATA, LOSS, HostCounts, SwitchCounts


def fabric() -> Fabric:
    return leaf_spine(2, 2, 1)


FAILED = frozenset({"l1", "s1"})


def world() -> tuple[dict[str, SwitchCounts], dict[str, HostCounts]]:
    """h1 sends 1000 DATA copies to h2 and 50 control packets back come from h2.

    Of the DATA: 10 are injected as lost at l1:1, 5 vanish on the failing link l1-s1, at s1 one finds no
    path and one has no hops left, and 20 are trimmed at l2:3 towards h2, where one LOSS has no room and
    another is dropped by congestion; 7 are bounced at s2:2, of which one finds no room at s2:1; 4 go both
    ways at l2:3. Of the control: 3 are lost at l2:2.
    """
    l1, l2, s1, s2 = (SwitchCounts() for _ in range(4))
    l1.ingress = {(3, DATA): 1000, (1, CONTROL): 27, (2, CONTROL): 20, (2, LOSS): 10}
    l1.egress = {(1, DATA): 490, (2, DATA): 500, (3, CONTROL): 47, (3, LOSS): 10}
    l1.injected = {(1, DATA): 10}
    s1.ingress = {(1, DATA): 485, (2, CONTROL): 27}
    s1.egress = {(2, DATA): 483, (1, CONTROL): 27}
    s1.no_path = {DATA: 1}
    s1.discarded = {DATA: 1}
    s2.ingress = {(1, DATA): 500, (2, CONTROL): 20, (2, LOSS): 4}
    s2.egress = {(2, DATA): 493, (1, CONTROL): 20, (1, LOSS): 10}
    s2.bounced = {(2, DATA): 7}
    s2.bounce_sent = {1: 6}
    s2.bounce_dropped = {1: 1}
    l2.ingress = {(1, DATA): 483, (2, DATA): 493, (3, CONTROL): 50}
    l2.egress = {(3, DATA): 952, (3, LOSS): 22, (2, LOSS): 4, (1, CONTROL): 27, (2, CONTROL): 20}
    l2.trimmed = {(3, DATA): 24}
    l2.bounced = {(3, DATA): 4}
    l2.both = {(3, DATA): 4}
    l2.trim_sent = {3: 23}
    l2.trim_dropped = {3: 1}
    l2.bounce_sent = {2: 4}
    l2.congestion_dropped = {(3, LOSS): 1}
    l2.injected = {(2, CONTROL): 3}
    h1 = HostCounts(
        tx_data=1000, rtx_loss=10, rtx_interval=41, rtx_probe=2, rx_loss_bounced=10, rx_control=47
    )
    h2 = HostCounts(rx_data=952, rx_duplicates=5, rx_loss_trimmed=22, tx_control=50)
    return {"l1": l1, "l2": l2, "s1": s1, "s2": s2}, {"h1": h1, "h2": h2}


def _sender(**counts: int) -> HostCounts:
    return HostCounts(tx_data=1000, rtx_loss=10, rtx_interval=41, rtx_probe=2, rx_control=47, **counts)


def without_both() -> tuple[dict[str, SwitchCounts], dict[str, HostCounts]]:
    """The same without those that go both ways, and without any LOSS that is lost later: what then can be
    said of each direction, and of losses that nobody told of."""
    switches, hosts = world()
    l1, l2, s2 = (switches[name] for name in ("l1", "l2", "s2"))
    l1.ingress[2, LOSS] = l1.egress[3, LOSS] = s2.egress[1, LOSS] = 6
    del s2.ingress[2, LOSS], l2.egress[2, LOSS]
    l2.bounced, l2.both, l2.bounce_sent, l2.congestion_dropped = {}, {}, {}, {}
    l2.egress[3, LOSS] = 23
    hosts["h1"] = HostCounts(
        tx_data=1000, rtx_loss=10, rtx_interval=41, rtx_probe=2, rx_loss_bounced=6, rx_control=47
    )
    hosts["h2"] = HostCounts(rx_data=952, rx_duplicates=5, rx_loss_trimmed=23, tx_control=50)
    return switches, hosts
