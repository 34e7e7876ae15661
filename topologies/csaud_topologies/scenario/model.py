"""A scenario: what runs on the fabric, and what goes wrong there. YAML, checked with the file's line in
every message.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from csaud_controller.base.units import Duration, Rate, at_least
from csaud_controller.base.yamlfile import ConfigError, FieldError, FieldErrors, load_model, mistake
from csaud_controller.inventory import Fabric
from csaud_controller.policy.faults import FaultRule, Faults
from csaud_controller.policy.intent import Intent
from csaud_controller.policy.model import Policy
from csaud_controller.policy.places import ports_of
from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationError,
    field_validator,
    model_validator,
)

from csaud_topologies.base.usage import UsageError
from csaud_topologies.scenario.events import LinkEvent, NodeName, check_links, mistakes_of, resolved
from csaud_topologies.scenario.overrides import assign, value_of
from csaud_topologies.workloads.specs import DEFAULT_WORKLOAD, WorkloadSpec

_PACKAGED = Path(__file__).resolve().parents[1] / "scenarios"
SCENARIOS = _PACKAGED if _PACKAGED.is_dir() else _PACKAGED.parents[1] / "scenarios"
"""Shipped with an installed package, else beside it in a checkout."""

LOSS = "loss"
"""Override that is no key: the probability of every fault rule."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Workers(_Strict):
    """Who takes part in the job, and which rank is on which host."""

    count: int | None = Field(default=None, ge=1, description="ranks; default: one on every host")
    placement: Literal["spread", "block"] | list[NodeName] = Field(
        default="spread",
        description="spread: consecutive ranks on different leaves; block: hosts in order; or hosts by rank",
    )

    @field_validator("placement")
    @classmethod
    def _some(cls, value: str | list[str]) -> str | list[str]:
        if not value:
            raise ValueError("expected spread, block or at least 1 host, got none")
        return value


class _Beside(_Strict):
    """Traffic beside the job, to one host."""

    to: NodeName
    sources: list[NodeName] | int

    @model_validator(mode="after")
    def _check(self) -> Self:
        if isinstance(self.sources, int):
            if self.sources < 1:
                raise FieldError(("sources",), f"expected at least 1, got {self.sources}")
            return self
        if not self.sources:
            raise FieldError(("sources",), "expected hosts, or how many, got none")
        if self.to in self.sources:
            raise FieldError(("sources",), f"expected others than {self.to}, where they send to")
        twice = next((host for host in self.sources if self.sources.count(host) > 1), None)
        if twice is not None:
            raise FieldError(("sources",), f"{twice} is named twice")
        return self


class Incast(_Beside):
    """Plain UDP in bursts from several hosts to one, as other jobs would cause it; the same at any link
    rate.
    """

    kind: Literal["incast"] = "incast"
    sources: list[NodeName] | int = Field(
        default=3, description="hosts by name, or how many from other leaves"
    )
    load: float = Field(default=0.5, gt=0, le=10, description="of each source in a burst; 1 = a host's link")
    packet: int = Field(default=4000, ge=64, le=4100, description="bytes of UDP payload")
    burst: int = Field(default=100, ge=1, description="packets of each source in a burst")
    duty: float = Field(default=0.1, gt=0, le=1, description="share of the time that bursts take")


class Bulk(_Beside):
    """A TCP connection of each source, which takes what it gets, as a copy of files does."""

    kind: Literal["bulk"]
    sources: list[NodeName] | int = Field(
        default=1, description="hosts by name, or how many from other leaves"
    )


def _kind(value: Any) -> str:
    """Of traffic beside the job: an incast where nothing is said."""
    return str(value.get("kind", "incast") if isinstance(value, dict) else getattr(value, "kind", "incast"))


Beside = Annotated[
    Annotated[Incast, Tag("incast")] | Annotated[Bulk, Tag("bulk")],
    Discriminator(
        _kind, custom_error_type="kind", custom_error_message="expected a mapping of kind incast or bulk"
    ),
]


