"""A real etcd on loopback."""

import contextlib
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from csaud_runs.etcd import StoreError

HOST = "127.0.0.1"
_PATIENCE_S = 120.0


def _free_port() -> int:
    with socket.create_server((HOST, 0)) as found:
        port: int = found.getsockname()[1]
        return port


class EtcdServer:
    """One that keeps its data in `folder`. `tls`: a folder with localhost.pem, localhost.key and ca.pem, with
    which it is served, to clients that this authority has signed."""

    def __init__(self, folder: Path, tls: Path | None = None) -> None:
        self.url = f"etcd://{HOST}:{_free_port()}"
        scheme = "https" if tls else "http"
        clients, peers = self.url.replace("etcd", scheme), f"http://{HOST}:{_free_port()}"
        self._command = [
            "etcd", "--data-dir", str(folder), "--log-level", "warn",
            "--listen-client-urls", clients, "--advertise-client-urls", clients,
            "--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers,
            "--initial-cluster", f"default={peers}",
            *(("--cert-file", f"{tls}/localhost.pem", "--key-file", f"{tls}/localhost.key",
               "--client-cert-auth", "--trusted-ca-file", f"{tls}/ca.pem") if tls else ()),
        ]  # fmt: skip
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self.process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()


@contextlib.contextmanager
def etcd_server(folder: Path, tls: Path | None = None) -> Iterator[EtcdServer]:
    """Ends with the block."""
    made = EtcdServer(folder, tls)
    made.start()
    try:
        yield made
    finally:
        made.kill()


@contextlib.contextmanager
def etcd(folder: Path) -> Iterator[str]:
    """etcd://HOST:PORT of one that keeps its data in `folder`, and ends with the block."""
    with etcd_server(folder) as made:
        yield made.url


def until_there(ask: Callable[[], object]) -> None:
    """Wait until the store answers what is asked of it."""
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        try:
            ask()
            return
        except StoreError:
            assert time.monotonic() < deadline
            time.sleep(0.02)
