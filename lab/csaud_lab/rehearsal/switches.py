"""Switches of a rehearsal as processes without a program, which serve P4Runtime over TCP with mutual TLS."""

from __future__ import annotations

import shutil
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from csaud_controller.inventory import Fabric, interface
from csaud_controller.targets import Bmv2
from csaud_runs.errors import RunError
from csaud_softswitch.bmv2.command import PRIORITIES, PROGRAM, command_line
from csaud_softswitch.bmv2.thrift import SimpleSwitchThrift

from csaud_lab.rehearsal.commands import wait_until
from csaud_lab.rehearsal.papers import SERVER_NAME

_FIRST_THRIFT = 9090


def check(target: str) -> None:
    """RunError when there is no program of this target here."""
    if target == "bmv2" and shutil.which(PROGRAM) is None:
        raise RunError(f"--target bmv2: there is no {PROGRAM} on PATH")


@dataclass(frozen=True)
class Start:
    """One switch: its command line, and what waits until it is ready; `check` raises when it has ended."""

    command: list[str]
    wait_ready: Callable[[Callable[[], None]], None]


def start(fabric: Fabric, target: str, name: str, address: str, pki: Path, logs: Path) -> Start:
    """One of a target that has been checked."""
    return (_bmv2 if target == "bmv2" else _soft)(fabric, name, address, pki, logs)


def _tls(pki: Path) -> list[str]:
    """The same options for both."""
    return [
        "--grpc-server-ssl",
        *("--grpc-server-cert", str(pki / f"{SERVER_NAME}.pem")),
        *("--grpc-server-key", str(pki / f"{SERVER_NAME}.key")),
        *("--grpc-server-cacert", str(pki / "ca.pem"), "--grpc-server-with-client-auth"),
    ]


def _soft(fabric: Fabric, name: str, address: str, pki: Path, logs: Path) -> Start:
    ready = logs / f"{name}.ready"
    ports = [word for port in fabric.peers[name] for word in ("-i", f"{port}@{interface(name, port)}")]
    device = str(fabric.switches[name].device_id)
    command = [sys.executable, "-m", "csaud_softswitch", "--no-p4", *ports, "--device-id", device]
    command += ["--ready-file", str(ready), "--grpc-server-addr", address, *_tls(pki)]

    def wait_ready(check: Callable[[], None]) -> None:
        def is_ready() -> bool:
            check()
            return ready.exists()

        wait_until(is_ready, f"{name} does not listen")

    return Start(command, wait_ready)


def _bmv2(fabric: Fabric, name: str, address: str, pki: Path, logs: Path) -> Start:
    thrift = _FIRST_THRIFT + list(fabric.switches).index(name)
    command = command_line(
        device_id=fabric.switches[name].device_id,
        address=address,
        notifications=logs / f"{name}.ipc",
        ports={port: interface(name, port) for port in fabric.peers[name]},
        thrift_port=thrift,
        log_level="error",
        more=_tls(pki),
    )

    def wait_ready(check: Callable[[], None]) -> None:
        """Until its queues have depths and rates, which only Thrift can set."""

        def connect() -> socket.socket:
            return socket.create_connection(("127.0.0.1", thrift), timeout=5.0)

        with SimpleSwitchThrift.when_ready(connect, name, limit_s=60.0, check=check) as at:
            for limit in Bmv2().queue_limits(fabric, name):
                for priority in range(PRIORITIES):
                    at.set_queue_depth(limit.port, priority, limit.depth)
                    at.set_queue_rate(limit.port, priority, limit.packets_per_second)

    return Start(command, wait_ready)
