"""YAML files read into pydantic models; an error names the file, the line, the key and what was expected."""

from __future__ import annotations

import types
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from csaud_controller.base.why import why

_SCALARS = ("bool", "int", "float", "str", "constrained-int", "constrained-float", "constrained-str")
"""How pydantic names the members of a union that are no models."""

_MOST_COPIED = 100_000
"""Values that aliases may repeat."""
_MOST_BITS = 1024
"""Of a whole number: Python refuses to write those of thousands of digits."""

Loc = tuple[str | int, ...]
Model = TypeVar("Model", bound=BaseModel)


class ConfigError(ValueError):
    """A mistake in a file that a user wrote; its text is `FILE:LINE: KEY: what was expected`, and a line for
    each of the `others` that are in the file, too."""

    def __init__(
        self, file: str, line: int | None, key: str, message: str, others: Sequence[ConfigError] = ()
    ) -> None:
        where = file if line is None else f"{file}:{line}"
        own = f"{where}: {key}: {message}" if key else f"{where}: {message}"
        super().__init__("\n".join([own, *map(str, others)]))
        self.file, self.line, self.key, self.message = file, line, key, message
        self.others = tuple(others)

    @property
    def all(self) -> list[ConfigError]:
        """All mistakes, each by itself."""
        alone = ConfigError(self.file, self.line, self.key, self.message)
        return [alone, *(each for other in self.others for each in other.all)]


class SourceError(ConfigError):
    """Whoever was asked for a document does not give it: nobody has made a mistake in it."""


class FieldError(ValueError):
    """Raised by a model's own validator to blame one key below it: `loc` is relative to that model."""

    def __init__(self, loc: Sequence[str | int], message: str) -> None:
        super().__init__(message)
        self.loc: Loc = tuple(loc)


class FieldErrors(ValueError):
    """Several FieldErrors of one model, told together."""

    def __init__(self, errors: Sequence[FieldError]) -> None:
        super().__init__("; ".join(f"{key_text(each.loc)}: {each}" for each in errors))
        self.errors = tuple(errors)


