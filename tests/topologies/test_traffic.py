"""Traffic beside a job: when packets of a burst are due, and connections that take what they get."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from contextlib import ExitStack

from csaud_topologies.workloads.traffic import due_packets


def test_burst_is_paced_and_then_rests():
    assert due_packets(0.0, 1000, 20, 1.0) == 1
    assert due_packets(0.0105, 1000, 20, 1.0) == 11
    assert due_packets(0.5, 1000, 20, 1.0) == 20
    assert due_packets(0.999, 1000, 20, 1.0) == 20


def test_bursts_follow_each_other():
    assert due_packets(1.0, 1000, 20, 1.0) == 21
    assert due_packets(7.9, 1000, 20, 1.0) == 160


def test_due_packets_never_go_back():
    times = [step / 997 for step in range(4000)]
    due = [due_packets(time, 333.3, 50, 0.4) for time in times]
    assert due == sorted(due)


def test_connections_send_until_they_are_ended_and_tell_how_much_came():
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])

    def side(name: str, *options: str) -> subprocess.Popen[str]:
        module = [sys.executable, "-m", "csaud_topologies.workloads.traffic", name, "--port", port]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        return running.enter_context(subprocess.Popen([*module, *options], text=True, **pipes))

    with ExitStack() as running:
        sink = side("bulk-sink")
        assert json.loads(sink.stdout.readline()) == {"ready": int(port)}
        sources = [side("bulk-source", "--to", "127.0.0.1") for _ in range(2)]
        for source in sources:
            source.communicate("")
            assert source.returncode == 0
        told = json.loads(sink.communicate("")[0])
    assert set(told) == {"received", "seconds"}
    assert told["seconds"] > 0


def test_a_sink_to_which_nobody_came_says_so():
    module = [sys.executable, "-m", "csaud_topologies.workloads.traffic", "bulk-sink", "--port", "0"]
    done = subprocess.run(module, input="", capture_output=True, text=True, check=True)
    assert json.loads(done.stdout.splitlines()[-1]) == {"received": 0, "seconds": 0.0}
