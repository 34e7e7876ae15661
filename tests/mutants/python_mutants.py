"""Mutants of a Python file, by mutmut's operators and one that leaves a call out.

Left alone: texts (what a message says is tested where it matters), what is logged, annotations, decorators,
imports.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider
from mutmut.mutation import mutators

from tests.mutants.mutant import Mutant

Operator = Callable[[Any], Iterable[cst.CSTNode]]


def no_call(node: cst.Expr) -> Iterable[cst.CSTNode]:
    """A call whose result nobody takes is left out."""
    if isinstance(node.value, cst.Call) or (
        isinstance(node.value, cst.Await) and isinstance(node.value.expression, cst.Call)
    ):
        yield cst.Pass()


OPERATORS: list[tuple[type, Operator]] = [
    *((kind, made) for kind, made in mutators.mutation_operators if made is not mutators.operator_string),
    (cst.Expr, no_call),
]


class _Finder(cst.CSTVisitor):
    METADATA_DEPENDENCIES = (PositionProvider,)

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[int, str, cst.CSTNode, cst.CSTNode]] = []

    def visit_Annotation(self, node: cst.Annotation) -> bool:
        return False

    def visit_Decorator(self, node: cst.Decorator) -> bool:
        return False

    def visit_Import(self, node: cst.Import) -> bool:
        return False

    def visit_ImportFrom(self, node: cst.ImportFrom) -> bool:
        return False

    def visit_Raise(self, node: cst.Raise) -> bool:
        return False  # what an error says

    def on_visit(self, node: cst.CSTNode) -> bool:
        if _logs(node):
            return False
        for kind, operator in OPERATORS:
            if isinstance(node, kind):
                for made in operator(node):
                    line = self.get_metadata(PositionProvider, node).start.line
                    self.found.append((line, operator.__name__.removeprefix("operator_"), node, made))
        return super().on_visit(node)


def _logs(node: cst.CSTNode) -> bool:
    """A call of the module's logger, by itself."""
    match node:
        case cst.Expr(cst.Call(cst.Attribute(cst.Name("log" | "LOG")))):
            return True
    return False


class PythonFile:
    """The mutants of one file; each is written out when it is asked for."""

    def __init__(self, path: str, source: str) -> None:
        self._path = path
        self._source = source
        wrapper = MetadataWrapper(cst.parse_module(source), unsafe_skip_copy=True)
        self._module = wrapper.module
        finder = _Finder()
        wrapper.visit(finder)
        self._found = finder.found

    def __len__(self) -> int:
        return len(self._found)

    def make(self, number: int) -> Mutant | None:
        """None where the change is none, or no Python."""
        line, operator, node, made = self._found[number]
        changed = self._module.deep_replace(node, made)
        assert isinstance(changed, cst.Module)
        try:
            compile(changed.code, self._path, "exec")
        except (SyntaxError, ValueError):
            return None
        if changed.code == self._source:
            return None
        return Mutant(self._path, line, operator, self._source, changed.code)
