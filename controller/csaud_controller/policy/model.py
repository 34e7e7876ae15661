"""What the fabric is asked to do with packets: the ways to spray them, and what becomes of those without
room."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from csaud_controller.base.units import Duration, between
from csaud_controller.base.yamlfile import FieldError
from csaud_controller.inventory import End, Fabric
from csaud_controller.links.damping import DampingSettings
from csaud_controller.links.grey import GreySettings
from csaud_controller.paths.host_reports import PathId
from csaud_controller.policy.congestion import (
    Ecn,
    Limits,
    Thresholds,
    ecn_between,
    ecn_entries,
    limit_entries,
    loss_byte_time,
    thresholds,
)
from csaud_controller.policy.edge import (
    ALL_CLASSES,
    Class,
    Dscp,
    Queue,
    check_queues,
    edge_entries,
    queue_entries,
)
from csaud_controller.policy.places import Location, Where, at_port, check_destination, ports_of
from csaud_controller.policy.prefixes import check_sources, switches_in
from csaud_controller.policy.signals import (
    ETHERNET,
    HEADERS_ONLY,
    LossSignal,
    Signal,
    SignalRule,
    signal_entries,
    signals_at,
)
from csaud_controller.policy.spray import DEFAULT_GAP, FlowletGap, Spraying, SprayMode, SprayOverride
from csaud_controller.policy.weights import Weights, check_weights
from csaud_controller.program.entities import Entry
from csaud_controller.program.room import LONGEST


class Policy(BaseModel):
    """The fabric's policy; every field has a default that works."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    spray: SprayMode = "host"
    flowlet_gap: FlowletGap = Field(
        default=DEFAULT_GAP, description="pause of a flow that begins a new flowlet"
    )
    honour_hosts: bool = Field(default=True, description="a host's own wish in the CSA header is granted")
    overrides: tuple[SprayOverride, ...] = Field(default=(), description="the first that fits holds")
    weights: Weights = Field(default_factory=dict, description="none: derived from the rates of links")
    loss_signal: LossSignal = "trim"
    trim_size: int = Field(default=HEADERS_ONLY, ge=HEADERS_ONLY, le=0xFFFF, description="bytes of a LOSS")
    trim_dscp: int = Field(default=48, ge=0, le=63)
    trim_priority: int = Field(default=7, ge=0, le=7, description="queue of a LOSS, 7 is served first")
    trim_icrc: bool = Field(default=False, description="a LOSS has an iCRC, so that verbs devices take it")
    signals: tuple[SignalRule, ...] = Field(default=(), description="the last that fits holds")
    limits: Limits = Limits()
    limits_at: dict[Where, Limits] = Field(default_factory=dict, description="the last that fits holds")
    ecn: Ecn | bool = Field(
        default=True,
        description="true: up to where DATA is cut, sooner on links slower than others; false: none",
    )
    ecn_at: dict[Where, Ecn | bool] = Field(default_factory=dict, description="the last that fits holds")
    alarm_interval: Annotated[Duration, between(0, LONGEST)] = Field(
        default=1_000_000_000, description="at most one alarm a port in it; 0: they are only counted"
    )
    loss_share: float = Field(
        default=0.5, gt=0, le=1, description="of a link, that LOSS may take before DATA; 1: all of it"
    )
    queues: dict[Dscp, Queue] = Field(
        default_factory=dict, description="of traffic that is not CSA, by DSCP; others: queue 0"
    )
    check_hosts: bool = Field(
        default=True, description="hosts send no LOSS, and their own addresses and classes only"
    )
    host_classes: tuple[Class, ...] = Field(default=ALL_CLASSES, description="that hosts may use")
    host_classes_at: dict[Where, tuple[Class, ...]] = Field(
        default_factory=dict, description="the last that fits holds"
    )
    denied_paths: tuple[PathId, ...] = Field(
        default=(), description="path ids that hosts which report their paths must not use"
    )
    damping: DampingSettings | bool = Field(
        default=True, description="links that fail again and again are left out; false: they are not"
    )
    grey: GreySettings | bool = Field(
        default=True, description="links that lose packets are found and left out; false: they are not"
    )
    seed: int = Field(default=1, ge=0, le=0xFFFF_FFFF)

    def check(self, fabric: Fabric) -> None:
        """FieldError when it names what the fabric does not have, or a limit does not fit a buffer."""
        for mistake in self.mistakes(fabric):
            raise mistake

    def mistakes(self, fabric: Fabric) -> Iterator[FieldError]:
        """All of what `check` refuses; limits are looked at where nothing else is wrong."""
        found = False
        for each in self._names(fabric):
            try:
                each()
            except FieldError as error:
                found = True
                yield error
        if found:
            return
        try:
            for switch, ports in fabric.peers.items():
                if switch in fabric.switches:
                    for port in ports:
                        _check_limits(fabric, self, switch, port)
        except FieldError as error:
            yield error

    def _names(self, fabric: Fabric) -> Iterator[Callable[[], object]]:
        """What raises a FieldError where it names what there is not, one at a time."""
        for switch, weights in self.weights.items():
            yield partial(check_weights, fabric, {switch: weights})
        for index, override in enumerate(self.overrides):
            at = ("overrides", index)
            if override.to is not None:
                yield partial(check_destination, fabric, override.to, (*at, "to"))
            if override.dst is not None:
                yield partial(switches_in, fabric, override.dst, (*at, "dst"))
            if override.src is not None:
                yield partial(check_sources, fabric, override.src, (*at, "src"))
        yield partial(_check_size, fabric, self.trim_size, ("trim_size",))
        for index, rule in enumerate(self.signals):
            if rule.where is not None:
                yield partial(ports_of, fabric, rule.where, ("signals", index, "where"))
            if rule.size is not None:
                yield partial(_check_size, fabric, rule.size, ("signals", index, "size"))
        dscps: dict[tuple[str | int, ...], int] = {("trim_dscp",): self.trim_dscp}
        dscps |= {("signals", n, "dscp"): s.dscp for n, s in enumerate(self.signals) if s.dscp is not None}
        yield partial(check_queues, self.queues, dscps)
        for key in ("limits_at", "ecn_at", "host_classes_at"):
            for where in getattr(self, key):
                yield partial(ports_of, fabric, where, (key, where))

    @property
    def warnings(self) -> list[str]:
        """What it asks for without any effect, a sentence each."""
        modes = self.spray, *(override.spray for override in self.overrides)
        if not self.weights or "weighted" in modes:
            return []
        but = " but where a host asks for it" if self.honour_hosts else ""
        return [
            f"weights are set, and have no effect{but}: only `weighted` takes them, and the policy sprays by"
            f" {', '.join(f'`{mode}`' for mode in dict.fromkeys(modes))}"
        ]

    @property
    def spraying(self) -> Spraying:
        """The part of it that is about spraying."""
        return Spraying(self.spray, self.honour_hosts, self.overrides, self.flowlet_gap, self.seed)

    @property
    def damped(self) -> DampingSettings | None:
        """How links are damped; None: they are not."""
        if isinstance(self.damping, DampingSettings):
            return self.damping
        return DampingSettings() if self.damping else None

    @property
    def looks_for_grey(self) -> GreySettings | None:
        """How grey links are found; None: they are not looked for."""
        if isinstance(self.grey, GreySettings):
            return self.grey
        return GreySettings() if self.grey else None

    @property
    def signal(self) -> Signal:
        """The loss signal where no rule says otherwise."""
        return Signal(
            signal=self.loss_signal,
            size=self.trim_size,
            dscp=self.trim_dscp,
            priority=self.trim_priority,
            icrc=self.trim_icrc,
        )


