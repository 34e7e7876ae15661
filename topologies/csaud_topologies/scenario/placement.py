"""Which rank runs on which host, and who sends beside the job."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from csaud_controller.base.yamlfile import FieldError
from csaud_controller.inventory import Fabric

from csaud_topologies.base.usage import UsageError
from csaud_topologies.scenario.model import Beside, Incast, Workers


def place(fabric: Fabric, workers: Workers) -> list[str]:
    """The host of each rank, in rank order.

    FieldError, of a scenario's key, when the fabric does not have such hosts; RunError when it has none.
    """
    if isinstance(workers.placement, list):
        return _listed(fabric, workers.placement, workers.count)
    hosts = _spread(fabric) if workers.placement == "spread" else list(fabric.hosts)
    count = workers.count or len(hosts)
    if count > len(hosts):
        message = f"{fabric.name} has {len(hosts)} hosts, too few for {count} workers"
        raise FieldError(("workers", "count"), message)
    if not hosts:
        raise UsageError(f"{fabric.name} has no hosts: nothing can run on it")
    return hosts[:count]


def _spread(fabric: Fabric) -> list[str]:
    """First hosts of all leaves, then second ones, ...: neighbours in the ring are on different leaves."""
    by_leaf: dict[str, list[str]] = {}
    for host in fabric.hosts:
        by_leaf.setdefault(fabric.attachment(host).node, []).append(host)
    return [host for row in zip_longest(*by_leaf.values()) for host in row if host is not None]


def _listed(fabric: Fabric, hosts: list[str], count: int | None) -> list[str]:
    for rank, host in enumerate(hosts):
        if host not in fabric.hosts:
            message = f"unknown host {host!r}; expected one of {', '.join(fabric.hosts)}"
            raise FieldError(("workers", "placement", rank), message)
        if host in hosts[:rank]:
            message = "a host is named twice; each host takes one worker"
            raise FieldError(("workers", "placement", rank), message)
    if count is not None and count != len(hosts):
        message = f"{count} workers, but workers.placement names {len(hosts)} hosts"
        raise FieldError(("workers", "count"), message)
    return hosts


def check_background(background: Sequence[Beside], fabric: Fabric) -> None:
    """FieldError when one of them cannot be: too few hosts, a link of which no share can be told, or a host
    to which another one sends already, as a host has one sink."""
    first: dict[str, int] = {}
    for index, beside in enumerate(background):
        sources_of(beside, fabric, index)
        if beside.to in first:
            message = (
                f"background[{first[beside.to]}] goes to {beside.to}, too; expected one with more sources"
            )
            raise FieldError(("background", index, "to"), message)
        first[beside.to] = index
        if (
            isinstance(beside, Incast)
            and not fabric.link_of(fabric.edge_at[fabric.attachment(beside.to)]).rate
        ):
            message = f"the link of {beside.to} has no rate, of which `load` would be a share"
            raise FieldError(("background", index, "to"), message)


def sources_of(beside: Beside, fabric: Fabric, index: int = 0) -> list[str]:
    """The sending hosts: those named, or so many from other leaves than the receiver's, far ones first;
    FieldError, of the scenario's `index`th, when there are too few."""
    if isinstance(beside.sources, list):
        return beside.sources
    home = fabric.attachment(beside.to).node
    others = [host for host in reversed(fabric.hosts) if fabric.attachment(host).node != home]
    others += [host for host in fabric.hosts if fabric.attachment(host).node == home and host != beside.to]
    if len(others) < beside.sources:
        message = f"{fabric.name} has {len(others)} other hosts, not {beside.sources}"
        raise FieldError(("background", index, "sources"), message)
    return others[: beside.sources]
