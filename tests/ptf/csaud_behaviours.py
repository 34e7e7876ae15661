"""The tests of tests/p4 once more, as PTF runs them: a class for each function and each set of its arguments.

A test that needs what hardware does not offer (virtual time, registers, rates of queues) is left out.
PTF's group `each_once` has one class for each function.
"""

from __future__ import annotations

import inspect
import itertools
import re
import unittest
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from csaud_base import CsaudTest
from ptf_switch import PtfSwitch

from tests.p4 import (
    test_congestion,
    test_ecn,
    test_failover,
    test_fault,
    test_forwarding,
    test_loss_signals,
    test_spray,
)
from tests.p4.rig.leaf import Leaf

MODULES = (
    test_forwarding,
    test_spray,
    test_failover,
    test_fault,
    test_congestion,
    test_ecn,
    test_loss_signals,
)
UPLINKS_OF = {"leaf": (1, 2, 3, 4), "one": (1,)}
"""Fixture -> the uplinks of its leaf, as in tests/p4/conftest.py."""


def _behaviours(module: ModuleType) -> Iterator[tuple[str, Callable[..., None], dict[str, Any]]]:
    """(name, function, arguments) of the module's tests that hardware can be put to."""
    for name, function in inspect.getmembers(module, inspect.isfunction):
        if not name.startswith("test_") or function.__module__ != module.__name__:
            continue
        marks = [*_marks(module), *_marks(function)]
        needs = {ability for mark in marks if mark.name == "needs" for ability in mark.args}
        if needs <= PtfSwitch.abilities:
            for suffix, arguments in _arguments([mark for mark in marks if mark.name == "parametrize"]):
                yield name.removeprefix("test_") + suffix, function, arguments


def _marks(marked: Any) -> list[Any]:
    marks = getattr(marked, "pytestmark", [])
    return marks if isinstance(marks, list) else [marks]


def _arguments(marks: list[Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """What pytest's `parametrize` marks stand for: (end of a name, arguments), for each combination."""
    choices = [list(_one_mark(mark)) for mark in marks]
    for chosen in itertools.product(*choices):
        arguments: dict[str, Any] = {}
        for _, part in chosen:
            arguments |= part
        yield "".join(f"__{re.sub('[^A-Za-z0-9]+', '_', text)}" for text, _ in chosen), arguments


def _one_mark(mark: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    names, values = (
        [mark.args[0]] if isinstance(mark.args[0], str) else list(mark.args[0]),
        list(mark.args[1]),
    )
    rows = [(value,) if len(names) == 1 else tuple(value) for value in values]
    ids = mark.kwargs.get("ids") or ["_".join(map(str, row)) for row in rows]
    for text, row in zip(ids, rows, strict=True):
        yield text, dict(zip(names, row, strict=True))


def _case(name: str, function: Callable[..., None], arguments: dict[str, Any]) -> type[CsaudTest]:
    [fixture] = [given for given in inspect.signature(function).parameters if given in UPLINKS_OF]

    def run_test(self: CsaudTest) -> None:
        try:
            function(**{fixture: Leaf(self.switch, UPLINKS_OF[fixture])}, **arguments)
        except BaseException as error:
            if type(error).__name__ == "Skipped":  # pytest.skip
                raise unittest.SkipTest(str(error)) from None
            raise

    return type(name, (CsaudTest,), {"runTest": run_test, "__doc__": function.__doc__, "_groups": []})


_seen: set[Callable[..., None]] = set()
for _module in MODULES:
    for _name, _function, _given in _behaviours(_module):
        globals()[_name] = _case(_name, _function, _given)
        if _function not in _seen:
            globals()[_name]._groups.append("each_once")
        _seen.add(_function)
