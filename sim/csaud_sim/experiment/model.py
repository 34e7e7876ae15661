"""An experiment's file: a fabric, what is sent over it, and what is varied. YAML, checked like a scenario."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from csaud.collectives.registry import names
from csaud_controller.base.units import Duration, Rate, between
from csaud_controller.base.yamlfile import FieldError, FieldErrors, load_model, mistake, parse_yaml
from csaud_controller.inventory import Fabric
from csaud_controller.policy.faults import FaultRule, Faults
from csaud_controller.policy.intent import Intent
from csaud_controller.policy.model import Policy
from csaud_topologies.base.usage import UsageError
from csaud_topologies.scenario.events import check_links, disordered, resolved, unchanging
from csaud_topologies.scenario.model import check_faults
from csaud_topologies.scenario.overrides import assign, value_of
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from csaud_sim.experiment.fitting import check_core, check_traffic, check_transport
from csaud_sim.experiment.limits import (
    FASTEST_LINK,
    LONGEST_FLOW,
    LONGEST_QUEUE,
    LONGEST_TIME,
    MOST_COLLECTIVES,
    MOST_SEEDS,
    SEEDS,
    Span,
)
from csaud_sim.experiment.links import CLASSES, Impairment, LinkRule, check_impairments, relinked
from csaud_sim.experiment.sizes import PUBLISHED, Points, check_points, mean_of
from csaud_sim.link_events import CONVERGENCE_NS, SimulatedEvent
from csaud_sim.simulated_settings import check_host
from csaud_sim.transports.flow_control import check_flow_control
from csaud_sim.transports.model import Transport

_T = TypeVar("_T", bound=Hashable)
_Seed = Annotated[int, Field(ge=0, lt=SEEDS)]

EXPERIMENTS = Path(__file__).resolve().parents[1] / "experiments"

ALL_TO_ALL = "all_to_all.pairwise"
GATHER = "gather.direct"
"""Operations that are in no registry, as their schedules depend on more than a number of elements."""

_BY_NAME = re.compile(r"(leaf-spine|fat-tree)-[\dx]+")
"""Fabrics that are in no file."""

Setting = dict[str, Any]
"""Keys of an experiment (dotted) and their values."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Traffic(_Strict):
    """Open-loop flows: they start when they start, whatever became of those before."""

    pattern: Literal["random", "permutation", "matching", "all-to-all", "incast"] = Field(
        default="random",
        description="random: any two hosts; permutation: every host has one other to which it sends; "
        "matching: all hosts at a time, each sends once and receives once; "
        "all-to-all: every pair in turn, in an order by seed; incast: `senders` hosts to one at a time",
    )
    sizes: str | int | Points = Field(
        default="AliStorage2019",
        description="a published distribution by name, bytes of every flow, or [bytes, percent] pairs",
    )
    load: float = Field(
        default=0.5,
        gt=0,
        le=1,
        description="payload, as a share of the links of all hosts; incast: of the receiver's",
    )
    flows: int = Field(default=10_000, ge=1, le=50_000_000)
    senders: int = Field(default=8, ge=1, description="incast: hosts that send at one time")
    to: str | None = Field(default=None, description="incast: the receiver; default: another one each time")
    matching: int | None = Field(
        default=None, ge=0, description="matching: its seed; default: the experiment's"
    )
    warmup: Span = Field(default=0, description="flows that start before are in no figure")
    receive_delay: Span = Field(
        default=0,
        description="from a flow's start until its receiver expects it: 0 is knowledge of a schedule, which "
        "applications without one have not; of csa-ud, others need not be told",
    )

    @field_validator("sizes")
    @classmethod
    def _known(cls, value: str | int | Points) -> str | int | Points:
        if isinstance(value, str) and value not in PUBLISHED:
            raise ValueError(f"expected one of {', '.join(PUBLISHED)}, bytes or pairs, got {value!r}")
        if isinstance(value, int) and not 1 <= value <= LONGEST_FLOW:
            raise ValueError(f"expected 1 to {LONGEST_FLOW} bytes, got {value}")
        if isinstance(value, tuple):
            check_points(value)
        return value

    def group(self, hosts: int) -> int:
        """Flows that start at one moment."""
        return {"incast": self.senders, "matching": hosts}.get(self.pattern, 1)

    def gap_ns(self, hosts: int, capacity: float) -> float:
        """Mean time between the moments at which flows start, which gives the load; `capacity`: of the links
        that it is a share of, bit/s."""
        return 8e9 * mean_of(self.sizes) * self.group(hosts) / (self.load * capacity)


