"""The switch process: its arguments, a fabric in one process, and what it leaves behind."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from csaud_softswitch.exchange.namespace import Namespace

from tests.softswitch.inputs import HOST_PORT, csa, leaf
from tests.softswitch.p4runtime_support import DEVICE_ID, PROGRAM, Client

READY_S = 120.0
P4INFO = PROGRAM.with_suffix(".p4info.txtpb")


class Running:
    """A switch process that has said it is ready."""

    def __init__(self, process: subprocess.Popen[str], ready: dict[str, Any]) -> None:
        self.process = process
        self.ready = ready

    def stop(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(READY_S)


def argv(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "csaud_softswitch", *map(str, arguments)]


@contextmanager
def running(*arguments: object, prefix: tuple[str, ...] = ()) -> Iterator[Running]:
    command = [*prefix, *argv(*arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            readable, _, _ = select.select([process.stdout], [], [], READY_S)
            line = process.stdout.readline() if readable else ""
            assert line, (
                process.stderr.read() if process.poll() is not None and process.stderr else "not ready"
            )
            yield Running(process, json.loads(line))
        finally:
            if process.poll() is None:
                process.kill()


def fails(*arguments: object) -> str:
    """Runs the command, which must not start a switch; returns its message, which is one line."""
    done = subprocess.run(argv(*arguments), capture_output=True, text=True, timeout=READY_S)
    assert done.returncode == 1, done
    assert done.stdout == ""
    [line] = done.stderr.splitlines()
    return line


def single(address: str, *more: object) -> tuple[object, ...]:
    return ("--device-id", DEVICE_ID, "--grpc-server-addr", address, *more)


def fabric_file(directory: Path, **changes: Any) -> Path:
    document: dict[str, Any] = {
        "name": "test",
        "links_via": "memory",
        "link": {"rate": "1Gbit", "delay": "5us", "buffer": 64},
        "switches": {"l1": {"role": "leaf", "device_id": DEVICE_ID}, "s1": {"role": "spine", "device_id": 2}},
        "hosts": {},
        "edges": [{"a": "l1", "a_port": 1, "b": "s1", "b_port": 1}],
    }
    path = directory / "fabric.json"
    path.write_text(json.dumps(document | changes))
    return path


# --- starting and stopping


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_says_when_it_is_ready_and_stops_on_a_signal(tmp_path: Path, number: int) -> None:
    address = f"unix:{tmp_path}/s.sock"
    with running(*single(address, "--ready-file", tmp_path / "ready")) as switch:
        assert switch.ready == {
            "event": "ready",
            "pid": switch.process.pid,
            "switches": {"switch": [address]},
        }
        assert json.loads((tmp_path / "ready").read_text()) == switch.ready
        client = Client(address)
        client.arbitrate()
        client.set_pipeline()
        assert switch.stop(number) == 0
        assert switch.process.stderr is not None
        assert switch.process.stderr.read() == ""
    assert list(tmp_path.iterdir()) == []


def test_arguments_of_simple_switch_grpc_are_taken_with_their_separator(tmp_path: Path) -> None:
    address = f"unix:{tmp_path}/s.sock"
    arguments = ("--no-p4", "--device-id", DEVICE_ID, "--", "--grpc-server-addr", address, "--cpu-port", 510,
                 "--drop-port", 511, "--priority-queues", 8)  # fmt: skip
    with running(*arguments):
        assert Client(address).arbitrate() == 0


def test_a_program_on_the_command_line_is_there_at_once(tmp_path: Path) -> None:
    address = f"unix:{tmp_path}/s.sock"
    with running(*single(address, PROGRAM, "--p4info", P4INFO)):
        client = Client(address)
        client.arbitrate()
        client.write(*leaf()["write"])


def test_what_a_killed_process_left_does_not_stop_the_next(tmp_path: Path) -> None:
    fabric = fabric_file(tmp_path)
    arguments = ("--fabric", fabric, "--run-dir", tmp_path)
    with running(*arguments) as first:
        first.process.kill()
        first.process.wait()
    assert (tmp_path / "l1.sock").is_socket()
    with running(*arguments) as second:
        client = Client(f"unix:{tmp_path}/l1.sock")
        client.arbitrate()
        client.set_pipeline()
        assert second.stop() == 0
    assert sorted(p.name for p in tmp_path.iterdir()) == ["fabric.json", "softswitch.figures.json"]


def test_an_address_that_is_in_use_is_left_alone(tmp_path: Path) -> None:
    address = f"unix:{tmp_path}/s.sock"
    with running(*single(address)):
        assert "address in use" in fails(*single(address))
        assert Client(address).arbitrate() == 0


def test_a_tcp_address(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        message = fails(*single(address))
        assert address in message
        assert "in use" in message
    with running(*single(address)):
        assert Client(address).arbitrate() == 0


def test_a_fabric_in_one_process(tmp_path: Path) -> None:
    with running("--fabric", fabric_file(tmp_path), "--run-dir", tmp_path) as fabric:
        assert set(fabric.ready["switches"]) == {"l1", "s1"}
        assert json.loads((tmp_path / "softswitch.ready").read_text()) == fabric.ready
        client = Client(f"unix:{tmp_path}/l1.sock")
        client.arbitrate()
        client.set_pipeline()
        client.write(*leaf()["write"])
        fabric.stop()
    figures = json.loads((tmp_path / "softswitch.figures.json").read_text())
    assert figures["l1"]["ports"]["1"]["kind"] == "link"


def test_twenty_switches_start_and_take_their_programs(tmp_path: Path) -> None:
    """10 leaves x 10 spines over memory links; 5 s is what a fabric of this size may take on an idle
    machine.
    """
    sizes = range(1, 11)
    switches = {f"l{k}": {"device_id": k} for k in sizes} | {f"s{k}": {"device_id": 10 + k} for k in sizes}
    edges = [{"a": f"l{k}", "a_port": j, "b": f"s{j}", "b_port": k} for k in sizes for j in sizes]
    began = time.monotonic()
    with running(
        "--fabric", fabric_file(tmp_path, switches=switches, edges=edges), "--run-dir", tmp_path
    ) as fabric:
        assert len(fabric.ready["switches"]) == 20
        for name, spec in switches.items():
            client = Client(f"unix:{tmp_path}/{name}.sock", device_id=spec["device_id"])
            client.arbitrate()
            client.set_pipeline()
            client.write(*leaf()["write"])
            client.close()
        print(f"started and programmed after {time.monotonic() - began:.2f} s")


# --- mistakes


def test_a_process_that_cannot_start_ends_with_one_line_and_status_1(tmp_path: Path) -> None:
    command = argv(*single("nonsense"))
    done = subprocess.run(command, capture_output=True, text=True, timeout=READY_S, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "csaud switch: nonsense: expected unix:/path or host:port\n"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"switches": {}}, "switches: expected at least one switch"),
        ({"switches": {"l1": {}}}, "switches.l1: the key 'device_id' is missing"),
        ({"switches": {"l1": {"device_id": "x"}}}, "switches.l1.device_id: expected a number"),
        ({"switches": {"l1": {"device_id": 1}, "s1": {"device_id": 1}}}, "already that of l1"),
        ({"links_via": "pigeon"}, "links_via: expected veth or memory, got 'pigeon'"),
        ({"link": {"rate": "fast"}}, "link.rate: expected a rate such as 200Mbit"),
        ({"edges": [{"a": "l1", "a_port": 1, "b": "s9", "b_port": 1}]}, "edges[0].b: expected one of l1, s1"),
        (
            {"edges": [{"a": "l1", "a_port": 0, "b": "s1", "b_port": 1}]},
            "edges[0].a_port: expected a number from 1",
        ),
        ({"edges": [{"a": "l1", "a_port": 1, "b": "s1"}]}, "edges[0]: the key 'b_port' is missing"),
        ({"edges": [{"a": "l1", "a_port": 1, "b": "s1", "b_port": 1}] * 2}, "edges[1].a_port: port 1 of l1"),
        ({"edges": {}}, "edges: expected a list"),
    ],
)
def test_a_mistake_in_the_fabric_file_is_named(
    tmp_path: Path, changes: dict[str, Any], expected: str
) -> None:
    path = fabric_file(tmp_path, **changes)
    message = fails("--fabric", path, "--run-dir", tmp_path)
    assert str(path) in message
    assert expected in message


def test_a_file_that_is_not_json_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "fabric.json"
    assert "No such file" in fails("--fabric", path, "--run-dir", tmp_path)
    path.write_text('{\n"name": }')
    assert f"{path}:2:" in fails("--fabric", path, "--run-dir", tmp_path)


def test_other_mistakes(tmp_path: Path) -> None:
    address = f"unix:{tmp_path}/s.sock"
    bad = tmp_path / "bad.json"
    bad.write_text('{"program": 1}')
    assert str(bad) in fails(*single(address, bad))
    assert "nowhere.json" in fails(*single(address, tmp_path / "nowhere.json"))
    assert str(P4INFO) in fails(*single(address, P4INFO))
    assert "not a P4Info" in fails(*single(address, PROGRAM, "--p4info", PROGRAM))
    assert "--p4info needs" in fails(*single(address, "--p4info", P4INFO))
    assert "exclude each other" in fails(*single(address, "--no-p4", PROGRAM))
    assert "no directory" in fails(*single(f"unix:{tmp_path}/no/s.sock"))
    assert "longer than" in fails(*single(f"unix:{tmp_path}/{'x' * 120}"))
    assert "expected unix:/path or host:port" in fails(*single("nonsense"))
    assert "not a socket" in fails(*single(f"unix:{bad}"))
    assert "--run-dir" in fails("--fabric", bad)
    assert not (tmp_path / "s.sock").exists()


@pytest.mark.root
def test_an_interface_that_is_not_there(tmp_path: Path) -> None:
    message = fails(*single(f"unix:{tmp_path}/s.sock", "-i", "1@nosuchif0"))
    assert "interface nosuchif0" in message
    path = fabric_file(tmp_path, links_via="veth", link={})
    assert "interface l1-eth1" in fails("--fabric", path, "--run-dir", tmp_path)
    path = fabric_file(tmp_path, links_via="veth")
    assert "edges[0].delay" in fails("--fabric", path, "--run-dir", tmp_path)


@pytest.mark.root
def test_packets_through_veths_of_a_process(tmp_path: Path) -> None:
    ports = (1, 2, 3, 4, HOST_PORT)
    namespace = Namespace(f"csaud-t{os.getpid()}", ports)
    try:
        interfaces = [word for port in ports for word in ("-i", f"{port}@{namespace.interface(port)}")]
        address = f"unix:{tmp_path}/s.sock"
        with running(
            *single(address, PROGRAM, "--p4info", P4INFO, *interfaces), prefix=tuple(namespace.command([]))
        ):
            client = Client(address)
            client.arbitrate()
            client.write(*leaf()["write"])
            frames = {csa(src_port=0xC000 + i) for i in range(16)}
            for frame in frames:
                namespace.socket(HOST_PORT).send(frame)
            seen = 0
            while seen < len(frames):
                readable, _, _ = select.select([namespace.socket(port) for port in ports], [], [], READY_S)
                assert readable, f"{seen} of {len(frames)} frames came out"
                for found in readable:
                    frame = found.recv(1 << 16)
                    assert frame[26:34] == csa()[26:34]
                    seen += 1
    finally:
        namespace.close()
