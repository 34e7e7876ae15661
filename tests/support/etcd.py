"""A real etcd on loopback."""

import contextlib
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

HOST = "127.0.0.1"


def _free_port() -> int:
    with socket.create_server((HOST, 0)) as found:
        port: int = found.getsockname()[1]
        return port


@contextlib.contextmanager
def etcd(folder: Path) -> Iterator[str]:
    """etcd://HOST:PORT of one that keeps its data in `folder`, and ends with the block."""
    clients, peers = (f"http://{HOST}:{_free_port()}" for _ in range(2))
    command = [
        "etcd", "--data-dir", str(folder), "--log-level", "warn",
        "--listen-client-urls", clients, "--advertise-client-urls", clients,
        "--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers,
        "--initial-cluster", f"default={peers}",
    ]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            yield clients.replace("http", "etcd")
        finally:
            process.kill()
