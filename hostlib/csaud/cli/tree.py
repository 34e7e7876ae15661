"""The commands as a tree. Which classes of click they have depends on typer's version, so that they are known
by what they can do."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import typer

NAME = "csaud"


@dataclass(frozen=True)
class Entry:
    """One command, or a group of them."""

    words: tuple[str, ...]
    """As it is called: `("csaud", "policy", "show")`."""
    command: Any
    context: Any

    @property
    def children(self) -> list["Entry"]:
        """Of a group, those that `--help` lists."""
        if not hasattr(self.command, "list_commands"):
            return []
        found = []
        for name in self.command.list_commands(self.context):
            command = self.command.get_command(self.context, name)
            if command is not None and not command.hidden:
                found.append(Entry((*self.words, name), command, _context(command, name, self.context)))
        return found

    @property
    def options(self) -> list[Any]:
        """That `--help` lists."""
        params = self.command.get_params(self.context)
        return [each for each in params if _is_option(each) and not getattr(each, "hidden", False)]

    @property
    def arguments(self) -> list[Any]:
        """In their order."""
        params = self.command.get_params(self.context)
        return [each for each in params if not _is_option(each) and not getattr(each, "hidden", False)]


def tree(app: typer.Typer) -> Entry:
    """From the command itself downwards."""
    command: Any = typer.main.get_command(app)
    return Entry((NAME,), command, _context(command, NAME, None))


def walk(entry: Entry) -> Iterator[Entry]:
    """It, and all below it."""
    yield entry
    for child in entry.children:
        yield from walk(child)


def _context(command: Any, name: str, parent: Any) -> Any:
    return command.context_class(command, info_name=name, parent=parent)


def _is_option(param: Any) -> bool:
    return bool(param.param_type_name == "option")
