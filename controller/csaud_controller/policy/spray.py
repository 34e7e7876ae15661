"""Which of the equal paths a packet takes: the spray modes, and which packets they are for.

A new mode of the P4 program gets a name and a row here.
"""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from csaud_controller.base.seeds import derive
from csaud_controller.base.units import Duration, between
from csaud_controller.base.yamlfile import FieldError
from csaud_controller.inventory import Fabric
from csaud_controller.paths.equal_cost import remote_group
from csaud_controller.policy.prefixes import switches_in
from csaud_controller.program.entities import Call, Entry, MatchValue, call, entry
from csaud_controller.program.packets import CSA, KIND_MASK, KINDS, KindName
from csaud_controller.program.room import LONGEST

SprayMode = Literal["ecmp", "entropy", "random", "round-robin", "weighted", "least-queue", "host", "flowlet"]


@dataclass(frozen=True)
class _Mode:
    action: str
    asked: int
    """Value of the CSA header's spray field by which a host asks for it."""
    is_seeded: bool = False
    has_gap: bool = False
    keeps_order: bool = False
    """Packets of one path_id stay in order, so that hosts may take a gap for a loss."""


MODES: dict[SprayMode, _Mode] = {
    "ecmp": _Mode("spray.ecmp", 1, is_seeded=True, keeps_order=True),
    "entropy": _Mode("spray.entropy", 2, is_seeded=True, keeps_order=True),
    "random": _Mode("spray.random", 3, is_seeded=True),
    "round-robin": _Mode("spray.round_robin", 4),
    "weighted": _Mode("spray.weighted", 5),
    "least-queue": _Mode("spray.least_queue", 6, is_seeded=True),
    "host": _Mode("spray.host_directed", 7, keeps_order=True),
    "flowlet": _Mode("spray.flowlet", 8, is_seeded=True, has_gap=True),
}

FlowletGap = Annotated[Duration, between(1000, LONGEST)]
DEFAULT_GAP = 500_000
"""Nanoseconds between packets of a flow that begin a new flowlet."""

_PATH_IDS = 1 << 16
_MOST_CHOICES = 1 << 10
"""Path ids have no digit left for who comes after so many."""

# Priorities of `spray.policy`: exceptions before what a host asks for before the default.
_PRIORITY_OTHER, _PRIORITY_DEFAULT, _PRIORITY_ASKED, _PRIORITY_OVERRIDE = 50, 100, 200, 1000


