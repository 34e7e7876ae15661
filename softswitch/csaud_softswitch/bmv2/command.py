"""The command line of simple_switch_grpc."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

PROGRAM = "simple_switch_grpc"
CPU_PORT = 510
PRIORITIES = 8
"""Queues of a port."""


def command_line(
    *,
    device_id: int,
    address: str,
    notifications: Path,
    ports: Mapping[int, str] | None = None,
    thrift_port: int | None = None,
    log_level: str | None = None,
    cpu_port: int = CPU_PORT,
    priorities: int = PRIORITIES,
    more: Sequence[str] = (),
    program: str = PROGRAM,
) -> list[str]:
    """A switch without a program: the controller brings that.

    Args:
        address: where it serves P4Runtime, host:port or unix:/path.
        notifications: a file that it makes. By default that is in /tmp and named by the device id alone: two
            switches at once would share it.
        ports: the interface of each port.
        thrift_port: of its own choice where None; it listens on all addresses.
        log_level: of what it prints; None: nothing.
        more: options of its target, behind `--`.
    """
    line = [program, "--no-p4", "--device-id", str(device_id)]
    for port, interface in (ports or {}).items():
        line += ["-i", f"{port}@{interface}"]
    if thrift_port is not None:
        line += ["--thrift-port", str(thrift_port)]
    line += ["-L", "off"] if log_level is None else ["--log-console", "--log-level", log_level]
    line += ["--notifications-addr", f"ipc://{notifications}", "--"]
    line += ["--cpu-port", str(cpu_port), "--priority-queues", str(priorities)]
    return [*line, "--grpc-server-addr", address, *more]


def version(program: str = PROGRAM) -> str:
    """What it says of itself, "unknown" where that is no version."""
    printed = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    found = re.search(r"\d+\.\d+\S*(?: \(SHA: \w+[^)]*\))?", printed.stdout + printed.stderr)
    return found[0] if found else "unknown"
