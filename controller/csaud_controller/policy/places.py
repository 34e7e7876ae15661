"""Places of a fabric: what rules of policy and faults are about."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, TypeVar, get_args

from pydantic import AfterValidator

from csaud_controller.base.yamlfile import FieldError
from csaud_controller.inventory import Edge, End, Fabric, Role
from csaud_controller.inventory.specs import NAME, PORT_NAME

T = TypeVar("T")

GRAMMAR = "uplinks, all, hosts, a role such as leaf, a switch, a link such as l1-s1 or a port such as l1:1"
_ROLES: tuple[str, ...] = get_args(Role)
_WHERE = re.compile(rf"{NAME}(:(\d{{1,3}}|{PORT_NAME}))?")

Location = tuple[str | int, ...]


def _check_where(text: str) -> str:
    if not _WHERE.fullmatch(text):
        raise ValueError(f"expected {GRAMMAR}, got {text!r}")
    return text


Where = Annotated[str, AfterValidator(_check_where)]
"""A set of switch ports:
`uplinks`: from switches with hosts towards other switches (a packet between two of them passes exactly one);
`all`: every port between switches; `hosts`: every port to a host; a role or a switch: all its ports; a link
`l1-s1`: its ports at both ends; a port `l1:1`, or by the name of its interface.
"""


def ports_of(fabric: Fabric, where: str, loc: Location = ("where",)) -> dict[str, list[int]]:
    """The ports, by switch, of a place; FieldError at `loc` when the fabric has no such place."""
    ports: dict[str, list[int]] = {}
    for end in _ends_of(fabric, where, loc):
        ports.setdefault(end.node, []).append(end.port)
    return ports


def _ends_of(fabric: Fabric, where: str, loc: Location) -> list[End]:
    if where == "uplinks":
        return [End(s, p) for s in fabric.switches if fabric.host_ports(s) for p in fabric.uplinks(s)]
    if where == "all":
        return [end for edge in fabric.switch_edges() for end in edge.ends]
    if where == "hosts":
        return [End(s, p) for s in fabric.switches for p in fabric.host_ports(s)]
    if ":" in where:
        return [check_port(fabric, where, loc)]
    named = [s for s, spec in fabric.switches.items() if where == spec.role]
    if where in fabric.switches:  # which may be called like a role
        named = [where]
    if not named and "-" in where:
        return _ends_of_link(fabric, where, loc)
    if not named:
        roles = sorted({spec.role for spec in fabric.switches.values()}, key=_ROLES.index)
        known = ", ".join(["uplinks", "all", "hosts", *roles, *fabric.switches])
        raise FieldError(loc, f"unknown place {where!r}; expected one of {known}, a link or a port")
    return [End(s, p) for s in named for p in fabric.peers[s]]


def _ends_of_link(fabric: Fabric, where: str, loc: Location) -> list[End]:
    edges = _edges_named(fabric, where, loc)
    if not edges:
        known = ", ".join(f"{edge.a}-{edge.b}" for edge in fabric.switch_edges())
        raise FieldError(loc, f"unknown link {where!r}; expected one of {known}")
    return [end for edge in edges for end in edge.ends if end.node in fabric.switches]


def _edges_named(fabric: Fabric, where: str, loc: Location) -> list[Edge]:
    """Those between two nodes whose names, which may have a - themselves, are joined by a -."""
    dashes = [at for at, letter in enumerate(where) if letter == "-"]
    pairs = [(where[:at], where[at + 1 :]) for at in dashes]
    found = {pair: edges for pair in pairs if (edges := fabric.edges_between(*pair))}
    if len(found) > 1:
        told = " or ".join(f"{a} and {b}" for a, b in found)
        raise FieldError(loc, f"{where!r} may be the link of {told}: name one of its ports")
    return next(iter(found.values()), [])


def check_port(fabric: Fabric, text: str, loc: Location) -> End:
    """The end `l1:2`, or `l1:Ethernet4`; FieldError naming what exists when the fabric has no such port."""
    name, _, number = text.partition(":")
    check_switch(fabric, name, loc)
    for port, called in fabric.switches[name].interfaces.items():
        if called == number:
            number = str(port)
    if not number.isdecimal() or int(number) not in fabric.peers[name]:
        ports = ", ".join(map(str, fabric.peers[name]))
        raise FieldError(
            loc, f"switch {name} has no port {number or '(none given)'}; expected one of {ports}"
        )
    return End(name, int(number))


def check_switch(fabric: Fabric, name: str, loc: Location) -> None:
    """FieldError naming those that exist when the fabric has no such switch."""
    if name not in fabric.switches:
        raise FieldError(loc, f"unknown switch {name!r}; expected one of {', '.join(fabric.switches)}")


def check_destination(fabric: Fabric, name: str, loc: Location) -> None:
    """FieldError where the fabric has no such switch, or it has no hosts."""
    check_switch(fabric, name, loc)
    if not fabric.host_ports(name):
        raise FieldError(loc, f"expected a switch with hosts, got {name}")


def covers(fabric: Fabric, where: str, switch: str, port: int) -> bool:
    """Whether a port is of a place; False for places that the fabric does not have."""
    try:
        return port in ports_of(fabric, where).get(switch, ())
    except FieldError:
        return False


def at_port(fabric: Fabric, values: Mapping[str, T], switch: str, port: int, default: T) -> T:
    """What holds at one port: the last of `values`, by place, that covers it."""
    fitting = [value for where, value in values.items() if covers(fabric, where, switch, port)]
    return fitting[-1] if fitting else default
