"""What the fabric is asked to do with packets: spray mode, loss signal, congestion limits.

A new spray mode or loss signal of the P4 program gets one row here.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from csaud_controller.inventory import End, Fabric, LinkDefaults
from csaud_controller.seeds import derive
from csaud_controller.state import Call, Entry, MatchValue, call, entry
from csaud_controller.yamlfile import FieldError

SprayMode = Literal["ecmp", "entropy", "random", "round-robin", "host"]
LossSignal = Literal["trim", "drop"]
KindName = Literal["other", "data", "control", "loss"]

KINDS: dict[KindName, int] = {"other": 0, "data": 1, "control": 2, "loss": 3}
"""What a packet is to the fabric, as the P4 program counts it."""

ASKED: dict[int, SprayMode] = {1: "ecmp", 2: "entropy", 3: "random", 4: "round-robin", 7: "host"}
"""Value of the CSA header's spray field -> the mode it asks for; others get the fabric's default."""

_ACTIONS: dict[SprayMode, tuple[str, bool]] = {
    # mode: (action of the P4 program, takes a seed)
    "ecmp": ("spray.ecmp", True),
    "entropy": ("spray.entropy", True),
    "random": ("spray.random", True),
    "round-robin": ("spray.round_robin", False),
    "host": ("spray.host_directed", False),
}

PortName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_]{0,7}:\d{1,3}$")]
"""A switch's port: "l1:2"."""

# Priorities of `spray.policy`: exceptions before what a host asks for before the default.
_PRIORITY_DEFAULT, _PRIORITY_ASKED, _PRIORITY_OVERRIDE = 100, 200, 1000


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SprayOverride(_Strict):
    """Packets of this class or communicator are sprayed in another way, whatever their sender asked for."""

    spray: SprayMode
    cls: int | None = Field(default=None, ge=0, le=7, description="criticality class of the CSA header")
    comm: int | None = Field(default=None, ge=0, le=0xFFFF, description="communicator of the CSA header")

    @model_validator(mode="after")
    def _check(self) -> SprayOverride:
        if self.cls is None and self.comm is None:
            raise ValueError("expected cls, comm or both")
        return self


class Limits(_Strict):
    """Packets waiting for a port: DATA is cut at `trim_at`, what must not be cut has room up to `drop_at`."""

    trim_at: int = Field(ge=1, le=0xFFFF)
    drop_at: int = Field(ge=1, le=0xFFFF)

    @model_validator(mode="after")
    def _check(self) -> Limits:
        if self.trim_at > self.drop_at:
            raise FieldError(("trim_at",), f"expected at most drop_at ({self.drop_at}), got {self.trim_at}")
        return self


class Policy(_Strict):
    """The fabric's policy; every field has a default that works."""

    spray: SprayMode = "entropy"
    honour_hosts: bool = Field(default=True, description="a host's own wish in the CSA header is granted")
    overrides: tuple[SprayOverride, ...] = ()
    loss_signal: LossSignal = "trim"
    loss_signal_at: dict[PortName, LossSignal] = Field(default_factory=dict)
    limits: Limits | None = Field(default=None, description="None: derived from each port's buffer")
    limits_at: dict[PortName, Limits] = Field(default_factory=dict)
    trim_dscp: int = Field(default=8, ge=0, le=63)
    trim_priority: int = Field(
        default=7, ge=0, le=7, description="queue of trimmed packets, 7 is served first"
    )
    seed: int = Field(default=1, ge=0, le=0xFFFF_FFFF)

    def check(self, fabric: Fabric) -> None:
        """FieldError when a port is named that the fabric does not have."""
        for key in ("loss_signal_at", "limits_at"):
            for port in getattr(self, key):
                check_port(fabric, port, (key, port))


def check_port(fabric: Fabric, text: str, loc: tuple[str | int, ...]) -> tuple[str, int]:
    """("l1", 2) of "l1:2"; FieldError naming what exists when the fabric has no such port."""
    name, _, number = text.partition(":")
    if name not in fabric.switches:
        raise FieldError(loc, f"unknown switch {name!r}; expected one of {', '.join(fabric.switches)}")
    if not number.isdigit() or int(number) not in fabric.peers[name]:
        ports = ", ".join(map(str, fabric.peers[name]))
        raise FieldError(
            loc, f"switch {name} has no port {number or '(none given)'}; expected one of {ports}"
        )
    return name, int(number)


def default_limits(link: LinkDefaults) -> Limits:
    """DATA is cut at a quarter of the buffer; at 15/16 nothing comes in, so that no queue drops unseen."""
    return Limits(trim_at=max(1, link.buffer // 4), drop_at=max(1, link.buffer - (link.buffer + 15) // 16))


def limits_of(fabric: Fabric, policy: Policy, switch: str, port: int) -> Limits:
    """The limits that hold at one port."""
    name = f"{switch}:{port}"
    if name in policy.limits_at:
        return policy.limits_at[name]
    if policy.limits is not None:
        return policy.limits
    return default_limits(fabric.link_of(fabric.edge_at[End(switch, port)]))


def signal_of(policy: Policy, switch: str, port: int) -> LossSignal:
    """The loss signal that holds at one port."""
    return policy.loss_signal_at.get(f"{switch}:{port}", policy.loss_signal)


def spray_entries(policy: Policy, switch: str) -> list[Entry]:
    """Entries of `spray.policy`. Traffic that is not CSA has none: it gets the table's default, ECMP."""
    rows: list[tuple[dict[str, MatchValue], SprayMode, int]] = []
    for number, override in enumerate(reversed(policy.overrides)):
        match: dict[str, MatchValue] = {}
        if override.cls is not None:
            match["cls"] = (override.cls, 0x7)
        if override.comm is not None:
            match["comm"] = (override.comm, 0xFFFF)
        rows += [
            ({"kind": (kind, 0x3), **match}, override.spray, _PRIORITY_OVERRIDE + number) for kind in _CSA
        ]
    if policy.honour_hosts:
        rows += [({"asked": (code, 0xF)}, mode, _PRIORITY_ASKED) for code, mode in ASKED.items()]
    rows += [({"kind": (kind, 0x3)}, policy.spray, _PRIORITY_DEFAULT) for kind in _CSA]
    return [
        entry("spray.policy", match, _spray_action(mode, policy.seed, switch), priority)
        for match, mode, priority in rows
    ]


def port_entries(fabric: Fabric, policy: Policy, switch: str) -> list[Entry]:
    """Entries of `congestion.limits` and `loss_signal.signal`, one a port (DROP is the table's default)."""
    entries: list[Entry] = []
    for port in fabric.peers[switch]:
        limits = limits_of(fabric, policy, switch, port)
        action = call(
            "congestion.set_limits",
            trim_at=limits.trim_at,
            no_trim_at=limits.drop_at,
            drop_at=limits.drop_at,
            alarm_at=0xFFFF,
        )
        entries.append(entry("congestion.limits", {"port": port}, action))
        if signal_of(policy, switch, port) == "trim":
            trim = call(
                "loss_signal.trim", size=94, dscp=policy.trim_dscp, priority=policy.trim_priority, icrc=0
            )
            entries.append(entry("loss_signal.signal", {"port": port}, trim, priority=1))
    return entries


_CSA = tuple(code for kind, code in KINDS.items() if kind != "other")


def _spray_action(mode: SprayMode, seed: int, switch: str) -> Call:
    action, seeded = _ACTIONS[mode]
    return call(action, seed=derive(seed, "spray", switch)) if seeded else call(action)
