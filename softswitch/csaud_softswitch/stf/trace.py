"""The language of .stf files: one command a line, `#` begins a comment.

A value may have don't-care digits (`0x12**`, `0b1*0`), a mask (`0x12&&&0xff`), a prefix length (`10/8`) or
bounds (`0x1->0x5`). Hexadecimal digits of packets may be `*` where a frame is expected, and `$` at the end
says that nothing follows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field


class TraceError(ValueError):
    """A line of a trace cannot be read, or names what the program does not have; begins with its number."""


@dataclass(frozen=True)
class Call:
    """An action with its arguments, by the names that the trace uses."""

    action: str
    arguments: dict[str, str]


@dataclass(frozen=True)
class Add:
    table: str
    priority: int | None
    keys: dict[str, str]
    call: Call


@dataclass(frozen=True)
class SetDefault:
    table: str
    call: Call


@dataclass(frozen=True)
class Packet:
    port: int
    frame: bytes


@dataclass(frozen=True)
class Expect:
    """digits: hexadecimal, `*` for any; None: a frame whatever it holds. exact: nothing follows them."""

    port: int
    digits: str | None
    exact: bool


@dataclass(frozen=True)
class Counter:
    """A counter's cell, or an entry's by its label: what it must hold."""

    name: str
    index: str
    kind: str
    relation: str
    value: int


@dataclass(frozen=True)
class Target:
    """A command of simple_switch_CLI that traces pass through, with its words."""

    words: list[str]


Command = Add | SetDefault | Packet | Expect | Counter | Target


@dataclass
class Trace:
    """The commands with the numbers of their lines."""

    commands: list[tuple[int, Command]] = field(default_factory=list)


TARGET_COMMANDS = {
    "mirroring_add",
    "mirroring_add_mc",
    "mirroring_delete",
    "mirroring_get",
    "mc_mgrp_create",
    "mc_node_create",
    "mc_node_associate",
    "counter_read",
    "counter_write",
    "register_read",
    "register_write",
    "register_reset",
    "meter_get_rates",
    "meter_set_rates",
    "meter_array_set_rates",
}
_CALL = re.compile(r"([\w.$\[\]]+)\s*\(([^)]*)\)\s*(=\s*\S+)?\s*$")
_COUNTER = re.compile(r"(\S+?)\s*\(\s*([^)]*?)\s*\)\s*(?:(packets|bytes)?\s*(==|!=|<=|>=|<|>)\s*(\d+))?\s*$")


def parse(text: str) -> Trace:
    """Raises TraceError."""
    trace = Trace()
    for number, line in enumerate(text.splitlines(), start=1):
        line = line.split("#")[0].strip()
        if not line:
            continue
        word, _, rest = line.partition(" ")
        try:
            command = _command(word.lower(), rest.strip())
        except ValueError as error:
            raise TraceError(f"line {number}: {error}") from error
        if command is not None:
            trace.commands.append((number, command))
    return trace


def _command(word: str, rest: str) -> Command | None:
    if word == "packet":
        port, _, digits = rest.partition(" ")
        return Packet(int(port), bytes.fromhex("".join(digits.split())))
    if word == "expect":
        port, _, digits = rest.partition(" ")
        wanted = "".join(digits.split()).lower()
        return Expect(int(port), wanted.rstrip("$") if wanted else None, wanted.endswith("$"))
    if word == "add":
        return _add(rest)
    if word == "setdefault":
        table, call = rest.split(None, 1)
        return SetDefault(table, _call(call))
    if word == "check_counter":
        found = _COUNTER.match(rest)
        if found is None:
            raise ValueError(f"'{rest}' is no check of a counter")
        name, index, kind, relation, value = found.groups()
        return Counter(name, index, kind or "packets", relation or "==", int(value or 0))
    if word in ("wait", "no_packet"):
        return None  # time is virtual, and what is not expected must not come in any case
    if word in TARGET_COMMANDS:
        return Target([word, *rest.split()])
    raise ValueError(f"no command '{word}'")


def _call(text: str) -> Call:
    found = _CALL.match(text)
    if found is None:
        raise ValueError(f"'{text}' is no action with its arguments")
    arguments = {}
    for argument in filter(None, (part.strip() for part in found[2].split(","))):
        name, colon, value = argument.partition(":")
        if not colon:
            raise ValueError(f"argument '{argument}' lacks its name")
        arguments[name.strip()] = value.strip()
    return Call(found[1], arguments)


def _add(rest: str) -> Add:
    table, body = rest.split(None, 1)
    found = _CALL.search(body)
    if found is None:
        raise ValueError(f"'{body}' has no action")
    words = re.sub(r"\s*:\s*", ":", body[: found.start()]).split()
    priority = int(words.pop(0)) if words and ":" not in words[0] else None
    keys = {}
    for word in words:
        name, colon, value = word.partition(":")
        if not colon:
            raise ValueError(f"key '{word}' lacks its value")
        keys[name] = value
    return Add(table, priority, keys, _call(body[found.start() :]))
