"""Compares the includes of native code with the table of what may include what."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path, PurePosixPath

TABLE = Path(__file__).with_name("layers.toml")
SUFFIXES = {".cpp", ".hpp"}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)


@dataclass(frozen=True)
class Tree:
    """root: of the tree; roots: of includes; folders: what each may include beside itself."""

    name: str
    root: Path
    roots: Sequence[Path]
    folders: Mapping[str, Sequence[str]]

    def folder_of(self, file: Path) -> str | None:
        """The longest folder of the table that the file lies in."""
        within = file.relative_to(self.root)
        fitting = [name for name in self.folders if within.is_relative_to(name)]
        return max(fitting, key=lambda name: len(PurePosixPath(name).parts), default=None)

    def allows(self, folder: str, other: str) -> bool:
        """Of folders of the table; a folder that may be included may with all below it."""
        allowed = (folder, *self.folders[folder])
        return any(PurePosixPath(other).is_relative_to(name) for name in allowed)

    def files(self) -> list[Path]:
        return sorted(path for path in self.root.rglob("*") if path.suffix in SUFFIXES)


def read_table(text: str, top: Path) -> list[Tree]:
    """The trees of the table; ValueError where the table itself is wrong.

    top: what the names of trees are relative to.
    """
    trees = []
    for name, body in tomllib.loads(text).items():
        if lacking := {"roots", "folders"} - body.keys():
            raise ValueError(f"{name}: no {', '.join(sorted(lacking))}")
        root = (top / name).resolve()
        tree = Tree(name, root, [(root / path).resolve() for path in body["roots"]], body["folders"])
        _check_table(tree)
        trees.append(tree)
    return trees


def _check_table(tree: Tree) -> None:
    graph: dict[str, set[str]] = {}
    for folder, allowed in tree.folders.items():
        if not (tree.root / folder).is_dir():
            raise ValueError(f"{tree.name}: there is no folder {folder}")
        graph[folder] = set()
        for other in allowed:
            below = {name for name in tree.folders if PurePosixPath(name).is_relative_to(other)}
            if not below:
                raise ValueError(f"{tree.name}: {folder} may include {other}, which is not in the table")
            graph[folder] |= below - {folder}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        ring = " -> ".join(reversed(error.args[1]))
        raise ValueError(f"{tree.name}: these may include each other: {ring}") from None


def violations(tree: Tree) -> Iterator[str]:
    """A line for each include that the table does not allow, and each file in none of its folders."""
    for file in tree.files():
        shown = f"{tree.name}/{file.relative_to(tree.root).as_posix()}"
        folder = tree.folder_of(file)
        if folder is None:
            yield f"{shown}: its folder is not in the table"
            continue
        text = file.read_text(encoding="utf-8")
        for found in INCLUDE.finditer(text):
            line = text.count("\n", 0, found.start()) + 1
            target = _resolved(tree, file, found)
            if target is None:
                if found[1] is not None:
                    yield f"{shown}:{line}: {found[1]} is in none of the roots"
            elif target.is_relative_to(tree.root):
                other = tree.folder_of(target)
                if other is not None and not tree.allows(folder, other):
                    yield f"{shown}:{line}: {folder} may not include {other} ({found[1] or found[2]})"


def _resolved(tree: Tree, file: Path, include: re.Match[str]) -> Path | None:
    """The file that is included, as a compiler finds it."""
    quoted, name = include[1] is not None, include[1] or include[2]
    for root in [file.parent, *tree.roots] if quoted else tree.roots:
        target = (root / name).resolve()
        if target.is_file():
            return target
    return None
