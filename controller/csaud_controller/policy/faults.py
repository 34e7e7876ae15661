"""Losses on purpose: which ports lose which packets, with what probability, told of or silently."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from csaud_controller.base.seeds import derive
from csaud_controller.inventory import Fabric
from csaud_controller.policy.places import Where, ports_of
from csaud_controller.program.entities import Entry, call, entry
from csaud_controller.program.packets import KIND_MASK, KINDS, KindName

DEFAULT_KINDS: tuple[KindName, ...] = ("data", "control")
"""CSA packets without LOSS: a lost LOSS is found by the detectors that LOSS is to be faster than."""


class FaultRule(BaseModel):
    """A packet of `kinds` that is about to leave a port of `where` is lost with `probability`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    where: Where = "uplinks"
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
            ports_of(fabric, rule.where, ("rules", index, "where"))

    def with_rule(self, rule: FaultRule) -> Faults:
        """These faults with `rule` last, in place of an earlier one for the same place."""
        return Faults(rules=(*(old for old in self.rules if old.where != rule.where), rule))

    def without(self, where: str) -> Faults:
        """These faults less the rule for `where`; KeyError when there is none."""
        left = tuple(rule for rule in self.rules if rule.where != where)
        if len(left) == len(self.rules):
            raise KeyError(where)
        return Faults(rules=left)


def faulty_ports(fabric: Fabric, faults: Faults, switch: str) -> list[tuple[int, KindName, FaultRule]]:
    """Which rule holds at each port of a switch for each kind. Rules of probability 0 only cancel earlier
    ones."""
    rules: dict[tuple[int, KindName], FaultRule] = {}
    for rule in faults.rules:
        for port in ports_of(fabric, rule.where).get(switch, []):
            rules |= {(port, kind): rule for kind in rule.kinds}
    return [(port, kind, rule) for (port, kind), rule in sorted(rules.items()) if rule.threshold]


def fault_seed(rule: FaultRule, switch: str, port: int) -> int:
    """Of a rule's draws at one port."""
    return derive(rule.seed, "fault", switch, port)


def fault_entries(fabric: Fabric, faults: Faults, switch: str) -> list[Entry]:
    """Entries of `fault.inject`, one a port and kind."""
    return [
        entry(
            "fault.inject",
            {"port": port, "kind": (KINDS[kind], KIND_MASK)},
            call(
                "fault.lose",
                threshold=rule.threshold,
                seed=fault_seed(rule, switch, port),
                signalled=int(rule.signalled),
            ),
            priority=1,
        )
        for port, kind, rule in faulty_ports(fabric, faults, switch)
    ]
