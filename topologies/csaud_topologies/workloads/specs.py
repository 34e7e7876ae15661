"""What a scenario may say of each workload; imports nothing heavy, so that checking a scenario is quick.

A new workload is a model here, its name in `WorkloadSpec`, and a module `csaud_topologies.workloads.<name>`
that speaks the worker protocol (workloads/protocol.py).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from csaud_controller.base.yamlfile import FieldError
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field


class _Spec(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class TrainDigits(_Spec):
    """Data-parallel training of a multilayer perceptron on handwritten digits."""

    name: Literal["train_digits"] = "train_digits"
    steps: int = Field(default=30, ge=1, le=100_000)
    hidden: list[Annotated[int, Field(ge=1, le=65_536)]] = Field(
        default=[1024, 1024], min_length=1, description="width of each hidden layer"
    )
    batch: int = Field(default=32, ge=1, le=1437, description="samples per rank and step")
    learning_rate: float = Field(default=0.05, gt=0)
    momentum: float = Field(default=0.9, ge=0, lt=1)


class AllReduce(_Spec):
    """All-reduces of seeded float32 arrays; the results must equal the ring-order sum, bit by bit."""

    name: Literal["allreduce"] = "allreduce"
    sizes: list[Annotated[int, Field(ge=0, le=2**30)]] = Field(
        default=[1, 1021, 262_144], min_length=1, description="elements of each all-reduce"
    )
    repeats: int = Field(
        default=1, ge=1, description="times the list of sizes is run; each all-reduce is a step"
    )

    @property
    def steps(self) -> int:
        """All-reduces in total."""
        return len(self.sizes) * self.repeats


_Known = TrainDigits | AllReduce


def _named(value: Any) -> Any:
    """A mapping that names no workload is of the one that scenarios have which say nothing of it. FieldError
    where it names one that is not there."""
    if not isinstance(value, dict):
        return value
    names = [kind.model_fields["name"].default for kind in get_args(_Known)]
    if (value := {"name": DEFAULT_WORKLOAD.name, **value})["name"] not in names:
        raise FieldError(("name",), f"expected one of {', '.join(names)}, got {value['name']!r}")
    return value


WorkloadSpec = Annotated[_Known, Field(discriminator="name"), BeforeValidator(_named)]
DEFAULT_WORKLOAD = TrainDigits()
