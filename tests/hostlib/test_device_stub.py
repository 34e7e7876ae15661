"""The type stub of the native module says what the module has, no more and no less."""

import ast
from pathlib import Path

import csaud
from csaud import _core


def names_of(body: list[ast.stmt]) -> set[str]:
    names = set()
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return {name for name in names if not name.startswith("_")}


def public(thing: object) -> set[str]:
    return {name for name in dir(thing) if not name.startswith("_")}


def test_the_stub_has_the_names_of_the_module():
    stub = ast.parse(Path(csaud.__file__).with_name("_core.pyi").read_text())
    assert names_of(stub.body) == public(_core)
    classes = {node.name: node for node in stub.body if isinstance(node, ast.ClassDef)}
    for name in ("EndpointConfig", "Completion", "Progress", "Device"):
        assert names_of(classes[name].body) == public(getattr(_core, name)), name
    for name in ("Status", "CompletionKind"):
        assert names_of(classes[name].body) == {member.name for member in getattr(_core, name)}, name
