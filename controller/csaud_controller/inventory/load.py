"""A fabric by its name, or from a file."""

from __future__ import annotations

import re
from pathlib import Path

from csaud_controller.base.yamlfile import ConfigError, load_model
from csaud_controller.inventory.builders import fat_tree, leaf_spine
from csaud_controller.inventory.model import Fabric

_LEAF_SPINE = re.compile(r"leaf-spine-(\d+)x(\d+)(?:x(\d+))?")
_FAT_TREE = re.compile(r"fat-tree-(\d+)")


def load_fabric(source: str | Path) -> Fabric:
    """A fabric by name (leaf-spine-LxS or -LxSxH: leaves, spines, hosts a leaf; fat-tree-K: ports a switch)
    or from a YAML or JSON file, relative paths in which start at its folder.

    ConfigError on any mistake; its text names the file, the line and the key.
    """
    if isinstance(source, str):
        try:
            if found := _LEAF_SPINE.fullmatch(source):
                return leaf_spine(int(found[1]), int(found[2]), int(found[3] or 2))
            if found := _FAT_TREE.fullmatch(source):
                return fat_tree(int(found[1]))
        except ValueError as error:
            raise ConfigError(source, None, "", str(error)) from None
    path = Path(source)
    if isinstance(source, str) and not path.exists() and path.suffix not in (".yaml", ".yml", ".json"):
        raise ConfigError(
            str(source),
            None,
            "",
            "no such fabric: expected a name like leaf-spine-2x3, leaf-spine-2x3x4 (leaves x spines x hosts a"
            " leaf) or fat-tree-4 (ports a switch), or a YAML file",
        )
    return load_model(path, Fabric).with_files_in(path.absolute().parent)
