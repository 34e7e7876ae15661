"""The guest's program: brings the RDMA device up, then does what the host asks for over a serial line.

Runs as the guest's first process under the system's Python with Debian's pyverbs; see docs/verbs.md.
"""

import base64
import json
import os
import socket
import subprocess
import sys
import traceback
import tty
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, os.fspath(Path(__file__).parents[3]))

if TYPE_CHECKING:
    from tests.verbs.guest.ud import UdDevice, UdQueuePair

LINE = "/dev/ttyS1"
DEVICE = "rxe0"
INTERFACE = "eth0"


class Agent:
    """The requests, one method each; arguments and results are what JSON can carry, bytes in base64."""

    def __init__(self) -> None:
        self._device: UdDevice
        self._queue_pairs: dict[int, UdQueuePair] = {}
        self._runner: subprocess.Popen[str] | None = None

    def network(self, networks: list[str], mtu: int, peer: list[str], peer_mac: str) -> dict[str, Any]:
        """Give the interface its addresses, IPv4's first, make those of the peer known and put the RDMA
        device on it."""
        run("ip", "link", "set", INTERFACE, "mtu", str(mtu), "addrgenmode", "none", "up")
        for network in networks:
            run("ip", "address", "add", network, "dev", INTERFACE, *(["nodad"] if ":" in network else []))
        for address in peer:
            run("ip", "neighbour", "add", address, "lladdr", peer_mac, "dev", INTERFACE, "nud", "permanent")
        run("rdma", "link", "add", DEVICE, "type", "rxe", "netdev", INTERFACE)
        from tests.verbs.guest.ud import UdDevice  # needs the device's driver to be there

        self._device = UdDevice(DEVICE)
        return self._device.describe()

    def open_qp(self, qkey: int, depth: int, size: int) -> int:
        """Open a UD queue pair with `depth` receives of `size` bytes posted; returns its number."""
        pair = self._device.open_qp(qkey, depth, size)
        self._queue_pairs[pair.number] = pair
        return int(pair.number)

    def close_qp(self, qpn: int) -> None:
        self._queue_pairs.pop(qpn).close()

    def poll(self, qpn: int, count: int, timeout_s: float) -> list[dict[str, Any]]:
        """Up to `count` completed receives, waiting for them at most `timeout_s`."""
        done = self._queue_pairs[qpn].receive(count, timeout_s)
        return [{**item, "data": base64.b64encode(item["data"]).decode()} for item in done]

    def post_send(self, qpn: int, address: str, remote_qpn: int, qkey: int, data: str) -> str:
        """Send one datagram; returns the status of its completion."""
        return str(self._queue_pairs[qpn].send(address, remote_qpn, qkey, base64.b64decode(data)))

    def send_packet(self, data: str) -> None:
        """Send a whole IPv4 packet to the address in it."""
        packet = base64.b64decode(data)
        with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW) as raw:
            raw.sendto(packet, (socket.inet_ntoa(packet[16:20]), 0))

    def counters(self) -> dict[str, int]:
        """The RDMA device's own counters."""
        folder = Path(f"/sys/class/infiniband/{DEVICE}/ports/1/hw_counters")
        return {path.name: int(path.read_text()) for path in folder.iterdir() if path.name != "lifespan"}

    def ranks(self, command: list[str], environ: dict[str, str], request: dict[str, Any]) -> Any:
        """Have ranks run by tests/verbs/guest/runner.py, which `command` starts when it is first needed."""
        if self._runner is None:
            self._runner = subprocess.Popen(
                command,
                env={**os.environ, **environ},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        assert self._runner.stdin is not None and self._runner.stdout is not None
        self._runner.stdin.write(json.dumps(request) + "\n")
        self._runner.stdin.flush()
        answer = self._runner.stdout.readline()
        if not answer:
            raise RuntimeError(f"the runner of ranks ended with {self._runner.wait()}; see the console")
        return json.loads(answer)

    def run(self, command: list[str], timeout_s: float) -> dict[str, Any]:
        """Run a command in the guest."""
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, check=False)
        return {"status": done.returncode, "stdout": done.stdout, "stderr": done.stderr}


def run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")


def main() -> None:
    descriptor = os.open(LINE, os.O_RDWR | os.O_NOCTTY)
    tty.setraw(descriptor)
    with os.fdopen(descriptor, "rb") as requests, os.fdopen(os.dup(descriptor), "wb") as answers:

        def say(answer: dict[str, Any]) -> None:
            answers.write(json.dumps(answer).encode() + b"\n")
            answers.flush()

        agent = Agent()
        say({"id": 0, "result": {"kernel": os.uname().release, "python": sys.version.split()[0]}})
        for text in requests:
            request = json.loads(text)
            try:
                method: Callable[..., Any] = getattr(agent, request["do"])
                say({"id": request["id"], "result": method(**request["with"])})
            except Exception as error:  # every failure goes to the host, which raises it there
                traceback.print_exc()
                say({"id": request["id"], "error": f"{type(error).__name__}: {error}"})


if __name__ == "__main__":
    main()
