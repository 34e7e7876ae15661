"""The embedded P4 switch: one process forwards for the whole fabric."""

from __future__ import annotations

import json
import signal
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from csaud_controller.inventory import Fabric
from csaud_runs.errors import RunError
from mininet.link import Link

from csaud_topologies.fabric.network import SoftSwitch
from csaud_topologies.fabric.services import Service
from csaud_topologies.fabric.targets.base import Place

_SERVICE = "softswitch"
_FIGURES_WITHIN_S = 5.0


class SoftTarget:
    """csaud_softswitch on the veth interfaces of the run's own namespace."""

    name = "soft"
    switch_class = SoftSwitch
    link_class = Link

    def versions(self) -> dict[str, str]:
        """The embedded switch has the version of this distribution."""
        return {"csaud": version("csaud")}

    def start(self, fabric: Fabric, net: Any, place: Place) -> None:
        """One process for all switches; it reads rates, delays and buffers from fabric.json."""
        command = [sys.executable, "-m", "csaud_softswitch"]
        command += ["--fabric", str(place.run.fabric_file), "--run-dir", str(place.run.path)]
        place.services.add(Service.start(_SERVICE, command, place.logs))

    def hidden_drops(self, place: Place) -> dict[str, int]:
        """What its ports dropped unseen by the program: full queues, kernel rings, packet-in overflow."""
        (service,) = (s for s in place.services.running if s.name == _SERVICE)
        figures = place.run.path / "softswitch.figures.json"
        figures.unlink(missing_ok=True)
        service.process.send_signal(signal.SIGUSR1)
        return _drops(_read(figures, service))


def _read(figures: Path, service: Service) -> dict[str, Any]:
    """The figures as soon as the process has written them."""
    deadline = time.monotonic() + _FIGURES_WITHIN_S
    while time.monotonic() < deadline:
        service.check()
        try:
            counts: dict[str, Any] = json.loads(figures.read_text())
            return counts
        except (FileNotFoundError, json.JSONDecodeError):  # not there, or not all of it yet
            time.sleep(0.02)
    raise RunError(f"{service.name} did not write its figures within {_FIGURES_WITHIN_S:.0f} s")


def _drops(figures: dict[str, Any]) -> dict[str, int]:
    return {
        f"{name}:{port} {counter}": int(stats[counter])
        for name, switch in figures.items()
        for port, stats in switch["ports"].items()
        for counter in ("queue_full", "rx_ring_drops", "rx_errors", "tx_errors")
        if stats[counter]
    }