class Scenario(_Strict):
    """Everything that `csaud net run` can be told about a run; `--set key=value` overrides any key."""

    name: str = Field(min_length=1)
    about: str = ""
    seed: int = Field(default=1, ge=0, lt=2**32)
    fabric: str = Field(default="leaf-spine-4x4", description="name or YAML file, as --topo")
    fabric_bmv2: str = Field(default="leaf-spine-2x2", description="the same for TARGET=bmv2")
    link_rate: Rate | None = Field(
        default=None, ge=1_000_000, description="of every link; default: what the fabric says"
    )
    ipv6: bool = Field(
        default=False, description="hosts have IPv6 addresses beside IPv4's, and ranks speak over these"
    )
    workers: Workers = Workers()
    workload: WorkloadSpec = DEFAULT_WORKLOAD
    policy: Policy = Policy()
    faults: list[FaultRule] = Field(default_factory=list)
    background: list[Beside] = Field(default_factory=list)
    events: list[LinkEvent] = Field(default_factory=list)
    host: dict[str, str | int | float | bool] = Field(
        default_factory=dict, description="settings of the host library, as `csaud settings` names them"
    )
    time_limit: Annotated[Duration, at_least(1_000_000_000)] = 600_000_000_000

    @model_validator(mode="after")
    def _check(self) -> Scenario:
        if mistakes := mistakes_of(self.events, self.workload.steps):
            raise FieldErrors([FieldError(("events", *each.loc), str(each)) for each in mistakes])
        return self

    def intent(self) -> Intent:
        """What the controller is asked for; the scenario's seed is also that of rules without their own."""
        policy = self.policy
        if "seed" not in policy.model_fields_set:
            policy = policy.model_copy(update={"seed": self.seed})
        rules = [
            rule if "seed" in rule.model_fields_set else rule.model_copy(update={"seed": self.seed})
            for rule in self.faults
        ]
        return Intent(policy=policy, faults=Faults(rules=tuple(rules)))

    def check(self, fabric: Fabric) -> None:
        """FieldError when the scenario names hosts, links or ports that the fabric does not have."""
        try:
            self.policy.check(fabric)
        except FieldError as error:
            raise FieldError(("policy", *error.loc), str(error)) from None
        _check_places(self, fabric)

    def on(self, fabric: Fabric) -> Scenario:
        """The same with the links that this fabric has; FieldError where it has none."""
        events = resolved(self.events, fabric)
        return self.model_copy(update={"events": events})


def check_faults(rules: Sequence[FaultRule], fabric: Fabric) -> None:
    """FieldError, of the key `faults`, for a place that the fabric does not have."""
    for index, rule in enumerate(rules):
        ports_of(fabric, rule.where, ("faults", index, "where"))


def _check_places(scenario: Scenario, fabric: Fabric) -> None:
    check_faults(scenario.faults, fabric)
    check_links(scenario.events, fabric)
    for index, beside in enumerate(scenario.background):
        named = [beside.to, *(beside.sources if isinstance(beside.sources, list) else [])]
        for host in named:
            if host not in fabric.hosts:
                message = f"{fabric.name} has no host {host}; expected one of {', '.join(fabric.hosts)}"
                raise FieldError(("background", index), message)


def find_scenario(source: str) -> Path:
    """A scenario by name (one of this project's) or by path."""
    path = Path(source)
    if path.suffix in (".yaml", ".yml") or path.exists():
        return path
    named = SCENARIOS / f"{source}.yaml"
    if not named.exists():
        known = ", ".join(sorted(file.stem for file in SCENARIOS.glob("*.yaml")))
        raise ConfigError(source, None, "", f"no such scenario: expected one of {known}, or a YAML file")
    return named


def load_scenario(source: str, overrides: Mapping[str, str] | None = None) -> Scenario:
    """Read a scenario and apply overrides (dotted key -> YAML text).

    ConfigError names file, line and key; RunError names the option whose value does not fit.
    """
    scenario = load_model(find_scenario(source), Scenario)
    for key, text in (overrides or {}).items():
        scenario = _override(scenario, key, text)
    return scenario


def _override(scenario: Scenario, key: str, text: str) -> Scenario:
    # Without what nobody has set, so that it goes on following from the rest (a rule's seed from the
    # scenario's).
    values = scenario.model_dump(mode="json", exclude_unset=True)
    if key == LOSS:
        values["faults"] = _with_loss(values.get("faults", []), value_of(text))
    else:
        assign(values, scenario.model_dump(mode="json"), key, value_of(text), free=("host",))
    if key in ("workload.steps", "workload"):  # a shorter run keeps the events that still fit it
        values["events"] = _events_within(values.get("events", []), values["workload"])
    try:
        return Scenario.model_validate(values)
    except ValidationError as error:
        raise UsageError(f"{key}={text}: {mistake(error, ('train_digits', 'allreduce'), key)}") from None


def _with_loss(rules: list[dict[str, Any]], probability: Any) -> list[dict[str, Any]]:
    """Every rule with this probability; one for all uplinks where the scenario has none."""
    return [{**rule, "probability": probability} for rule in rules or [{}]]


def _events_within(events: list[dict[str, Any]], workload: Any) -> list[dict[str, Any]]:
    """Without the links that would fail or come back after the last step (a link that fails but never comes
    back stays).
    """
    steps = workload.get("steps") if isinstance(workload, dict) else None
    if not isinstance(steps, int):
        return events
    return [event for event in events if event.get("at_step") is None or event["at_step"] < steps]
