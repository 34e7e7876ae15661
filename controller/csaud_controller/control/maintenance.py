"""What the control socket is asked of links: which are used and why others are not; to drain them, and to
use them again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from csaud_controller.control.client import Answer
from csaud_controller.control.fabric_controller import FabricController
from csaud_controller.control.path_history import path_history
from csaud_controller.desired.history import KEPT
from csaud_controller.paths.equal_cost import host_paths
from csaud_controller.policy.drains import Drains, edges_of
from csaud_controller.policy.intent import Intent
from csaud_controller.program.packets import KINDS
from csaud_controller.switches.counters import read_counters
from csaud_controller.targets.assigned import Assigned, programs

Request = dict[str, Any]
Change = Callable[[Callable[[Intent], Intent], Request], Awaitable[Answer]]

_MOST_PACKETS = 10_000
_READ_FOR_ONE = 4
"""Revisions that are read first for each row that is asked for."""
_WATCHED_S = 0.5
"""How long a host is watched before it is taken for idle."""


class Maintenance:
    """The requests about it. `change` makes a change of the intent and answers when it is in force."""

    def __init__(self, controller: FabricController, change: Change) -> None:
        self._controller, self._change = controller, change

    @property
    def ops(self) -> dict[str, Callable[[Request], Awaitable[Answer]]]:
        """By name."""
        return {
            "drain.set": self._set,
            "drain.clear": self._clear,
            "links": self._links,
            "path.trace": self._trace,
            "path.history": self._history,
        }

    async def _links(self, request: Request) -> Answer:
        """The links between switches, those to hosts, and all that is drained."""
        links = self._controller.links()
        return {
            "links": links,
            "hosts": self._controller.watch.hosts.links(),
            "drains": self._drained({f"{link['a']}-{link['b']}" for link in links if not link["up"]}),
            "revision": self._controller.revision,
        }

    def _drained(self, down: set[str]) -> list[dict[str, Any]]:
        """With the links of each, and those of them that are down."""
        found = []
        for rule in self._controller.intent.drains.rules:
            edges = edges_of(self._controller.fabric, rule.what)
            found.append(
                {
                    **rule.model_dump(mode="json"),
                    "links": [f"{edge.a}-{edge.b}" for edge in edges],
                    "down": [f"{edge.a}-{edge.b}" for edge in edges if str(edge) in down],
                }
            )
        return found

    async def _history(self, request: Request) -> Answer:
        """What has become of paths, or of those `about` a link, switch or host; newest first."""
        limit = min(max(int(request.get("limit") or 50), 1), KEPT)
        about = None if request.get("about") is None else str(request["about"])
        fabric, events = self._controller.fabric, [*self._controller.events]
        # rarely is all of the history needed; and the event loop has more urgent things to do
        for read in (min(_READ_FOR_ONE * limit, KEPT), KEPT):
            revisions = await self._controller.history.newest(read)
            found = await asyncio.to_thread(path_history, fabric, revisions, events, about, limit)
            if len(revisions) < read or (len(found) == limit and found[-1]["time"] >= revisions[-1]["time"]):
                break
        return {"history": found, "revision": self._controller.revision}

    async def _trace(self, request: Request) -> Answer:
        """Send `packets` over each link of the ways from host `src` to `dst`, one by one; by the port that a
        direction of a link begins at, what arrived, and the shortest time that a link probe took from the
        controller to the controller."""
        controller, src, dst = self._controller, str(request["src"]), str(request["dst"])
        fabric, packets = controller.fabric, int(request.get("packets", 100))
        for host in (src, dst):
            if host not in fabric.hosts:
                raise ValueError(f"unknown host {host!r}; expected one of {', '.join(fabric.hosts)}")
        if not 1 <= packets <= _MOST_PACKETS:
            raise ValueError(f"packets: expected 1 to {_MOST_PACKETS}, got {packets}")
        ends = {end for path in host_paths(fabric, src, dst, controller.live) for end in path[:-1]}
        found = await controller.examiner.examine({fabric.edge_at[e].ends[0] for e in ends}, packets)
        return {
            "hops": {
                str(end): {
                    "sent": each.came,
                    "arrived": each.arrived,
                    "loss": round(each.loss, 4),
                    "delay_us": controller.watch.probe_times.shortest_us(end),
                }
                for end, each in found.items()
                if end in ends and each.came
            }
        }

    async def _set(self, request: Request) -> Answer:
        """Drain `what`; answered when all switches hold it. With `force`, even where that cuts hosts off."""
        what, force = str(request["what"]), bool(request.get("force", False))
        fabric = self._controller.fabric
        edges_of(fabric, what)
        if what in fabric.hosts and not force and (packets := await self._packets_of(what)):
            raise ValueError(
                f"{what} still sends and receives ({packets} packets in {_WATCHED_S:g} s): end its jobs"
                " first; --force drains it all the same"
            )

        def drained(intent: Intent) -> Intent:
            drains = intent.drains.with_drain(fabric, what, self._controller.live, force)
            return intent.model_copy(update={"drains": drains})

        return await self._change(drained, request)

    async def _clear(self, request: Request) -> Answer:
        """Use `what` again; without it, all that is drained."""
        what = request.get("what")

        def cleared(intent: Intent) -> Intent:
            fabric = self._controller.fabric
            left = Drains() if what is None else intent.drains.used_again(fabric, str(what))
            return intent.model_copy(update={"drains": left})

        return await self._change(cleared, request)

    async def _packets_of(self, host: str) -> int:
        """CSA packets to and from a host while it is watched."""
        before = await asyncio.to_thread(self._counted, host)
        await asyncio.sleep(_WATCHED_S)
        return await asyncio.to_thread(self._counted, host) - before

    def _counted(self, host: str) -> int:
        fabric = self._controller.fabric
        ends = [end for edge in edges_of(fabric, host) for end in edge.ends if end.node in fabric.switches]
        found = read_counters(
            fabric,
            programs(fabric, Assigned(self._controller.target, self._controller.artifacts)),
            switches={end.node for end in ends},
            counters=("ingress_kind", "egress_kind"),
        )
        return sum(
            packets
            for end in ends
            for by_port in found[end.node].values()
            for kind, packets in by_port[end.port].items()
            if kind in KINDS and kind != "other"
        )