class Collectives(_Strict):
    """Collectives one after the other: each rank calls the next one when it has computed since the last."""

    operation: str = Field(
        default="all_reduce.ring",
        description="a schedule of the host library, all_to_all.pairwise or gather.direct",
    )
    bytes: int = Field(ge=4, le=LONGEST_FLOW, description="array of a rank, of float32")
    repeats: int = Field(default=10, ge=1, le=MOST_COLLECTIVES)
    warmup: int = Field(default=0, ge=0, description="of them, the first, which are in no figure")
    criticality: int | None = Field(
        default=None, ge=0, lt=CLASSES, description="class of its messages; default: as of the host library"
    )
    skew: float = Field(
        default=0, ge=0, le=4, description="all_to_all.pairwise: what goes to the n-th rank is as 1 / n**skew"
    )
    ranks: int | None = Field(default=None, ge=2, description="default: every host")
    placement: Literal["spread", "block"] = Field(default="spread", description="as of a scenario's workers")
    compute: Span = Field(default=0, description="mean time that a rank computes before each")
    deviation: Span = Field(default=0, description="of that time")
    straggler: Span = Field(default=0, description="what one rank, another one each time, takes longer")

    @field_validator("operation")
    @classmethod
    def _known(cls, value: str) -> str:
        if value not in (known := [*names(), ALL_TO_ALL, GATHER]):
            raise ValueError(f"expected one of {', '.join(known)}, got {value!r}")
        return value

    @model_validator(mode="after")
    def _check(self) -> Collectives:
        if self.warmup >= self.repeats:
            raise FieldError(("warmup",), f"expected less than all {self.repeats} repeats, got {self.warmup}")
        if self.skew and self.operation != ALL_TO_ALL:
            raise FieldError(("skew",), f"of {ALL_TO_ALL} alone, here it is {self.operation}")
        return self

    @field_validator("bytes")
    @classmethod
    def _whole(cls, value: int) -> int:
        if value % 4:
            raise ValueError(f"expected whole elements of 4 bytes, got {value}")
        return value


class Clocks(_Strict):
    """How far those of hosts are from the simulation's; every host's is drawn by the seed."""

    drift: float = Field(
        default=0, ge=0, le=1000, description="us that they gain or lose in a second, at most"
    )
    offset: Span = Field(default=0, description="what they show at the begin, at most")


def repeated(values: Iterable[_T]) -> Iterator[_T]:
    """Those that are there before."""
    seen: set[_T] = set()
    for value in values:
        if value in seen:
            yield value
        seen.add(value)


class Sweep(_Strict):
    """What is run: every setting with every seed."""

    seeds: Annotated[int, Field(ge=1, le=MOST_SEEDS)] | Annotated[list[_Seed], Field(min_length=1)] = Field(
        default=1, description="so many from the experiment's on, or these"
    )
    vary: dict[str, Annotated[list[Any], Field(min_length=1)]] = Field(
        default_factory=dict, description="values of keys (dotted): every combination is a setting"
    )
    cases: dict[str, Setting] = Field(
        default_factory=dict, description="named sets of keys: what is measured, by every setting"
    )
    settings: dict[str, Setting] = Field(
        default_factory=dict, description="named sets of keys, each with every combination of `vary`"
    )

    @field_validator("seeds")
    @classmethod
    def _each_once(cls, value: int | list[int]) -> int | list[int]:
        for again in repeated(value if isinstance(value, list) else []):
            raise ValueError(f"expected each seed once, got {again} twice: one run counts once")
        return value

    @model_validator(mode="after")
    def _check(self) -> Sweep:
        sets: list[tuple[tuple[str, ...], Iterable[str]]] = [(("vary",), self.vary)]
        sets += [(("cases", name), keys) for name, keys in self.cases.items()]
        sets += [(("settings", name), keys) for name, keys in self.settings.items()]
        for loc, keys in sets:
            for key in keys:
                if key == "seed":
                    raise FieldError((*loc, key), "expected sweep.seeds, by which every setting is run")
                if key.partition(".")[0] in ("name", "about", "sweep"):
                    raise FieldError((*loc, key), "expected a key of what is run, not of the sweep itself")
        return self