class _Reader:
    """Turns a composed YAML document into Python values and remembers the line of every key and item.

    Aliases work; merge keys (`<<`) do not, since a merged key would have no line of its own.
    """

    def __init__(self, file: str) -> None:
        self.file = file
        self.lines: dict[Loc, int] = {}
        self.mistakes: list[ConfigError] = []
        """Keys that are given twice: the last of them holds while the rest is read."""
        self._constructor = yaml.SafeLoader("")
        self._open: set[int] = set()  # collections being read: an alias to one of them would never end
        self._seen: set[int] = set()
        self._copied = 0

    def value(self, node: yaml.Node, loc: Loc) -> Any:
        self.lines.setdefault(loc, node.start_mark.line + 1)
        self._bound(node, loc)
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, loc)
        if id(node) in self._open:
            raise ConfigError(self.file, self.lines[loc], key_text(loc), "an alias to what it is part of")
        self._open.add(id(node))
        try:
            if isinstance(node, yaml.MappingNode):
                return self._mapping(node, loc)
            return [self.value(item, (*loc, index)) for index, item in enumerate(node.value)]
        finally:
            self._open.discard(id(node))

    def _bound(self, node: yaml.Node, loc: Loc) -> None:
        """Aliases to aliases to aliases can make a gigabyte of a kilobyte."""
        self._copied += id(node) in self._seen
        self._seen.add(id(node))
        if self._copied > _MOST_COPIED:
            what = f"aliases that repeat more than {_MOST_COPIED:,} values"
            raise ConfigError(self.file, self.lines[loc], key_text(loc), what)

    def _scalar(self, node: yaml.Node, loc: Loc) -> Any:
        try:
            found = self._constructor.construct_object(node, deep=True)
            if isinstance(found, int) and found.bit_length() > _MOST_BITS:
                raise ValueError(f"a number of {found.bit_length():,} bits")
            return found
        except (yaml.YAMLError, ValueError) as error:
            problem = error.problem if isinstance(error, yaml.MarkedYAMLError) else error
            line = node.start_mark.line + 1
            raise ConfigError(self.file, line, key_text(loc), f"not a YAML value: {problem}") from None

    def _mapping(self, node: yaml.MappingNode, loc: Loc) -> dict[str | int, Any]:
        values: dict[str | int, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            key = self._scalar(key_node, loc)
            if not isinstance(key, str | int):
                raise ConfigError(self.file, line, key_text(loc), f"expected a name as key, got {key!r}")
            here = (*loc, key)
            if key in values:
                what = f"key given twice (first in line {self.lines[here]})"
                self.mistakes.append(ConfigError(self.file, line, key_text(here), what))
            self.lines[here] = line
            values[key] = self.value(value_node, here)
        return values

    def line_of(self, loc: Loc) -> int | None:
        """Line of the nearest enclosing key that is in the file (a missing key has no line of its own)."""
        while loc and loc not in self.lines:
            loc = loc[:-1]
        return self.lines.get(loc)


def key_text(loc: Sequence[str | int]) -> str:
    """("edges", 3, "a_port") -> "edges[3].a_port"."""
    text = ""
    for part in loc:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def parse_yaml(text: str, file: str) -> tuple[Any, dict[Loc, int]]:
    """The document's value, and the line (from 1) of each key and item by its location."""
    value, reader = _read(text, file)
    if reader.mistakes:
        raise _all_of(reader.mistakes)
    return value, reader.lines


def blame(text: str, file: str, errors: Iterable[FieldError]) -> ConfigError | None:
    """Mistakes that a good file does not show by itself, with its lines; None: there are none."""
    _, lines = parse_yaml(text, file)
    found = []
    for each in errors:
        at = each.loc
        while at and at not in lines:
            at = at[:-1]
        found.append(ConfigError(file, lines.get(at), key_text(each.loc), str(each)))
    return _all_of(found) if found else None


def load_model(path: Path | str, model: type[Model]) -> Model:
    """Read `path` (YAML, or JSON, which is YAML too) as `model`; ConfigError on any mistake."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError(str(path), None, "", "no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(str(path), None, "", f"cannot be read: {why(error)}") from None
    return load_model_text(text, model, str(path))


def load_model_text(text: str, model: type[Model], file: str = "<text>") -> Model:
    """Like load_model, from a string; `file` names it in errors."""
    value, reader = _read(text, file)
    if not isinstance(value, dict):
        what = "empty" if value is None else f"a {type(value).__name__}"
        line = reader.line_of(())
        raise ConfigError(file, line, "", f"expected a mapping with the keys {_keys(model)}, got {what}")
    try:
        read = model.model_validate(value)
    except ValidationError as error:
        raise _all_of([*reader.mistakes, *_explain(error, value, reader, model)]) from None
    if reader.mistakes:
        raise _all_of(reader.mistakes)
    return read


def _all_of(mistakes: Sequence[ConfigError]) -> ConfigError:
    """One error that tells them all, in the order of the file; those of what is missing last: a misspelt key
    comes before the missing one that it was meant to be."""
    first, *others = sorted(mistakes, key=lambda each: (each.message == "missing", each.line or 0))
    return ConfigError(first.file, first.line, first.key, first.message, others)


def _read(text: str, file: str) -> tuple[Any, _Reader]:
    reader = _Reader(file)
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        return (reader.value(node, ()) if node is not None else None), reader
    except RecursionError:
        raise ConfigError(file, None, "", "not valid YAML: nested too deep") from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        raise ConfigError(file, line, "", f"not valid YAML: {error.problem or error.context}") from None
    except yaml.reader.ReaderError as error:  # whose own text has two lines
        line = text.count("\n", 0, error.position) + 1
        what = f"{chr(error.character)!r}: {error.reason}"
        raise ConfigError(file, line, "", f"not valid YAML: {what}") from None


def mistake(error: ValidationError, tags: Collection[str] = (), otherwise: str = "") -> str:
    """The mistakes of a value that is in no file, each with its key; `tags`: names that its unions have, and
    that are no keys; `otherwise`: said instead of the key where it is the value itself.
    """
    validators = {*tags, *_SCALARS, *(kind.__name__ for kind in _subclasses(BaseModel))}
    found: list[tuple[Loc, str]] = []
    for detail in error.errors():
        # a part with a bracket is the name of one of pydantic's validators
        loc = (p for p in detail["loc"] if isinstance(p, int) or not (p in validators or {"[", "("} & {*p}))
        base = tuple(loc)
        found += [((*base, *at), said or _expected(detail)) for at, said in _blamed(detail)]
    told = _one_a_place(found)
    return "; ".join(f"{key_text(loc) or otherwise}: {message}" for loc, message in told.items())


def _subclasses(kind: type[Any]) -> Iterator[type[Any]]:
    for each in kind.__subclasses__():
        yield each
        yield from _subclasses(each)


def _one_a_place(found: Iterable[tuple[Loc, str]]) -> dict[Loc, str]:
    """Where a value may be of several kinds, there is a mistake for each of them: of one place the first is
    told, and none of what has a mistake within, which is of the kind that was meant."""
    told: dict[Loc, str] = {}
    for loc, message in found:
        told.setdefault(loc, message)
    return {
        loc: message
        for loc, message in told.items()
        if not any(len(other) > len(loc) and other[: len(loc)] == loc for other in told)
    }


def _blamed(detail: ErrorDetails) -> list[tuple[Loc, str]]:
    """What a model's own validator blames below it, and its words; empty where they are pydantic's."""
    error = detail.get("ctx", {}).get("error")
    if isinstance(error, FieldErrors):
        return [(each.loc, str(each)) for each in error.errors]
    return [(error.loc if isinstance(error, FieldError) else (), "")]


def _explain(
    error: ValidationError, value: Any, reader: _Reader, model: type[BaseModel]
) -> list[ConfigError]:
    """All mistakes, and those that the model finds in what is left when fields are wrong."""
    found = [
        (_loc_in_file(detail, at, reader), said or _message(detail, model))
        for detail in error.errors()
        for at, said in _blamed(detail)
    ]
    further = getattr(model, "further_mistakes", None)
    if further is not None and not any(d["loc"] == () and d["type"] == "value_error" for d in error.errors()):
        found += [(each.loc, str(each)) for each in further(value)]
    told = _one_a_place(found).items()
    return [ConfigError(reader.file, reader.line_of(at), key_text(at), text) for at, text in told]


def _loc_in_file(detail: ErrorDetails, blamed: Loc, reader: _Reader) -> Loc:
    raw = (*detail["loc"], *blamed)
    # pydantic puts the tags of unions and the names of validators into loc; keep only what the file can hold
    loc: Loc = ()
    for index, part in enumerate(raw):
        named_by_us = index >= len(detail["loc"]) or (index == len(raw) - 1 and detail["type"] == "missing")
        if (*loc, part) in reader.lines or named_by_us:
            loc = (*loc, part)
    return loc


def _message(detail: ErrorDetails, model: type[BaseModel]) -> str:
    got = detail.get("input")
    shown = repr(got) if isinstance(got, str | int | float | bool | None) else type(got).__name__
    match detail["type"]:
        case "value_error" | "too_short":
            return _expected(detail)
        case "missing":
            return "missing"
        case "extra_forbidden":
            known = _keys(_model_at(model, detail["loc"][:-1]))
            return f"unknown key; expected one of {known}" if known else "unknown key"
    return f"{_expected(detail)}, got {shown}"


def _expected(detail: ErrorDetails) -> str:
    """What pydantic says, in the words of our own messages."""
    match detail["type"]:
        case "too_short":
            return f"expected at least {detail['ctx']['min_length']}, got {detail['ctx']['actual_length']}"
        case "extra_forbidden":
            return "unknown key"
        case "dict_type" | "model_type" | "model_attributes_type":
            return "expected a mapping"
        case "timezone_aware":
            return "expected a time with its zone, such as 2026-12-24T18:00+01:00"
    said = detail["msg"].removeprefix("Value error, ").replace("Input should be", "expected")
    return said.replace("Input is not a valid ", "expected a valid ")


def _keys(model: type[BaseModel] | None) -> str:
    fields = {} if model is None else model.model_fields
    return ", ".join(field.alias or name for name, field in fields.items())


def _model_at(model: type[BaseModel], loc: Sequence[str | int]) -> type[BaseModel] | None:
    """The model that validates the mapping at `loc`, as far as the annotations tell."""
    candidates: list[Any] = [model]
    for part in loc:
        following: list[Any] = []
        for candidate in candidates:
            following += _step(candidate, part)
        candidates = following
    models = [c for c in _flatten(candidates) if isinstance(c, type) and issubclass(c, BaseModel)]
    return models[0] if models else None


def _step(annotation: Any, part: str | int) -> list[Any]:
    result: list[Any] = []
    kinds = _flatten([annotation])
    if tagged := [kind for kind in kinds if part in _tags(kind)]:
        return tagged
    for kind in kinds:
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            names = {field.alias or name: field for name, field in kind.model_fields.items()}
            if part in names:
                result.append(names[str(part)].annotation)
            else:
                result.append(kind)  # the tag of a union: stays at this model
        elif arguments := getattr(kind, "__args__", ()):
            result.append(arguments[-1])  # list[X], dict[K, X], tuple[X, ...]
    return result


def _tags(kind: Any) -> set[Any]:
    """By which a union may know this model from its others: what one of its fields says literally."""
    if not (isinstance(kind, type) and issubclass(kind, BaseModel)):
        return set()
    said = (field.annotation for field in kind.model_fields.values())
    tags = {value for each in said if get_origin(each) is Literal for value in get_args(each)}
    return tags - kind.model_fields.keys()


def _flatten(annotations: Sequence[Any]) -> list[Any]:
    """Members of unions and the types below Annotated, one flat list."""
    flat: list[Any] = []
    for annotation in annotations:
        origin = get_origin(annotation)
        if origin in (Union, types.UnionType):
            flat += _flatten(get_args(annotation))
        elif origin is Annotated:
            flat += _flatten(get_args(annotation)[:1])
        else:
            flat.append(annotation)
    return flat
