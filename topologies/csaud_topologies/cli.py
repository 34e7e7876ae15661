"""`csaud net`: run a scenario or one's own program on a fabric, enter a running one, clean up."""

from __future__ import annotations

from csaud_topologies.commands import fabrics, jobs, runs
from csaud_topologies.commands.app import app

__all__ = ["app", "fabrics", "jobs", "runs"]

if __name__ == "__main__":
    app()
