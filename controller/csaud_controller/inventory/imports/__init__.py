"""Fabrics out of other tools' files: what they say of switches, hosts and cables, and what is left out.

A new format is a module with `read`, and its name here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from csaud_controller.base.why import why
from csaud_controller.base.yamlfile import ConfigError, parse_yaml
from csaud_controller.inventory.imports import containerlab, lldp, netbox, netbox_rest, p4utils, sonic
from csaud_controller.inventory.imports.draft import Draft, Source

Reader = Callable[[Sequence[Source], Iterable[str], Iterable[str]], Draft]

FORMATS: dict[str, Reader] = {
    "containerlab": containerlab.read,
    "p4-utils": p4utils.read,
    "sonic": sonic.read,
    "netbox": netbox.read,
    "lldp": lldp.read,
}
_OF_SEVERAL_FILES = ("sonic", "netbox", "lldp")


def read_files(
    name: str,
    paths: Sequence[str],
    switches: Sequence[str] = (),
    hosts: Sequence[str] = (),
    ask: Callable[[str], Source] | None = None,
) -> Draft:
    """Read files of a format, or what `ask` finds behind a URL. ConfigError names the file and what is wrong.

    `switches` and `hosts`: patterns of nodes that are one or the other, whatever the files say.
    """
    if len(paths) > 1 and name not in _OF_SEVERAL_FILES:
        raise ConfigError(paths[1], None, "", f"{name} has one file for a whole fabric")
    if ask is None and (url := next(filter(netbox_rest.is_url, paths), None)):
        raise ConfigError(url, None, "", "only netbox is asked by URL; expected a file")
    sources = [ask(path) if ask and netbox_rest.is_url(path) else _source(Path(path)) for path in paths]
    try:
        return FORMATS[name](sources, switches, hosts)
    except ConfigError:
        raise
    except (ValueError, TypeError, AttributeError, KeyError, IndexError, OverflowError) as error:
        told = " ".join(map(str, paths))
        raise ConfigError(told, None, "", f"not as {name} writes it: {error}") from None


def _source(path: Path) -> Source:
    try:
        text = path.read_text(encoding="utf-8-sig")  # spreadsheets begin files with a mark
    except FileNotFoundError:
        raise ConfigError(str(path), None, "", "no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(str(path), None, "", f"cannot be read: {why(error)}") from None
    if path.suffix == ".csv":
        return Source(path, text)
    if path.suffix == ".json":
        try:
            return Source(path, json.loads(text))
        except json.JSONDecodeError as error:
            raise ConfigError(str(path), error.lineno, "", f"not valid JSON: {error.msg}") from None
        except RecursionError:
            raise ConfigError(str(path), None, "", "not valid JSON: nested too deep") from None
        except ValueError as error:  # numbers of thousands of digits
            raise ConfigError(str(path), None, "", f"not valid JSON: {error}") from None
    return Source(path, parse_yaml(text, str(path))[0])