class SprayOverride(BaseModel):
    """Packets that fit everything given here are sprayed in another way, whatever their sender asked for."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    spray: SprayMode
    to: str | None = Field(default=None, description="switch whose hosts they go to")
    kind: KindName | None = Field(default=None, description="default: all that carry a CSA header")
    cls: int | None = Field(default=None, ge=0, le=7, description="criticality class of the CSA header")
    comm: int | None = Field(default=None, ge=0, le=0xFFFF, description="communicator of the CSA header")
    asked: SprayMode | None = Field(default=None, description="the mode that their sender asks for")
    qkey: int | None = Field(
        default=None, ge=0, le=0xFFFF_FFFF, description="Q_Key of their job, where the target has room for it"
    )
    src: IPv4Network | None = Field(default=None, description="prefix of sources: all hosts of switches")
    dst: IPv4Network | None = Field(
        default=None, description="prefix of their destinations: all hosts of switches"
    )
    gap: FlowletGap | None = Field(default=None, description="of flowlets; default: the policy's")
    seed: int | None = Field(default=None, ge=0, le=0xFFFF_FFFF, description="default: the policy's")

    @property
    def key(self) -> tuple[str | int | None, ...]:
        """Which packets it is about: of two about the same, the later one replaces the earlier."""
        return self.to, self.kind, self.cls, self.comm, self.asked, self.qkey, str(self.src), str(self.dst)

    @model_validator(mode="after")
    def _check(self) -> SprayOverride:
        if self.to is not None and self.dst is not None:
            raise FieldError(("dst",), "expected `to` or `dst`, not both")
        return self

    def destinations(self, fabric: Fabric) -> list[str] | None:
        """The switches that the packets go to; None: any."""
        if self.dst is not None:
            return switches_in(fabric, self.dst)
        return None if self.to is None else [self.to]


@dataclass(frozen=True)
class Spraying:
    """How one switch sprays."""

    default: SprayMode
    honour_hosts: bool
    overrides: tuple[SprayOverride, ...]
    gap: int
    """Nanoseconds."""
    seed: int

    def uses(self, mode: SprayMode) -> bool:
        """Whether any packet can be sprayed in this way."""
        return self.honour_hosts or mode in (self.default, *(o.spray for o in self.overrides))


def spray_entries(fabric: Fabric, spraying: Spraying, switch: str) -> list[Entry]:
    """Entries of `spray.policy`. Traffic that is not CSA gets ECMP, unless an exception names it: with a seed
    of the switch's own, because tiers that hash alike would use some of the paths between them only."""

    def row(match: dict[str, MatchValue], mode: SprayMode, priority: int) -> Entry:
        action = _action(fabric, mode, spraying.gap, spraying.seed, switch)
        return entry("spray.policy", match, action, priority)

    rows = []
    for number, override in enumerate(reversed(spraying.overrides)):
        rows += _override_entries(fabric, spraying, override, switch, _PRIORITY_OVERRIDE + number)
    if spraying.honour_hosts:
        rows += [row({"asked": (m.asked, 0xF)}, mode, _PRIORITY_ASKED) for mode, m in MODES.items()]
    rows += [row({"kind": (KINDS[k], KIND_MASK)}, spraying.default, _PRIORITY_DEFAULT) for k in CSA]
    rows.append(row({"kind": (KINDS["other"], KIND_MASK)}, "ecmp", _PRIORITY_OTHER))
    return rows


def _override_entries(
    fabric: Fabric, spraying: Spraying, override: SprayOverride, switch: str, priority: int
) -> list[Entry]:
    match: dict[str, MatchValue] = {}
    if override.src is not None and switch not in switches_in(fabric, override.src):
        return []  # the others have no choice for what comes from there
    groups: list[dict[str, MatchValue]] = [{}]
    if (to := override.destinations(fabric)) is not None:
        # each of its own hosts is at one port: there is nothing to choose
        groups = [{"group": (remote_group(fabric, name), 0xFFFF)} for name in to if name != switch]
    if override.qkey is not None:
        match["qkey"] = (override.qkey, 0xFFFF_FFFF)
    if override.cls is not None:
        match["cls"] = (override.cls, 0x7)
    if override.comm is not None:
        match["comm"] = (override.comm, 0xFFFF)
    if override.asked is not None:
        match["asked"] = (MODES[override.asked].asked, 0xF)
    gap = spraying.gap if override.gap is None else override.gap
    seed = spraying.seed if override.seed is None else override.seed
    action = _action(fabric, override.spray, gap, seed, switch)
    kinds = CSA if override.kind is None else (override.kind,)
    return [
        entry("spray.policy", {"kind": (KINDS[kind], KIND_MASK), **group, **match}, action, priority)
        for group in groups
        for kind in kinds
    ]


def _action(fabric: Fabric, mode: SprayMode, gap_ns: int, seed: int, switch: str) -> Call:
    below = fabric.choices_below[switch]
    if mode == "host" and below > _MOST_CHOICES:
        mode = "entropy"  # by its hash each path_id still has one path
    elif mode == "host" and below > 1:
        # path_id modulo the uplinks again would be the choice of the tier before, and most paths nobody's: a
        # path_id is a number whose digits the tiers take one by one, the last one first
        return call("spray.host_directed_above", reciprocal=-(-_PATH_IDS // below))
    made = MODES[mode]
    args = {"seed": derive(seed, "spray", switch)} if made.is_seeded else {}
    return call(made.action, **args, **({"gap": gap_ns // 1000} if made.has_gap else {}))
