"""Serves what passes a port to `csaud capture`, over a Unix socket of the switch process.

A client sends one line of JSON, {"switch": NAME, "port": NUMBER, "snaplen": BYTES or 0}. The answer is one
line, {"kind": "link" | "memory" | "veth"} or {"error": TEXT}, and then records until the client closes:

    u8 kind, u8 direction (1 in, 2 out), u16 0, u32 bytes, u32 original length, u64 time, bytes

little-endian. Kind 1 is a frame (time in nanoseconds since 1970), kind 2 says how far the capture is: `bytes`
is 16, then u64 frames seen and u64 frames lost because the client did not take them in time.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import struct
import time
from pathlib import Path

from csaud_softswitch import _core

SOCKET = "capture.sock"
"""Its name in the run directory."""

RECORD = struct.Struct("<BBHIIQ")
FRAME, PROGRESS = 1, 2
DIRECTION = {"in": 1, "out": 2}

_LAST_WORDS_S = 2.0
"""How long a client may take to read what is left when the switch ends."""

_log = logging.getLogger(__name__)


class TapServer:
    """Listens while the fabric runs; each client has a tap of its own."""

    def __init__(self, fabric: _core.Fabric, path: Path) -> None:
        self._fabric = fabric
        self._path = path
        self._server: asyncio.Server | None = None
        self._clients: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """OSError when the socket cannot be made."""
        self._path.unlink(missing_ok=True)
        self._server = await asyncio.start_unix_server(self._accept, self._path)
        self._path.chmod(0o600)  # frames are nobody else's business

    async def stop(self) -> None:
        """Close all captures. Idempotent."""
        if self._server is None:
            return
        self._server.close()
        for client in self._clients:
            client.cancel()
        await asyncio.gather(*self._clients, return_exceptions=True)
        self._server = None
        self._path.unlink(missing_ok=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._clients.add(task)
        try:
            await self._serve(reader, writer)
        except (OSError, asyncio.CancelledError):
            pass  # the client has gone, or the switch ends
        finally:
            self._clients.discard(task)
            writer.close()
            with contextlib.suppress(OSError, TimeoutError):
                await asyncio.wait_for(writer.wait_closed(), _LAST_WORDS_S)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            asked = json.loads(await reader.readline())
            switch, port = str(asked["switch"]), int(asked["port"])
            kind = self._kind(switch, port)
            tap = self._fabric.open_tap(switch, port, snaplen=int(asked.get("snaplen", 0)))
        except (ValueError, KeyError, TypeError, LookupError, OverflowError) as error:
            reason = str(error.args[0] if error.args else error)
            writer.write(json.dumps({"error": reason}).encode() + b"\n")
            await writer.drain()
            return
        _log.info("capture of %s:%d begins", switch, port)
        with contextlib.closing(tap):
            writer.write(json.dumps({"kind": kind}).encode() + b"\n")
            await self._pump(tap, reader, writer)
        _log.info("capture of %s:%d ends", switch, port)

    def _kind(self, switch: str, port: int) -> str:
        stats = self._fabric.switch(switch).port_stats()
        if port not in stats:
            known = ", ".join(str(number) for number in sorted(stats)) or "none"
            raise LookupError(f"switch {switch!r} has no port {port}; its ports: {known}")
        return stats[port]["kind"]

    async def _pump(self, tap: _core.Tap, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Until the client closes its end. While it does not read, frames wait in the tap or are lost."""
        loop = asyncio.get_running_loop()
        waiting = asyncio.Event()

        def wake() -> None:
            loop.remove_reader(tap.fd())  # it stays readable until the frames are taken
            waiting.set()

        gone = asyncio.ensure_future(reader.read())
        try:
            while not gone.done():
                loop.add_reader(tap.fd(), wake)
                signal = asyncio.ensure_future(waiting.wait())
                await asyncio.wait((signal, gone), return_when=asyncio.FIRST_COMPLETED)
                signal.cancel()
                waiting.clear()
                _send(tap, writer)
                await writer.drain()
        finally:
            loop.remove_reader(tap.fd())
            gone.cancel()
            _send(tap, writer)


def _send(tap: _core.Tap, writer: asyncio.StreamWriter) -> None:
    since_1970 = time.time_ns() - time.monotonic_ns()  # the fabric's clock is the monotonic one
    for at, direction, frame, length in tap.take():
        writer.write(RECORD.pack(FRAME, DIRECTION[direction], 0, len(frame), length, at + since_1970) + frame)
    writer.write(RECORD.pack(PROGRESS, 0, 0, 16, 16, 0) + struct.pack("<QQ", tap.seen, tap.dropped))
