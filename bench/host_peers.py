"""Who is measured on the veth pair, each in its own words: CSA-UD, libfabric's providers, iperf3.

A measurement is goodput in bytes/s, or a round trip in microseconds.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bench.host_rig import ADDRESSES, HostRigError, Pair, end

_PORT = 29500
_START_LIMIT_S = 10.0


@dataclass(frozen=True)
class Effort:
    """How long one measurement takes, about."""

    seconds: float
    iterations: int


class CsaUd:
    """`csaud perf`, with settings of the transport."""

    def __init__(self, name: str, depth: int = 8, **settings: object) -> None:
        """depth: messages under way at once."""
        self.name = name
        self._depth = str(depth)
        self._environ = {f"CSAUD_{key.upper()}": str(value) for key, value in settings.items()}

    def goodput(self, pair: Pair, size: int, effort: Effort) -> float:
        """Several messages under way, from their first post to the last acknowledgement."""
        row = self._measure(pair, "bandwidth", size, 0 if effort.iterations >= 1000 else effort.iterations)
        return float(row["algbw"]) * 1e9

    def in_turns(self, pair: Pair, size: int, effort: Effort) -> float:
        """One message at a time, there and back, as fi_pingpong does."""
        iterations = 0 if effort.iterations >= 1000 else effort.iterations
        return size / (float(self._measure(pair, "latency", size, iterations)["time"]) * 1e-6)

    def round_trip(self, pair: Pair, size: int, effort: Effort) -> float:
        return 2 * float(self._measure(pair, "latency", size, effort.iterations)["time"])

    def _measure(self, pair: Pair, test: str, size: int, iterations: int) -> Mapping[str, float]:
        perf = [sys.executable, "-m", "csaud", "perf"]
        server = pair.start(0, [*perf, "server", "--bind", ADDRESSES[0]], self._environ)
        try:
            with tempfile.TemporaryDirectory() as directory:
                out = Path(directory) / "rows.json"
                words = ["--test", test, "--depth", self._depth, "--sizes", str(size), "--warmup", "50",
                         "--iterations", str(iterations), "--json", str(out)]  # fmt: skip
                pair.run(1, [*perf, "client", ADDRESSES[0], *words], self._environ)
                rows: list[dict[str, float]] = json.loads(out.read_text())
        finally:
            end(server)
        return rows[0]


class Libfabric:
    """`fi_pingpong` with one of libfabric's providers: messages go there and back, one at a time."""

    program, package = "fi_pingpong", "libfabric-bin"

    def __init__(self, name: str, provider: str, endpoint: str) -> None:
        self.name = name
        self._words = ["-p", provider, "-e", endpoint]

    def goodput(self, pair: Pair, size: int, effort: Effort) -> float:
        return size / (self._transfer_us(pair, size, max(10, effort.iterations // 10)) * 1e-6)

    def round_trip(self, pair: Pair, size: int, effort: Effort) -> float:
        return 2 * self._transfer_us(pair, size, effort.iterations)

    def _transfer_us(self, pair: Pair, size: int, iterations: int) -> float:
        """Half of a round trip."""
        words = [*self._words, "-I", str(iterations), "-S", str(size)]
        server = pair.start(0, ["fi_pingpong", *words])
        try:
            text = self._client(pair, words)
        finally:
            end(server)
        # bytes, sent, acknowledged, total, time, MB/s, us a transfer, M transfers/s
        line = text.strip().splitlines()[-1].split()
        if len(line) != 8:
            raise HostRigError(f"fi_pingpong: {text.strip()[-300:]}")
        return float(line[6])

    def _client(self, pair: Pair, words: list[str]) -> str:
        deadline = time.monotonic() + _START_LIMIT_S
        while True:
            try:
                return pair.run(1, ["fi_pingpong", *words, ADDRESSES[0]])
            except HostRigError:  # the server does not listen yet
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)


class Iperf3:
    """One TCP stream."""

    program, package = "iperf3", "iperf3"

    def __init__(self, name: str) -> None:
        self.name = name

    def goodput(self, pair: Pair, size: int, effort: Effort) -> float:
        server = pair.start(0, ["iperf3", "-s", "-1", "--forceflush"])
        try:
            assert server.stdout is not None
            while "listening" not in (line := server.stdout.readline()):
                if not line:
                    raise HostRigError("iperf3 did not listen")
            text = pair.run(1, ["iperf3", "-c", ADDRESSES[0], "-J", "-t", f"{max(1, round(effort.seconds))}",
                                "-l", str(size)])  # fmt: skip
        finally:
            end(server)
        return float(json.loads(text)["end"]["sum_received"]["bits_per_second"]) / 8


OFI_RXD = Libfabric("libfabric udp;ofi_rxd", "udp;ofi_rxd", "rdm")
OFI_TCP = Libfabric("libfabric tcp", "tcp", "msg")
IPERF3 = Iperf3("iperf3")
PEERS = (OFI_RXD, OFI_TCP, IPERF3)


def installed(peer: Libfabric | Iperf3) -> bool:
    """Who is not has no rows."""
    return shutil.which(peer.program) is not None
