"""Where a setting's value comes from: the keyword argument of `csaud.init`, else the environment variable
CSAUD_<NAME>, else the default."""

import dataclasses
import difflib
from collections.abc import Callable, Mapping
from typing import Any

from csaud.config.settings import FIELDS, Settings
from csaud.errors import ConfigError

PREFIX = "CSAUD_"


def variable(name: str) -> str:
    """The environment variable of a setting."""
    return PREFIX + name.upper()


def load(overrides: Mapping[str, Any], environ: Mapping[str, str]) -> Settings:
    """Settings from keyword arguments, then the environment, then defaults.

    Raises:
        ConfigError: an unknown name, or a value of the wrong type or out of range.
    """
    _refuse_unknown(overrides, environ)
    values: dict[str, Any] = {}
    for name, field in FIELDS.items():
        if name in overrides:
            values[name] = _checked(field, overrides[name], name)
        elif variable(name) in environ:
            values[name] = _checked(field, environ[variable(name)], variable(name))
    return Settings(**values)


def sources(environ: Mapping[str, str]) -> list[tuple[str, Any, str, str, str]]:
    """Rows for display: (name, value in force, "default" or the variable, unit, help)."""
    settings = load({}, environ)
    return [
        (
            name,
            _shown(field, getattr(settings, name)),
            variable(name) if variable(name) in environ else "default",
            field.metadata["unit"],
            field.metadata["help"],
        )
        for name, field in FIELDS.items()
    ]


def _shown(field: dataclasses.Field[Any], value: Any) -> Any:
    return "(set)" if field.metadata["hidden"] and value else value


def _refuse_unknown(overrides: Mapping[str, Any], environ: Mapping[str, str]) -> None:
    for name in overrides:
        if name not in FIELDS:
            raise ConfigError(f"there is no setting {name!r}{_similar(name)}")
    for key in environ:
        # Other programs may have variables of this prefix; only what looks like a slip of the pen is refused.
        name = key.removeprefix(PREFIX).lower()
        if key.startswith(PREFIX) and name not in FIELDS and (similar := _similar(name, PREFIX)):
            raise ConfigError(f"{key} is set, but there is no such setting{similar}")


def _similar(name: str, prefix: str = "") -> str:
    found = difflib.get_close_matches(name, FIELDS, n=1, cutoff=0.75)
    if not found:
        return ""
    return f"; did you mean {prefix + found[0].upper() if prefix else found[0]}?"


def _checked(field: dataclasses.Field[Any], value: Any, source: str) -> Any:
    unit = field.metadata["unit"]
    try:
        typed = _parsers()[_type_of(field)](value)
    except (TypeError, ValueError, OverflowError):
        raise ConfigError(f"{source}={value!r}: expected {_expectation(field)} ({unit})") from None
    choices = field.metadata["choices"]
    if choices and typed not in choices:
        raise ConfigError(f"{source}={value!r}: expected one of {', '.join(choices)}")
    if isinstance(typed, int | float) and not isinstance(typed, bool):
        low, high = field.metadata["low"], field.metadata["high"]
        if not low <= typed <= high:
            raise ConfigError(f"{source}={value!r}: expected {low} to {high} ({unit})")
    return typed


def _type_of(field: dataclasses.Field[Any]) -> type:
    return type(field.default)


def _expectation(field: dataclasses.Field[Any]) -> str:
    return {bool: "yes or no", int: "a whole number", float: "a number", str: "text"}[_type_of(field)]


def _parsers() -> dict[type, Callable[[Any], Any]]:
    return {bool: _flag, int: _whole, float: _number, str: _text}


def _flag(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    word = str(value).lower()
    if word in ("1", "yes", "true", "on"):
        return True
    if word in ("0", "no", "false", "off"):
        return False
    raise ValueError(value)


def _whole(value: Any) -> int:
    if isinstance(value, str):
        return int(value.replace("_", ""), 0)
    if isinstance(value, bool) or int(value) != value:
        raise ValueError(value)
    return int(value)


def _number(value: Any) -> float:
    if isinstance(value, bool):
        raise ValueError(value)
    number = float(value)
    if number != number or number in (float("inf"), float("-inf")):
        raise ValueError(value)
    return number


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value.strip()
