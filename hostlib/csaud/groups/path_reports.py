"""What this rank saw of its paths, told to the fabric's controller, which answers with the paths it denies.

One JSON line each way a report (docs/controller.md, "Paths as hosts see them"). A controller that is away
delays nothing: the data path knows nothing of this, and paths stay as they were told last.
"""

import json
import logging
import socket
import threading
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from csaud.errors import ConfigError

log = logging.getLogger(__name__)

_PATIENCE_S = 2.0
_LONGEST_ANSWER = 1 << 20  # bytes

Address = str | tuple[str, int]


class Paths(Protocol):
    """What is reported, and what is done with an answer; a Transport is one."""

    def stats(self) -> Mapping[str, Any]:
        """Counters by name."""

    def deny_path(self, path: int, denied: bool = True) -> None:
        """Send no DATA on a path, or use it again."""


def parse_address(text: str) -> Address:
    """Of unix:/path or host:port; ConfigError for anything else."""
    if text.startswith("unix:/"):
        return text.removeprefix("unix:")
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdecimal() or not 0 < int(port) < 1 << 16:
        raise ConfigError(f"controller={text}: expected unix:/path or host:port")
    return host.strip("[]"), int(port)


class PathReports:
    """A thread that reports every `interval` seconds, and once more when it is stopped."""

    def __init__(
        self, paths: Paths, rank: int, ipv4: str, count: int, controller: str, interval: float
    ) -> None:
        """`ipv4` is this rank's address, by which the controller knows the host; `count` of paths."""
        self._paths, self._rank, self._ipv4, self._count = paths, rank, ipv4, count
        self._address = parse_address(controller)
        self._interval = interval
        self._denied: set[int] = set()
        self._silent = False
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="csaud path reports", daemon=True)

    def start(self) -> None:
        """Report from now on."""
        self._thread.start()

    def stop(self) -> None:
        """A last report, so that the controller has the final counts; waits for it. Idempotent."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    @property
    def denied(self) -> frozenset[int]:
        """Paths that the controller denies, as it said last."""
        return frozenset(self._denied)

    def report(self) -> dict[str, Any]:
        """What is sent: DATA copies by path, and how many were sent again or told to be marked."""
        stats = self._paths.stats()
        return {
            "op": "paths.report",
            "rank": self._rank,
            "host": self._ipv4,
            "tx": list(stats["tx_path"]),
            "lost": list(stats["tx_path_lost"]),
            "ecn": list(stats["tx_path_ecn"]),
        }

    def obey(self, denied: Iterable[int]) -> None:
        """Deny these paths and no others. Of those that this rank does not have nothing is said."""
        wanted = {path for path in denied if 0 <= path < self._count}
        if len(wanted) == self._count:
            log.warning("the controller denies all %d paths; this rank keeps them", self._count)
            wanted = set()
        for path in sorted(wanted ^ self._denied):
            self._paths.deny_path(path, path in wanted)
        self._denied = wanted

    def hear(self, line: bytes) -> None:
        """Obey an answer. ValueError: it is none, or a refusal; then nothing changes."""
        try:
            answer = json.loads(line)
            denied = [int(path) for path in answer["denied"]] if answer["ok"] else None
        except (TypeError, KeyError, OverflowError, RecursionError) as error:
            raise ValueError(f"its answer cannot be read: {error!r}") from None
        if denied is None:
            raise ValueError(answer.get("error", "no reason given"))
        self.obey(denied)

    def _run(self) -> None:
        while True:
            ending = self._stopping.wait(self._interval)
            try:
                self.hear(self._ask(self.report()))
                self._silent = False
            except (OSError, ValueError) as error:
                if not self._silent:
                    log.warning("the controller at %s takes no path reports: %s", self._address, error)
                self._silent = True
            if ending:
                return

    def _ask(self, request: dict[str, Any]) -> bytes:
        with self._connected() as connection:
            connection.sendall(json.dumps(request).encode() + b"\n")
            return connection.makefile("rb").readline(_LONGEST_ANSWER)

    def _connected(self) -> socket.socket:
        if isinstance(self._address, tuple):
            return socket.create_connection(self._address, _PATIENCE_S)
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.settimeout(_PATIENCE_S)
            connection.connect(self._address)
        except BaseException:
            connection.close()
            raise
        return connection
