"""The switch process: starts what it hosts, says when it is ready, and stops on SIGINT or SIGTERM."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import signal
import sys
from pathlib import Path

from csaud_runs.whole import write_whole

from csaud_softswitch.hosting import SwitchHost

_log = logging.getLogger(__name__)


def run(host: SwitchHost, *, ready_file: Path | None = None, figures_file: Path | None = None) -> None:
    """Serve until SIGINT or SIGTERM.

    When every server listens, one line of JSON goes to standard output ({"event": "ready", "pid": …,
    "switches": {name: [addresses]}}) and, if asked for, to `ready_file`, which is removed at the end.
    `figures_file` gets the counts of switches and ports at the end, and whenever SIGUSR1 comes.
    """
    asyncio.run(_serve(host, ready_file, figures_file))


async def _serve(host: SwitchHost, ready_file: Path | None, figures_file: Path | None) -> None:
    loop = asyncio.get_running_loop()
    stopping = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopping.set)
    if figures_file is not None:
        loop.add_signal_handler(signal.SIGUSR1, host.write_figures, figures_file)
    await host.start()
    try:
        _announce(host, ready_file)
        await stopping.wait()
        _log.info("stopping")
    finally:
        if ready_file is not None:
            ready_file.unlink(missing_ok=True)
        await host.stop()
        if figures_file is not None:
            host.write_figures(figures_file)


def _announce(host: SwitchHost, ready_file: Path | None) -> None:
    line = json.dumps({"event": "ready", "pid": os.getpid(), "switches": host.addresses})
    if ready_file is not None:
        write_whole(ready_file, line + "\n")
    with contextlib.suppress(BrokenPipeError):  # whoever started it may not care to read
        print(line, flush=True)


def set_up_logging(level: str, log_file: Path | None) -> None:
    """Log lines with a time stamp to a file, or to standard error."""
    handler: logging.Handler
    handler = logging.StreamHandler(sys.stderr) if log_file is None else logging.FileHandler(log_file)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
