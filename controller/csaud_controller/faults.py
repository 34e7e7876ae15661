"""Losses on purpose: which ports lose which packets, with what probability, told of or silently."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from csaud_controller.inventory import End, Fabric
from csaud_controller.policy import KINDS, KindName, check_port
from csaud_controller.seeds import derive
from csaud_controller.state import Entry, call, entry
from csaud_controller.yamlfile import FieldError

DEFAULT_KINDS: tuple[KindName, ...] = ("data", "control")
"""CSA packets without LOSS: a lost LOSS is found by the detectors that LOSS is to be faster than."""

_WHERE = re.compile(r"uplinks|all|[A-Za-z]\w{0,7}(:\d{1,3}|-[A-Za-z]\w{0,7})")


def _check_where(text: str) -> str:
    if not _WHERE.fullmatch(text):
        raise ValueError(f"expected uplinks, all, a link such as l1-s1 or a port such as l1:1, got {text!r}")
    return text


class FaultRule(BaseModel):
    """A packet of `kinds` that is about to leave a port of `where` is lost with `probability`.

    `where` is `uplinks` (ports from switches with hosts towards other switches: a packet between two leaves
    passes exactly one), `all` (every port between switches, both directions), a link `l1-s1` (both ways) or
    one port `l1:1` (what leaves there).
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    where: Annotated[str, AfterValidator(_check_where)] = "uplinks"
    probability: float = Field(ge=0, le=1)
    kinds: tuple[KindName, ...] = Field(default=DEFAULT_KINDS, min_length=1)
    signalled: bool = Field(
        default=False, description="lost like in congestion: trimmed or counted, as the policy says"
    )
    seed: int = Field(default=1, ge=0, le=0xFFFF_FFFF)

    @property
    def threshold(self) -> int:
        """probability * 2^32, at most 2^32 - 1 (so 1.0 loses all but one in four billion)."""
        return min(round(self.probability * 2**32), 2**32 - 1)


class Faults(BaseModel):
    """All fault rules; where two name the same port and kind, the later one holds."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    rules: tuple[FaultRule, ...] = ()

    def check(self, fabric: Fabric) -> None:
        """FieldError when a rule names a link or port that the fabric does not have."""
        for index, rule in enumerate(self.rules):
            _ports_of(fabric, rule.where, ("rules", index, "where"))

    def with_rule(self, rule: FaultRule) -> Faults:
        """These faults with `rule` last, in place of an earlier one for the same place."""
        return Faults(rules=(*(old for old in self.rules if old.where != rule.where), rule))

    def without(self, where: str) -> Faults:
        """These faults less the rule for `where`; KeyError when there is none."""
        left = tuple(rule for rule in self.rules if rule.where != where)
        if len(left) == len(self.rules):
            raise KeyError(where)
        return Faults(rules=left)


def fault_entries(fabric: Fabric, faults: Faults, switch: str) -> list[Entry]:
    """Entries of `fault.inject`, one a port and kind. Rules of probability 0 only cancel earlier ones."""
    rules: dict[tuple[int, KindName], FaultRule] = {}
    for rule in faults.rules:
        for port in ports_of(fabric, rule.where).get(switch, []):
            rules |= {(port, kind): rule for kind in rule.kinds}
    return [
        entry(
            "fault.inject",
            {"port": port, "kind": (KINDS[kind], 0x3)},
            call(
                "fault.lose",
                threshold=rule.threshold,
                seed=derive(rule.seed, "fault", switch, port),
                signalled=int(rule.signalled),
            ),
            priority=1,
        )
        for (port, kind), rule in sorted(rules.items())
        if rule.threshold
    ]


def ports_of(fabric: Fabric, where: str) -> dict[str, list[int]]:
    """The ports, by switch, that a rule's `where` names; FieldError when the fabric has no such place."""
    return _ports_of(fabric, where, ("where",))


def _ports_of(fabric: Fabric, where: str, loc: tuple[str | int, ...]) -> dict[str, list[int]]:
    ends: list[End] = []
    if where == "uplinks":
        ends = [End(s, p) for s in fabric.switches if fabric.host_ports(s) for p in fabric.uplinks(s)]
    elif where == "all":
        ends = [end for edge in fabric.switch_edges() for end in edge.ends]
    elif ":" in where:
        ends = [End(*check_port(fabric, where, loc))]
    else:
        a, b = where.split("-")
        edges = fabric.edges_between(a, b)
        if not edges:
            known = ", ".join(f"{edge.a}-{edge.b}" for edge in fabric.switch_edges())
            raise FieldError(loc, f"unknown link {where!r}; expected one of {known}")
        ends = [end for edge in edges for end in edge.ends if end.node in fabric.switches]
    ports: dict[str, list[int]] = {}
    for end in ends:
        ports.setdefault(end.node, []).append(end.port)
    return ports
