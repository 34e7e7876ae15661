"""The key `transport` of an experiment: a name of the registry, and values of its parameters."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from csaud_controller.base.units import format_duration, format_rate, parse_duration, parse_rate
from csaud_controller.base.yamlfile import FieldError
from pydantic import BaseModel, ConfigDict, ModelWrapValidatorHandler, model_serializer, model_validator

from csaud_sim._core import transports

if TYPE_CHECKING:
    from csaud_sim.told import Parameter

CSA_UD = "csa-ud"
"""This project's: the host core, on switches that run the P4 program. It has no parameters here; its
settings are the experiment's `policy`, `host` and `core`."""


class Transport(BaseModel):
    """Who sends: `name`, or a mapping of `name` and parameters.

    Attributes:
        name: CSA_UD or one of the registry's (`kinds`).
        given: the parameters that are not at their defaults' mercy, in the registry's units.
    """

    model_config = ConfigDict(frozen=True)

    name: str = CSA_UD
    given: Mapping[str, float] = {}

    @model_validator(mode="wrap")
    @classmethod
    def _read(cls, value: Any, handler: ModelWrapValidatorHandler[Transport]) -> Transport:
        if isinstance(value, Transport):
            return value
        if isinstance(value, str):
            value = {"name": value}
        if not isinstance(value, Mapping) or not isinstance(value.get("name", CSA_UD), str):
            raise ValueError(f"expected a name or a mapping with a name, got {value!r}")
        name = value.get("name", CSA_UD)
        if name not in (known := [CSA_UD, *kinds()]):
            raise FieldError(
                ("name",) if "name" in value else (), f"expected one of {', '.join(known)}, got {name!r}"
            )
        asked = {key: each for key, each in value.items() if key != "name"}
        return handler({"name": name, "given": _numbers(name, asked)})

    @model_serializer
    def _written(self) -> dict[str, Any]:
        return {"name": self.name, **{key: _text(self.name, key, each) for key, each in self.given.items()}}

    @property
    def is_csa_ud(self) -> bool:
        """Not one of the baselines."""
        return self.name == CSA_UD

    def value(self, parameter: str) -> float:
        """Of a baseline's parameter, as given or by default."""
        return self.given.get(parameter, kinds()[self.name][parameter]["default"])


@cache
def kinds() -> dict[str, dict[str, Parameter]]:
    """The registry: parameters by name, by transport."""
    return {kind["name"]: {each["name"]: each for each in kind["parameters"]} for kind in transports()}


def _numbers(name: str, asked: Mapping[str, Any]) -> dict[str, float]:
    known = kinds().get(name, {})
    found = {}
    for key, value in asked.items():
        if key not in known:
            expected = f"expected one of {', '.join(known)}" if known else "it has none"
            raise FieldError((key,), f"{name} has no such parameter; {expected}")
        try:
            found[key] = _number(known[key], value)
        except ValueError as error:
            raise FieldError((key,), str(error)) from None
    return found


def _number(parameter: Parameter, value: Any) -> float:
    unit = parameter["unit"]
    if unit == "choice":
        if value not in parameter["choices"]:
            raise ValueError(f"expected one of {', '.join(parameter['choices'])}, got {value!r}")
        return float(parameter["choices"].index(value))
    if unit == "flag":
        if not isinstance(value, bool):
            raise ValueError(f"expected true or false, got {value!r}")
        return float(value)
    if unit in ("time", "rate"):
        number = float(parse_duration(value) if unit == "time" else parse_rate(value))
    elif isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"expected {_expected(unit)}, got {value!r}")
    elif unit in ("bytes", "packets") and value != int(value):
        raise ValueError(f"expected whole {unit}, got {value!r}")
    else:
        number = float(value)
    if not parameter["least"] <= number <= parameter["most"]:
        raise ValueError(f"expected {parameter['least']:g} to {parameter['most']:g}, got {value!r}")
    return number


def _expected(unit: str) -> str:
    return f"a number of {unit}" if unit in ("bytes", "packets") else "a number"


def _text(name: str, key: str, value: float) -> Any:
    """As people write it."""
    parameter = kinds()[name][key]
    match parameter["unit"]:
        case "choice":
            return parameter["choices"][int(value)]
        case "flag":
            return bool(value)
        case "time":
            return format_duration(int(value))
        case "rate":
            return format_rate(int(value))
        case _:
            return int(value) if value == int(value) else value
