"""What becomes of DATA for which a port has no room: told to its receiver, its sender, both, or nobody.

A new loss signal of the P4 program is a name here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, model_validator

from csaud_controller.inventory import RECIRCULATION_PORT, Fabric
from csaud_controller.policy.places import Where, covers
from csaud_controller.program.entities import Call, CloneSession, Entry, MatchValue, call, entry

LossSignal = Literal["trim", "bounce", "both", "drop"]
SIGNALS: tuple[LossSignal, ...] = get_args(LossSignal)

ETHERNET = 14
"""Bytes of a frame before its IP packet."""
HEADERS_ONLY = 94
"""Bytes of the frame of a LOSS that has only headers: Ethernet 14, IPv4 20, UDP 8, BTH 12, DETH 8, CSA 32."""
WITH_ICRC = HEADERS_ONLY + 4
"""The second form: an iCRC of its own behind the headers, so that it is a datagram to any verbs device."""

BOUNCES = CloneSession(1, ((RECIRCULATION_PORT, 1),))
"""`both` makes its second LOSS of a clone that comes round once more."""

_BASE_PRIORITY = 1


class Signal(BaseModel):
    """A loss signal, and what the LOSS looks like that tells of it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    signal: LossSignal
    size: int = Field(ge=HEADERS_ONLY, le=0xFFFF)
    dscp: int = Field(ge=0, le=63)
    priority: int = Field(ge=0, le=7)
    icrc: bool

    @property
    def action(self) -> Call:
        """The action of `loss_signal.signal`."""
        if self.signal == "drop":
            return call("loss_signal.drop")
        return call(
            f"loss_signal.{self.signal}",
            size=WITH_ICRC if self.icrc else self.size,
            dscp=self.dscp,
            priority=self.priority,
            icrc=int(self.icrc),
        )


class SignalRule(BaseModel):
    """At some place, or for one class, losses are told in another way; what is not given is as elsewhere."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    where: Where | None = Field(default=None, description="None: everywhere")
    cls: int | None = Field(default=None, ge=0, le=7, description="criticality class of the CSA header")
    signal: LossSignal | None = None
    size: int | None = Field(default=None, ge=HEADERS_ONLY, le=0xFFFF)
    dscp: int | None = Field(default=None, ge=0, le=63)
    priority: int | None = Field(default=None, ge=0, le=7)
    icrc: bool | None = None

    @model_validator(mode="after")
    def _check(self) -> SignalRule:
        if self.where is None and self.cls is None:
            raise ValueError("expected where, cls or both")
        return self

    @property
    def key(self) -> tuple[str | None, int | None]:
        """What it is about: of two rules about the same, the later one replaces the earlier."""
        return self.where, self.cls

    def applied_to(self, base: Signal) -> Signal:
        """`base` with what this rule says."""
        told = self.model_dump(exclude={"where", "cls"}, exclude_none=True)
        return base.model_copy(update=told)


def signals_at(
    fabric: Fabric, base: Signal, rules: Iterable[SignalRule], switch: str, port: int
) -> list[tuple[int | None, Signal]]:
    """What holds at one port, by class (None: every class), from the least to the most important."""
    found: list[tuple[int | None, Signal]] = [(None, base)]
    for rule in rules:
        if rule.where is None or covers(fabric, rule.where, switch, port):
            if rule.cls is None:
                found = []  # nothing that came before can hold any more
            found.append((rule.cls, rule.applied_to(base)))
    return found


def signal_entries(port: int, signals: Iterable[tuple[int | None, Signal]]) -> list[Entry]:
    """Entries of `loss_signal.signal` of one port. A drop for all needs none: it is the table's default."""
    entries = []
    for number, (cls, signal) in enumerate(signals):
        if number or signal.signal != "drop":
            match: dict[str, MatchValue] = {"port": port}
            if cls is not None:
                match["cls"] = (cls, 0x7)
            entries.append(entry("loss_signal.signal", match, signal.action, _BASE_PRIORITY + number))
    return entries
