"""What a fabric looks like at a moment: the controller's status and the switches' counters, read once for all
who ask within some time."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field

from csaud_controller.control.client import Answer, ControlError, ask, standing_by
from csaud_controller.inventory import Fabric
from csaud_controller.program.artifacts import ArtifactsError
from csaud_controller.run.directory import RunDir
from csaud_controller.switches.counters import SwitchCounters, read_counters
from csaud_controller.switches.errors import CountersError, TlsError
from csaud_controller.targets.assigned import programs

PACKETS = ("egress_kind", "trimmed", "bounced", "congestion_dropped", "injected", "marked", "path_tx")
"""The counters that are read."""
_BYTES = ("egress_kind",)
_ANSWER_S = 3.0


@dataclass(frozen=True)
class Sample:
    """A moment. What could not be read is empty, and `missing` says why."""

    at: float
    """Seconds of a clock that never goes back."""
    time: float
    """Seconds since the epoch."""
    fabric: Fabric
    status: Answer = field(default_factory=dict)
    """Answer of the controller to `status`."""
    packets: dict[str, SwitchCounters] = field(default_factory=dict)
    octets: dict[str, SwitchCounters] = field(default_factory=dict)
    missing: tuple[str, ...] = ()


class Sampler:
    """Reads a run's fabric, at most as often as asked; from several threads."""

    def __init__(self, run: RunDir) -> None:
        self.run = run
        self._lock = threading.Lock()
        self._before: Sample | None = None
        self._last: Sample | None = None
        self._fabric: tuple[int, Fabric] | None = None

    def sample(self, max_age_s: float = 1.0) -> Sample:
        """One that is no older. RunError: the run is gone."""
        return self.pair(max_age_s)[1]

    def pair(self, max_age_s: float = 1.0) -> tuple[Sample | None, Sample]:
        """The same, with the one before it, from which rates follow; None: it is the first."""
        with self._lock:
            if self._last is None or time.monotonic() - self._last.at > max_age_s:
                self._before, self._last = self._last, self._read()
            return self._before, self._last

    def fabric(self) -> Fabric:
        """As it is by now; RunError."""
        with self._lock:
            return self._known_fabric()

    def _known_fabric(self) -> Fabric:
        """Parsed once a version: fabric.json is replaced as a whole."""
        try:
            version = self.run.fabric_file.stat().st_mtime_ns
        except FileNotFoundError:
            version = 0
        if self._fabric is None or self._fabric[0] != version:
            self._fabric = version, self.run.fabric()
        return self._fabric[1]

    def _read(self) -> Sample:
        fabric = self._known_fabric()
        status: Answer = {}
        packets: dict[str, SwitchCounters] = {}
        octets: dict[str, SwitchCounters] = {}
        missing = []
        try:
            status = ask(self.run.control_socket, "status", timeout_s=_ANSWER_S)
            if "status" not in status:
                missing.append(standing_by(status))
        except ControlError as error:
            missing.append(str(error))
        connected = [
            name
            for name, each in status.get("status", {}).get("switches", {}).items()
            if each["connected"] and name in fabric.switches
        ]
        try:
            if connected:  # one that does not answer would keep the others waiting
                of = programs(fabric)
                packets = read_counters(fabric, of, switches=connected, counters=PACKETS, timeout_s=_ANSWER_S)
                octets = read_counters(
                    fabric, of, switches=connected, counters=_BYTES, unit="bytes", timeout_s=_ANSWER_S
                )
        except (CountersError, TlsError, ArtifactsError) as error:
            missing.append(str(error))
        return Sample(time.monotonic(), time.time(), fabric, status, packets, octets, tuple(missing))
