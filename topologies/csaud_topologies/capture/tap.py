"""A port of the embedded switch, through the socket of its process (csaud_softswitch.taps says how)."""

from __future__ import annotations

import json
import select
import socket
import struct
from pathlib import Path

from csaud_runs.errors import RunError
from csaud_softswitch.taps import DIRECTION, FRAME, PROGRESS, RECORD

from csaud_topologies.capture.frames import Frame
from csaud_topologies.capture.pcapng import Direction

_PROGRESS = struct.Struct("<QQ")
_ANSWER_WITHIN_S = 10.0
_READ = 1 << 20
_BUFFER = 4 << 20  # bytes of the socket, so that a short pause here is none for the switch
_WAYS: dict[int, Direction] = {DIRECTION["in"]: "in", DIRECTION["out"]: "out"}


class TapSource:
    """RunError when there is no such switch or port, or the process does not answer."""

    def __init__(self, path: Path, switch: str, port: int, snaplen: int = 0) -> None:
        self.seen = 0
        self.dropped = 0
        self._left = b""
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER)
            self._socket.settimeout(_ANSWER_WITHIN_S)
            self._connect(path)
            asked = {"switch": switch, "port": port, "snaplen": snaplen}
            self._socket.sendall(json.dumps(asked).encode() + b"\n")
            answer = self._first_line(path)
            if "error" in answer:
                raise RunError(str(answer["error"]))
            self._socket.setblocking(False)
        except BaseException:
            self._socket.close()
            raise

    def _connect(self, path: Path) -> None:
        try:
            self._socket.connect(str(path))
        except PermissionError:
            raise RunError(
                f"{path}: permission denied; this run belongs to another user (try sudo)"
            ) from None
        except OSError as error:
            raise RunError(f"{path}: the switch process does not answer: {error.strerror}") from None

    def _first_line(self, path: Path) -> dict[str, object]:
        data = b""
        while b"\n" not in data:
            try:
                more = self._socket.recv(_READ)
            except OSError:
                more = b""
            if not more:
                raise RunError(f"{path}: the switch process does not answer")
            data += more
        line, _, self._left = data.partition(b"\n")
        answer: dict[str, object] = json.loads(line)
        return answer

    def fileno(self) -> int:
        return self._socket.fileno()

    def read(self) -> list[Frame] | None:
        try:
            data = self._socket.recv(_READ)
        except BlockingIOError:
            return []
        except ConnectionResetError:
            return None
        return self._records(data) if data else None

    def finish(self) -> list[Frame]:
        """The switch sends what it had kept, and how much it saw, when we say that we are done."""
        frames: list[Frame] = []
        self._socket.shutdown(socket.SHUT_WR)
        while select.select([self], [], [], _ANSWER_WITHIN_S)[0] and (more := self.read()) is not None:
            frames += more
        return frames

    def close(self) -> None:
        self._socket.close()

    def _records(self, data: bytes) -> list[Frame]:
        data = self._left + data
        at, frames = 0, []
        while at + RECORD.size <= len(data):
            kind, way, _, size, length, time_ns = RECORD.unpack_from(data, at)
            begin = at + RECORD.size
            if begin + size > len(data):
                break
            at = begin + size
            if kind == FRAME:
                frames.append(Frame(time_ns, _WAYS[way], data[begin:at], length))
            elif kind == PROGRESS:
                self.seen, self.dropped = _PROGRESS.unpack_from(data, begin)
        self._left = data[at:]
        return frames
