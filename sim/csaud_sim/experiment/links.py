"""What an experiment says of single links: other rates and delays, and what they do to frames."""

from __future__ import annotations

from csaud_controller.base.seeds import derive
from csaud_controller.base.units import Rate
from csaud_controller.base.yamlfile import FieldError
from csaud_controller.inventory import End, Fabric
from csaud_controller.policy.places import Where, ports_of
from csaud_controller.program.packets import KINDS, KindName
from pydantic import BaseModel, ConfigDict, Field, model_validator

from csaud_sim.experiment.limits import FASTEST_LINK, LONGEST_QUEUE, Span
from csaud_sim.network import Network

CLASSES = 5
"""Criticality classes of the protocol, 0 (barriers) to 4 (new data)."""

_DEFAULT_KINDS: tuple[KindName, ...] = ("data", "control")


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class LinkRule(_Strict):
    """Links at ports of `where` are unlike the others, in both directions or in that of the ports alone."""

    where: Where
    rate: Rate | None = Field(default=None, ge=1_000_000, le=FASTEST_LINK)
    delay: Span | None = None
    buffer: int | None = Field(default=None, ge=1, le=LONGEST_QUEUE, description="packets per priority queue")
    one_way: bool = Field(default=False, description="the rate is of what leaves those ports alone")

    @model_validator(mode="after")
    def _says_something(self) -> LinkRule:
        if self.one_way and (self.rate is None or self.delay is not None or self.buffer is not None):
            raise FieldError(("one_way",), "expected a rate, and no delay or buffer")
        if self.rate is None and self.delay is None and self.buffer is None:
            raise ValueError("expected rate, delay or buffer")
        return self


class Impairment(_Strict):
    """What links do to frames that leave ports of `where`, unseen by switches."""

    where: Where = "uplinks"
    loss: float = Field(default=0, ge=0, le=1, description="share of the frames that are lost on the link")
    burst: float = Field(
        default=1, ge=1, description="frames lost in a row, on average (Gilbert-Elliott); 1: each by itself"
    )
    kinds: tuple[KindName, ...] = Field(
        default=_DEFAULT_KINDS, min_length=1, description="of frames that are lost, as of a fault"
    )
    classes: tuple[int, ...] | None = Field(
        default=None, min_length=1, description="of CSA frames that are lost; default: every class"
    )
    jitter: Span = Field(default=0, description="every frame takes up to so much longer: they overtake")
    seed: int | None = Field(default=None, ge=0, lt=2**32, description="default: the experiment's")

    @model_validator(mode="after")
    def _can_be(self) -> Impairment:
        if self.loss == 0 and self.jitter == 0:
            raise ValueError("expected a loss or jitter above 0")
        if self.classes is not None and not set(self.classes) <= set(range(CLASSES)):
            raise FieldError(("classes",), f"expected numbers from 0 to {CLASSES - 1}")
        most = self.burst / (self.burst + 1)
        if self.burst > 1 and most < self.loss < 1:
            raise FieldError(
                ("burst",),
                f"bursts of {self.burst:g} frames, one good frame between two, lose {most:.3g} at most, "
                f"got a loss of {self.loss:g}",
            )
        return self


def relinked(fabric: Fabric, rules: list[LinkRule]) -> Fabric:
    """The fabric with its links as `rules` say, the last one last. FieldError: no such place."""
    edges = list(fabric.edges)
    for index, rule in enumerate(rules):
        ports = ports_of(fabric, rule.where, ("links", index, "where"))
        chosen = {End(switch, port) for switch, of_switch in ports.items() for port in of_switch}
        asked = {"rate": None if rule.one_way else rule.rate, "delay": rule.delay, "buffer": rule.buffer}
        said = {key: value for key, value in asked.items() if value is not None}
        edges = [edge.model_copy(update=said) if not chosen.isdisjoint(edge.ends) else edge for edge in edges]
    if not rules:
        return fabric
    # A copy would bring along what the fabric has worked out of its old edges.
    fields = {name: getattr(fabric, name) for name in Fabric.model_fields}
    return Fabric.model_construct(**{**fields, "edges": edges})


def one_way_rates(fabric: Fabric, rules: list[LinkRule]) -> dict[End, int]:
    """Of ports that send at another rate than their links have, bit/s."""
    return {
        End(switch, port): rule.rate
        for rule in rules
        if rule.one_way and rule.rate is not None
        for switch, ports in ports_of(fabric, rule.where).items()
        for port in ports
    }


def check_impairments(fabric: Fabric, asked: list[Impairment]) -> None:
    """FieldError where the fabric has no such place."""
    for index, each in enumerate(asked):
        ports_of(fabric, each.where, ("impairments", index, "where"))


def impair(network: Network, asked: list[Impairment], seed: int) -> None:
    """Let the links do it; `seed` is of those without their own."""
    for index, each in enumerate(asked):
        kinds = sum(1 << KINDS[kind] for kind in set(each.kinds))
        classes = 255 if each.classes is None else sum(1 << cls for cls in set(each.classes))
        for switch, ports in ports_of(network.fabric.inventory, each.where).items():
            for port in ports:
                own = derive(seed if each.seed is None else each.seed, "impairment", index, switch, port)
                network.impair(
                    switch,
                    port,
                    loss=each.loss,
                    burst=each.burst,
                    kinds=kinds,
                    classes=classes,
                    jitter_ns=each.jitter,
                    seed=own,
                )
