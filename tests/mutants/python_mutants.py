"""Mutants of a Python file, by mutmut's operators and one that leaves a call out.

Left alone: texts (what a message says is tested where it matters), what is logged, reprs, annotations, names
of types, decorators, imports, and whether `zip` looks at lengths, which differ by mistake alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import libcst as cst
from libcst import matchers
from libcst.metadata import MetadataWrapper, PositionProvider
from mutmut.mutation import mutators

from tests.mutants.mutant import Mutant, by_kind

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


TYPES = (cst.Name, cst.Attribute, cst.Subscript, cst.BinaryOperation)


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

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
        return node.name.value != "__repr__"

    def visit_Raise(self, node: cst.Raise) -> bool:
        return False  # what an error says

    def on_visit(self, node: cst.CSTNode) -> bool:
        if _logs(node) or _names_type(node) or _is_strict(node):
            return False
        for kind, operator in OPERATORS:
            if isinstance(node, kind):
                for made in filter(_looks_at_lengths(node), operator(node)):
                    line = self.get_metadata(PositionProvider, node).start.line
                    self.found.append((line, operator.__name__.removeprefix("operator_"), node, made))
        return super().on_visit(node)


def _logs(node: cst.CSTNode) -> bool:
    """A call of the module's logger, by itself."""
    match node:
        case cst.Expr(cst.Call(cst.Attribute(cst.Name("log" | "LOG")))):
            return True
    return False


def _names_type(node: cst.CSTNode) -> bool:
    """`Array = npt.NDArray[Any]`, `Someone = TypeVar("Someone")`: for the type checker. An Annotated with
    calls in it is for the command line."""
    match node:
        case cst.Assign(targets=[cst.AssignTarget(cst.Name(name))], value=cst.Call(cst.Name(kind))):
            return kind in ("TypeVar", "ParamSpec", "NewType")
        case cst.Assign(targets=[cst.AssignTarget(cst.Name(name))], value=value):
            calls = matchers.findall(value, matchers.Call())
            return name[:1].isupper() and not name.isupper() and isinstance(value, TYPES) and not calls
    return False


def _is_strict(node: cst.CSTNode) -> bool:
    match node:
        case cst.Arg(keyword=cst.Name("strict")):
            return True
    return False


def _looks_at_lengths(node: cst.CSTNode) -> Callable[[cst.CSTNode], bool]:
    """Whether what was made of a call has its `strict=` as it was."""

    def strict(call: cst.CSTNode) -> list[cst.BaseExpression]:
        args = call.args if isinstance(call, cst.Call) else ()
        return [arg.value for arg in args if _is_strict(arg)]

    return lambda made: strict(made) == strict(node)


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

    def kinds(self) -> dict[str, list[int]]:
        return by_kind(operator for _, operator, *_ in self._found)

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
