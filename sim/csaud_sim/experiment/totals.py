"""Figures of a whole run: what hosts, switches and the ledger have counted."""

from __future__ import annotations

from typing import Any

import numpy as np
from csaud_controller.inventory import Fabric
from csaud_topologies.job.telemetry import switch_counts
from csaud_topologies.record.books import DATA, HostCounts

from csaud_sim.experiment.columns import LINKS
from csaud_sim.network import Followed, Network
from csaud_sim.transports.network import PlainNetwork

_LEDGER = ("data", "retransmitted", "spurious", "duplicate", "control", "reassembly")
_NS_IN_US = 1e3


def totals_of(network: Network | PlainNetwork, followed: Followed) -> dict[str, float]:
    """`columns.TOTALS` but for those that the experiment knows; what a baseline has not is left out."""
    return {
        "queue_p99_us": float(followed.links["queue_p99_ns"].max(initial=0)) / _NS_IN_US,
        "path_imbalance": _imbalance(network.inventory, followed),
        **(network.totals() if isinstance(network, PlainNetwork) else _of_csa_ud(network, followed)),
    }


def _of_csa_ud(network: Network, followed: Followed) -> dict[str, float]:
    fabric = network.fabric
    stats = [network.stats(rank) for rank in range(len(network.seats))]
    hosts = [HostCounts.from_stats(each) for each in stats]
    switches = [switch_counts(counters) for counters in fabric.counters().values()]
    recoveries = followed.recoveries / _NS_IN_US

    def of_hosts(name: str) -> float:
        return float(sum(getattr(host, name) for host in hosts))

    def of_switches(name: str) -> float:
        return float(sum(switch.total(name, DATA) for switch in switches))

    taken = {name: of_switches(name) for name in ("injected", "trimmed", "bounced", "congestion_dropped")}
    no_path = sum(each.no_path.get(DATA, 0) + each.discarded.get(DATA, 0) for each in switches)
    lost = taken["injected"] + taken["congestion_dropped"] + no_path + sum(switch.cut for switch in switches)
    return {
        "hops": float(network.hops),
        **{name: of_hosts(name) for name in ("tx_data", "rx_data", "tx_control", "rx_duplicates")},
        **{name: of_hosts(name) for name in ("rtx_loss", "rtx_gap", "rtx_interval", "rtx_probe")},
        **{name: of_hosts(name) for name in ("tx_parity", "rx_parity", "rx_by_parity")},
        "rx_ecn": float(sum(each["rx_ecn"] for each in stats)),
        "told": of_hosts("rx_loss_notices"),
        **taken,
        "no_path": float(no_path),
        "lost": lost + followed.figures["link_lost"] - followed.figures["parity_lost"],
        "link_lost": float(followed.figures["link_lost"]),
        "hidden_drops": float(sum(fabric.hidden_drops().values())),
        **{f"{name}_bytes": float(followed.figures[f"{name}_bytes"]) for name in _LEDGER},  # type: ignore[literal-required]
        "recovered": float(len(recoveries)),
        **{
            f"recovery_p{share}_us": float(np.percentile(recoveries, share)) if len(recoveries) else 0.0
            for share in (50, 99)
        },
    }


def links_of(fabric: Fabric, followed: Followed) -> dict[str, list[Any]]:
    """`columns.LINKS`."""
    links: dict[str, Any] = dict(followed.links)
    peers = fabric.peers
    ends = zip(links["switch"], links["port"].tolist(), strict=True)
    links["to"] = [peers[switch][port].node for switch, port in ends]
    return {name: list(links[name]) if name in ("switch", "to") else links[name].tolist() for name in LINKS}


def _imbalance(fabric: Fabric, followed: Followed) -> float:
    """Of each switch with hosts, what its busiest uplink carried over the mean of them: the greatest."""
    links = followed.links
    places = zip(links["switch"], links["port"].tolist(), strict=True)
    sent = dict(zip(places, links["data"].tolist(), strict=True))
    found = [0.0]
    for switch in fabric.switches:
        if not fabric.host_ports(switch):
            continue
        of_switch = [sent.get((switch, port), 0) for port in fabric.uplinks(switch)]
        if sum(of_switch):
            found.append(max(of_switch) * len(of_switch) / sum(of_switch))
    return max(found)