class Experiment(_Strict):
    """Everything that `csaud sim run` can be told about traffic on a fabric."""

    name: str = Field(min_length=1, pattern=r"^[\w-][\w.-]*$")
    about: str = ""
    seed: _Seed = 1
    fabric: str = Field(default="leaf-spine-4x4", description="name or YAML file")
    link_rate: Rate | None = Field(
        default=None, ge=1_000_000, le=FASTEST_LINK, description="of every link without its own"
    )
    link_delay: Span | None = Field(default=None, description="the same")
    buffer: int | None = Field(
        default=None, ge=1, le=LONGEST_QUEUE, description="packets per priority queue, the same"
    )
    links: list[LinkRule] = Field(default_factory=list, description="links that are unlike the others")
    impairments: list[Impairment] = Field(
        default_factory=list, description="what links do to frames, unseen by switches"
    )
    pipeline: Span = Field(default=0, description="of every switch")
    traffic: Traffic | None = Field(default=None, description="open loop; or beside the collectives")
    collectives: Collectives | None = None
    transport: Transport = Field(
        default=Transport(), description="csa-ud, or another one by name, with its parameters as keys"
    )
    policy: Policy = Policy()
    faults: list[FaultRule] = Field(default_factory=list)
    events: list[SimulatedEvent] = Field(default_factory=list, description="as of a scenario, and more")
    convergence: Span = Field(
        default=CONVERGENCE_NS,
        description="from when a link goes down or up until tables of all switches follow",
    )
    failover: bool | None = Field(
        default=None,
        description="true: a switch leaves a port that is down at once, as the P4 program's do; false: when "
        "its tables follow; default: true of csa-ud, false of others",
    )
    host: dict[str, str | int | float | bool] = Field(
        default_factory=dict, description="settings of the host library"
    )
    core: dict[str, int | bool] = Field(
        default_factory=dict, description="attributes of csaud._core.EndpointConfig that are no settings"
    )
    clocks: Clocks = Field(default=Clocks(), description="of hosts; of csa-ud, others look at none")
    oracle: bool = Field(
        default=False,
        description="senders learn of every lost copy of DATA half an idle round trip after its loss, and "
        "nobody looks for losses",
    )
    time_limit: Annotated[Duration, between(1000, LONGEST_TIME)] = Field(
        default=10_000_000_000, description="of virtual time; what is not over then counts as unfinished"
    )
    sweep: Sweep = Sweep()

    @field_validator("events")
    @classmethod
    def _happen(cls, value: list[SimulatedEvent]) -> list[SimulatedEvent]:
        if mistakes := [*disordered(value), *unchanging(value)]:
            raise FieldErrors(mistakes)
        return value

    @model_validator(mode="after")
    def _check(self) -> Experiment:
        if self.traffic is None and self.collectives is None:
            raise ValueError("expected traffic, collectives or both")
        if isinstance(asked := self.sweep.seeds, int) and self.seed + asked > SEEDS:
            raise FieldError(
                ("sweep", "seeds"),
                f"expected at most {SEEDS - self.seed} seeds from {self.seed} on, got {asked}",
            )
        check_host(self.host)
        if not self.transport.is_csa_ud:
            if self.traffic is not None and self.traffic.receive_delay:
                raise FieldError(
                    ("traffic", "receive_delay"), f"not with the transport {self.transport.name}"
                )
            for key in ("oracle", "impairments", "clocks"):
                if getattr(self, key) not in (False, [], Clocks()):
                    raise FieldError((key,), f"not with the transport {self.transport.name}")
        if self.oracle and self.policy.loss_signal != "drop":
            raise FieldError(
                ("oracle",),
                "switches that signal losses would tell of them, too: expected policy.loss_signal drop",
            )
        check_core(self.core)
        return self

    @property
    def fails_over(self) -> bool:
        """Whether switches leave a port that is down at once."""
        return self.transport.is_csa_ud if self.failover is None else self.failover

    def intent(self) -> Intent:
        """What the controller is asked for; the experiment's seed is that of what has none of its own."""
        policy = self.policy
        if "seed" not in policy.model_fields_set:
            policy = policy.model_copy(update={"seed": self.seed})
        rules = (
            rule if "seed" in rule.model_fields_set else rule.model_copy(update={"seed": self.seed})
            for rule in self.faults
        )
        return Intent(policy=policy, faults=Faults(rules=tuple(rules)))

    def with_seed(self, seed: int) -> Experiment:
        """The same with another seed, and nothing left to sweep."""
        return self.model_copy(update={"seed": seed, "sweep": Sweep()})

    def on(self, fabric: Fabric) -> Fabric:
        """The fabric with the experiment's links; FieldError where the experiment does not fit it."""
        asked = {"rate": self.link_rate, "delay": self.link_delay, "buffer": self.buffer}
        link = fabric.link.model_copy(
            update={key: value for key, value in asked.items() if value is not None}
        )
        fabric = relinked(fabric.model_copy(update={"link": link}), self.links)
        check_faults(self.faults, fabric)
        check_links(resolved(self.events, fabric), fabric)
        check_impairments(fabric, self.impairments)
        check_flow_control(self.transport, fabric, self.pipeline)
        check_transport(self.transport)
        try:
            self.policy.check(fabric)
        except FieldError as error:
            raise FieldError(("policy", *error.loc), str(error)) from None
        if len(fabric.hosts) < 2:
            raise FieldError(("fabric",), f"{fabric.name} has {len(fabric.hosts)} hosts; expected 2 or more")
        if self.traffic is not None:
            check_traffic(self.traffic, fabric)
        if self.collectives is not None and (self.collectives.ranks or 0) > len(fabric.hosts):
            raise FieldError(("collectives", "ranks"), f"expected at most its {len(fabric.hosts)} hosts")
        return fabric

    def digest(self, fabric: str = "") -> str:
        """Of all that a run depends on, but for the code with its defaults (`code`); `fabric`: what its file
        says (`said_by`)."""
        given = self.model_dump(mode="json", exclude={"sweep", "name", "about"}, exclude_defaults=True)
        text = json.dumps(given, sort_keys=True)
        return hashlib.sha256((text + fabric).encode()).hexdigest()[:12]