def limits_of(fabric: Fabric, policy: Policy, switch: str, port: int) -> Thresholds:
    """The limits that hold at one port; ValueError when they do not fit its buffer."""
    limits = at_port(fabric, policy.limits_at, switch, port, policy.limits)
    return thresholds(limits, fabric.link_of(fabric.edge_at[End(switch, port)]))


def ecn_of(fabric: Fabric, policy: Policy, switch: str, port: int) -> Ecn | None:
    """Where marking begins and ends at one port; None: no marks."""
    ecn = at_port(fabric, policy.ecn_at, switch, port, policy.ecn)
    share = fabric.share_at.get(End(switch, port), 1)
    return ecn_between(ecn, limits_of(fabric, policy, switch, port), share)


def signals_of(fabric: Fabric, policy: Policy, switch: str, port: int) -> list[tuple[int | None, Signal]]:
    """The loss signals that hold at one port, by class (None: every class), the most important last."""
    return signals_at(fabric, policy.signal, policy.signals, switch, port)


def port_entries(fabric: Fabric, policy: Policy, switch: str) -> list[Entry]:
    """What the tables of limits, marks, loss signals and the edge hold for every port of a switch."""
    entries = queue_entries(policy.queues)
    if policy.check_hosts:
        entries += edge_entries(fabric, switch, policy.host_classes, policy.host_classes_at)
    for port in fabric.peers[switch]:
        limits = limits_of(fabric, policy, switch, port)
        rate = fabric.link_of(fabric.edge_at[End(switch, port)]).rate
        entries += limit_entries(port, limits, loss_byte_time(rate, policy.loss_share), policy.alarm_interval)
        entries += ecn_entries(switch, port, ecn_of(fabric, policy, switch, port), policy.seed)
        entries += signal_entries(port, signals_of(fabric, policy, switch, port))
    return entries


def _check_size(fabric: Fabric, size: int, loc: Location) -> None:
    longest = ETHERNET + fabric.mtu
    if size > longest:
        raise FieldError(
            loc,
            f"expected a size of at most {longest} bytes, a frame at the MTU of {fabric.mtu}: nothing would"
            f" be cut, and LOSS would take as much room as DATA; got {size}",
        )


def _check_limits(fabric: Fabric, policy: Policy, switch: str, port: int) -> None:
    try:
        limits_of(fabric, policy, switch, port)
    except ValueError as error:
        places = [where for where in policy.limits_at if port in ports_of(fabric, where).get(switch, ())]
        loc = ("limits_at", places[-1]) if places else ("limits",)
        raise FieldError(loc, f"{error}, at {switch}:{port}") from None
