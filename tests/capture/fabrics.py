"""A fabric in this process whose ports can be captured, as the switch process of a run offers it."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from csaud_softswitch import _core
from csaud_softswitch.taps import SOCKET, TapServer

from tests.softswitch.test_core_fabric import line
from tests.softswitch.test_core_queueing import packet

COMMAND = [sys.executable, "-m", "csaud_topologies.capture.command"]
PATIENCE_S = 120.0


def fabric_json(links_via: str = "memory") -> dict[str, Any]:
    """s1 and s2, a link between them, and a host at each."""
    mac = "02:00:0a:00:01:0"
    return {
        "name": "two",
        "links_via": links_via,
        "switches": {"s1": {"device_id": 1}, "s2": {"device_id": 2}},
        "hosts": {"h1": {"ip": "10.0.1.1", "mac": f"{mac}1"}, "h2": {"ip": "10.0.1.2", "mac": f"{mac}2"}},
        "edges": [
            {"a": "s1", "a_port": 2, "b": "s2", "b_port": 1, "rate": "1Gbit"},
            {"a": "s1", "a_port": 1, "b": "h1", "b_port": 0},
            {"a": "s2", "a_port": 2, "b": "h2", "b_port": 0},
        ],
    }


class Served:
    """Two switches under virtual time; their taps are served in `folder`, which looks like a run's."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.fabric: _core.Fabric = line(2)
        self.now = 0
        (folder / "fabric.json").write_text(json.dumps(fabric_json()))
        (folder / "pids.json").write_text("{}")
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        self._server = TapServer(self.fabric, folder / SOCKET)
        self._call(self._server.start())

    def _call(self, coroutine: Any) -> None:
        asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(PATIENCE_S)

    def send(self, count: int, length: int = 100, *, keep: bool = True) -> list[bytes]:
        """Frames of this length from h1 to h2; as s1 sends them to s2, or without `keep` nothing."""
        tap = self.fabric.open_tap("s1", 2, capacity=64 << 20 if keep else 0)
        for tag in range(count):
            self.now += 100_000  # no queue builds up
            self.fabric.inject("s1", 1, packet(2, 2, tag=tag, size=length), self.now)
        self.now += 1_000_000_000
        self.fabric.advance(self.now)
        self.fabric.poll()
        return [frame for _, _, frame, _ in tap.take()]

    def end(self) -> None:
        """As when the switch process ends. Idempotent."""
        if self._thread.is_alive():
            self._call(self._server.stop())
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()


@contextmanager
def served(folder: Path) -> Iterator[Served]:
    running = Served(folder)
    try:
        yield running
    finally:
        running.end()


@contextmanager
def capturing(*arguments: object, **how: Any) -> Iterator[subprocess.Popen[str]]:
    """`csaud capture` as soon as it looks."""
    options: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True, **how}
    with subprocess.Popen([*COMMAND, *map(str, arguments)], **options) as process:
        try:
            assert process.stderr is not None
            line = process.stderr.readline()
            assert line.startswith("capturing at"), line + process.stderr.read()
            yield process
        finally:
            if process.poll() is None:
                process.kill()


def fails(run: Path, *arguments: object, status: int = 1) -> str:
    """The message of the command for the run in folder `run`, which it is started in; one line."""
    done = subprocess.run(
        [*COMMAND, *map(str, arguments), "--run", str(run)],
        cwd=run,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert done.returncode == status, done
    (said,) = done.stderr.splitlines()
    return said
