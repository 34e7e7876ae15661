"""What a benchmark cannot do without."""

from __future__ import annotations

import importlib.util

import typer
from rich.console import Console


def torch(console: Console) -> None:
    """Say so and end with status 1 where PyTorch is not installed."""
    if importlib.util.find_spec("torch") is None:
        console.print("bench: PyTorch is not installed in this environment: make torch", style="red")
        raise typer.Exit(1)