def said_by(source: str, fabric: Fabric) -> str:
    """A digest of a fabric's file, which may change; empty where the name says it all."""
    if _BY_NAME.fullmatch(source):
        return ""
    return hashlib.sha256(fabric.model_dump_json().encode()).hexdigest()


def find_experiment(source: str) -> Path | None:
    """An experiment by name (one of this project's) or by path; None: it is a scenario's, if anything's."""
    named = EXPERIMENTS / f"{source}.yaml"
    if named.is_file():
        return named
    path = Path(source)
    try:
        value, _ = parse_yaml(path.read_text(encoding="utf-8"), source)
    except (OSError, UnicodeDecodeError):  # told by whoever reads it
        return None
    is_one = isinstance(value, dict) and not value.keys().isdisjoint(("traffic", "collectives"))
    return path if is_one else None


def load_experiment(path: Path, overrides: Mapping[str, str] | None = None) -> Experiment:
    """Read a file; ConfigError names file, line and key, RunError the override that does not fit."""
    experiment = load_model(path, Experiment)
    asked = {key: value_of(text) for key, text in (overrides or {}).items()}
    return with_keys(experiment, asked)


def with_keys(experiment: Experiment, keys: Setting) -> Experiment:
    """The same with other values of some keys; RunError names the one that does not fit."""
    for key, value in keys.items():
        values = experiment.model_dump(mode="json", exclude_unset=True)
        assign(values, experiment.model_dump(mode="json"), key, value, free=("host", "core", "transport"))
        try:
            experiment = Experiment.model_validate(values)
        except ValidationError as error:
            raise UsageError(f"{key}={value}: {mistake(error, (), key)}") from None
    return experiment
