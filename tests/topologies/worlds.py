"""A small, consistent world for the tests of books and reports: two leaves, two spines, two hosts."""

from __future__ import annotations

from csaud_controller.inventory import Fabric, leaf_spine
from csaud_topologies.books import CONTROL, DATA, LOSS, HostCounts, SwitchCounts


def fabric() -> Fabric:
    return leaf_spine(2, 2, 1)


FAILED = frozenset({"l1", "s1"})


def world() -> tuple[dict[str, SwitchCounts], dict[str, HostCounts]]:
    """h1 sends 1000 DATA copies to h2 and 50 control packets back come from h2.

    Of the DATA: 10 are injected as lost at l1:1, 5 vanish on the failing link l1-s1, 2 find no path at s1,
    and 20 are trimmed at l2:3 towards h2, where one LOSS is dropped by congestion. Of the control: 3 are lost
    at l2:2.
    """
    l1, l2, s1, s2 = (SwitchCounts() for _ in range(4))
    l1.ingress = {(3, DATA): 1000, (1, CONTROL): 27, (2, CONTROL): 20}
    l1.egress = {(1, DATA): 490, (2, DATA): 500, (3, CONTROL): 47}
    l1.injected = {(1, DATA): 10}
    s1.ingress = {(1, DATA): 485, (2, CONTROL): 27}
    s1.egress = {(2, DATA): 483, (1, CONTROL): 27}
    s1.no_path = {DATA: 2}
    s2.ingress = {(1, DATA): 500, (2, CONTROL): 20}
    s2.egress = {(2, DATA): 500, (1, CONTROL): 20}
    l2.ingress = {(1, DATA): 483, (2, DATA): 500, (3, CONTROL): 50}
    l2.egress = {(3, DATA): 963, (3, LOSS): 19, (1, CONTROL): 27, (2, CONTROL): 20}
    l2.trimmed = {(3, DATA): 20}
    l2.congestion_dropped = {(3, LOSS): 1}
    l2.injected = {(2, CONTROL): 3}
    h1 = HostCounts(tx_data=1000, rtx_loss=0, rtx_interval=40, rtx_probe=2, rx_control=47)
    h2 = HostCounts(rx_data=963, rx_duplicates=5, rx_loss_notices=19, tx_control=50)
    return {"l1": l1, "l2": l2, "s1": s1, "s2": s2}, {"h1": h1, "h2": h2}
