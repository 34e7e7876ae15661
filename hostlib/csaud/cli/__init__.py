"""The `csaud` command, and the sub-commands of this package."""

from csaud.cli.command import main

__all__ = ["main"]
