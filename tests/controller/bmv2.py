"""simple_switch_grpc switches on veths in one network namespace of their own."""

from contextlib import ExitStack

from csaud_controller.inventory import CPU_PORT, interface
from csaud_controller.rundir import RunDir

from tests.controller.soft import Process
from tests.support.netns import NetworkNamespace

_THRIFT_PORT = 9090


class Bmv2Switches:
    """One process a switch of the run; ports to hosts are veths whose other end nobody reads."""

    def __init__(self, run: RunDir) -> None:
        self._run, self._fabric = run, run.fabric()
        self._stack = ExitStack()
        self.namespace = self._stack.enter_context(NetworkNamespace())
        self.processes: dict[str, Process] = {}
        for edge in self._fabric.edges:
            a, b = (interface(*end) for end in edge.ends)
            self.namespace.ip(f"link add {a} mtu 9000 type veth peer name {b} mtu 9000")
            for name in (a, b):
                self.namespace.ip(f"link set {name} up")
        for name in self._fabric.switches:
            self.start(name)

    def start(self, name: str) -> None:
        """(Re)start one switch; it comes up without a program."""
        number = list(self._fabric.switches).index(name)
        spec = self._fabric.switches[name]
        command = ["simple_switch_grpc", "--no-p4", "--device-id", str(spec.device_id)]
        for port in self._fabric.peers[name]:
            command += ["-i", f"{port}@{interface(name, port)}"]
        command += ["--thrift-port", str(_THRIFT_PORT + number), "--log-console", "--log-level", "error"]
        command += ["--notifications-addr", f"ipc://{self._run.path}/{name}.ipc", "--"]
        command += ["--cpu-port", str(CPU_PORT), "--priority-queues", "8"]
        command += ["--grpc-server-addr", str(spec.p4runtime)]
        with self.namespace.entered():
            self.processes[name] = Process(*command, log=self._run.path / f"{name}.log")

    def __enter__(self) -> "Bmv2Switches":
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.processes.values():
            process.kill()
        self._stack.close()
