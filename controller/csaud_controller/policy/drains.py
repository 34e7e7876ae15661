"""Maintenance: links, switches and hosts that are to carry no packets, and whom that would cut off."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from pydantic import BaseModel, ConfigDict, Field

from csaud_controller.base.yamlfile import FieldError
from csaud_controller.inventory import Edge, End, Fabric
from csaud_controller.paths.equal_cost import in_need
from csaud_controller.paths.live import LiveView
from csaud_controller.policy.places import check_port

_MOST_NAMED = 6


class Drain(BaseModel):
    """What is drained."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    what: str = Field(min_length=1, max_length=200, description="a link l1-s1, a port l1:1, a switch, a host")
    force: bool = Field(default=False, description="even where hosts are cut off by it")


class CutOffError(ValueError):
    """A drain would leave hosts without a way to others."""


def edges_of(fabric: Fabric, what: str, loc: tuple[str | int, ...] = ("what",)) -> list[Edge]:
    """The edges that are out of use when this is drained; FieldError when the fabric has no such thing."""
    if what in fabric.switches or what in fabric.hosts:
        return [edge for edge in fabric.edges if what in (edge.a, edge.b)]
    found = [edge for edge in fabric.edges if what in (f"{edge.a}-{edge.b}", f"{edge.b}-{edge.a}")]
    found = found or [edge for edge in fabric.edges if what in map(str, edge.ends)]
    if not found and what.partition(":")[0] in fabric.switches:  # a port, by the name of its interface
        found = [edge for edge in fabric.edges if check_port(fabric, what, loc) in edge.ends]
    if not found:
        links = ", ".join(f"{edge.a}-{edge.b}" for edge in fabric.switch_edges()[:_MOST_NAMED])
        raise FieldError(
            loc,
            f"unknown link, switch or host {what!r}; expected a link such as {links or 'none'}, a port of a"
            f" link, a switch of {', '.join(fabric.switches)}, or a host",
        )
    return found


def usable_end(fabric: Fabric, edge: Edge) -> End:
    """How views of the fabric name a link: by its `a` end, one to a host by the switch's."""
    a, b = edge.ends
    return b if a.node in fabric.hosts else a


class Drains(BaseModel):
    """All that is drained, in the order in which it was asked for."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    rules: tuple[Drain, ...] = ()

    def check(self, fabric: Fabric) -> None:
        """FieldError when one names what the fabric does not have."""
        for index, drain in enumerate(self.rules):
            edges_of(fabric, drain.what, ("rules", index, "what"))

    def seen_in(self, fabric: Fabric, live: LiveView) -> LiveView:
        """The same view, with what is drained."""
        drained: set[End] = set()
        closed: set[End] = set()
        for drain in self.rules:
            for edge in edges_of(fabric, drain.what):
                end = usable_end(fabric, edge)
                to_host = not {edge.a, edge.b} <= fabric.switches.keys()
                if to_host and drain.what in fabric.switches and not drain.force:
                    continue
                (closed if to_host or drain.force else drained).add(end)
        return replace(live, drained=frozenset(drained), closed=frozenset(closed))

    def why_out(self, fabric: Fabric) -> dict[End, list[str]]:
        """By what each link is drained that is, in words; by its `a` end."""
        found: dict[End, list[str]] = {}
        for drain in self.rules:
            for edge in edges_of(fabric, drain.what):
                said = f"drained: {drain.what}{', by force' if drain.force else ''}"
                found.setdefault(edge.ends[0], []).append(said)
        return found

    def with_drain(self, fabric: Fabric, what: str, live: LiveView, force: bool = False) -> Drains:
        """These and another one, where it is not there yet. FieldError: there is no such thing; CutOffError:
        hosts would be cut off, and `force` was not given (one that would cut off nobody is not kept as
        forced)."""
        edges = edges_of(fabric, what)
        rest = tuple(drain for drain in self.rules if drain.what != what)
        if Drain(what=what, force=force) in self.rules:
            return self
        gentle = Drains(rules=(*rest, Drain(what=what)))
        lost = gentle.cut_off(fabric, live, what) - self.without(what).cut_off(fabric, live, what)
        if what in fabric.switches:
            lost |= {host for edge in edges for host in (edge.a, edge.b) if host in fabric.hosts}
        elif what in fabric.hosts or any({edge.a, edge.b} & fabric.hosts.keys() for edge in edges):
            lost = set()  # it is what was named
        if not lost:
            return gentle
        if not force:
            raise CutOffError(f"draining {what} would cut off {_names(fabric, lost)}: --force does it")
        return Drains(rules=(*rest, Drain(what=what, force=True)))

    def used_again(self, fabric: Fabric, what: str) -> Drains:
        """These less that one, by whatever name it was drained: a link has four. FieldError: there is no such
        thing, or it is a part of what else is drained."""
        links = _ends(fabric, what)
        left = tuple(drain for drain in self.rules if _ends(fabric, drain.what) != links)
        if left == self.rules and (others := self.over(fabric, what)):
            raise FieldError(("what",), f"{what} is drained with {', '.join(others)}: undrain that")
        return Drains(rules=left)

    def over(self, fabric: Fabric, what: str) -> list[str]:
        """What is drained that all links of `what` are a part of."""
        links = _ends(fabric, what)
        return [drain.what for drain in self.rules if links <= _ends(fabric, drain.what)]

    def without(self, what: str) -> Drains:
        """These less that one."""
        return Drains(rules=tuple(drain for drain in self.rules if drain.what != what))

    def cut_off(self, fabric: Fabric, live: LiveView, but: str = "") -> set[str]:
        """Hosts with no way to others, as short as it is, but over these links; those of switch `but` do not
        count."""
        view = self.seen_in(fabric, live)
        leaves = {name for name in fabric.switches if fabric.host_ports(name)} - {but}
        needy = {leaf: len(in_need(fabric, leaf, view) & leaves) for leaf in leaves}
        most = max(needy.values(), default=0)  # others only need them on the way to these
        worst = [leaf for leaf, count in needy.items() if count and count == most]
        return {fabric.peers[leaf][port].node for leaf in worst for port in fabric.host_ports(leaf)}


def _ends(fabric: Fabric, what: str) -> set[End]:
    return {edge.ends[0] for edge in edges_of(fabric, what)}


def _names(fabric: Fabric, hosts: Iterable[str]) -> str:
    names = [name for name in fabric.hosts if name in set(hosts)]
    more = f" and {len(names) - _MOST_NAMED} more hosts" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more
