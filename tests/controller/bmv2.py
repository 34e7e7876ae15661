"""simple_switch_grpc switches in one network namespace of their own, their links with a bridge in the
middle."""

from contextlib import ExitStack
from pathlib import Path

from csaud_controller.inventory import interface
from csaud_controller.run.directory import RunDir
from csaud_softswitch.bmv2.command import command_line

from tests.controller.soft import Process
from tests.support.netns import NetworkNamespace

_THRIFT_PORT = 9090
_LLDP = 1 << 14  # lets a bridge forward 01:80:c2:00:00:0e


class Bmv2Switches:
    """One process a switch of the run; ports to hosts are veths whose other end nobody reads."""

    def __init__(self, run: RunDir) -> None:
        self._run, self._fabric = run, run.fabric()
        self._stack = ExitStack()
        self.namespace = self._stack.enter_context(NetworkNamespace())
        self.processes: dict[str, Process] = {}
        self._cables = {frozenset((e.a, e.b)): f"cable{n}" for n, e in enumerate(self._fabric.edges)}
        for which in (
            "all",
            "default",
        ):  # what the kernel says of itself is no packet that a switch forwarded
            with self.namespace.entered():
                Path(f"/proc/sys/net/ipv6/conf/{which}/disable_ipv6").write_text("1")
        for edge in self._fabric.edges:
            cable = self._cables[frozenset((edge.a, edge.b))]
            self.namespace.ip(f"link add {cable} type bridge group_fwd_mask {_LLDP}")
            for end, side in zip(edge.ends, "ab", strict=True):
                self.namespace.ip(
                    f"link add {interface(*end)} mtu 9000 type veth peer name {cable}{side} mtu 9000"
                )
                self.namespace.ip(f"link set {cable}{side} master {cable} up")
                self.namespace.ip(f"link set {interface(*end)} up")
            self.namespace.ip(f"link set {cable} up")
        for name in self._fabric.switches:
            self.start(name)

    def start(self, name: str) -> None:
        """(Re)start one switch; it comes up without a program."""
        number = list(self._fabric.switches).index(name)
        spec = self._fabric.switches[name]
        command = command_line(
            device_id=spec.device_id,
            address=str(spec.p4runtime),
            notifications=self._run.path / f"{name}.ipc",
            ports={port: interface(name, port) for port in self._fabric.peers[name]},
            thrift_port=_THRIFT_PORT + number,
            log_level="error",
        )
        with self.namespace.entered():
            self.processes[name] = Process(*command, log=self._run.path / f"{name}.log")

    def cut(self, a: str, b: str) -> None:
        """The cable fails in its middle: BMv2 does not survive a port that goes down."""
        self.namespace.ip(f"link set {self._cables[frozenset((a, b))]} down")

    def mend(self, a: str, b: str) -> None:
        self.namespace.ip(f"link set {self._cables[frozenset((a, b))]} up")

    def __enter__(self) -> "Bmv2Switches":
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.processes.values():
            process.kill()
        self._stack.close()
