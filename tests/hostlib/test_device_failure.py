"""A device that fails under a job: its rank is told why by whatever it calls, and all of it can be closed."""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import csaud
import numpy as np
import pytest

from tests.hostlib.jobs import PATIENCE, free_port, loopback_address
from tests.hostlib.memory_network import on_every_rank

WHY = "the device has failed: receive packets: Transport endpoint is not connected"
QUICK = {"mode": "udp", "close_timeout": 0.1, "dead_after": 0.3}
Comm = csaud.Communicator


def break_device(address: str) -> None:
    """Put sockets that nothing comes from in the place of those for packets at `address`; who sleeps until
    something comes from those is woken by a packet."""
    places = []
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(OSError):  # another thread's may be gone by now
            if not str(entry.readlink()).startswith("socket:"):
                continue
            with socket.socket(fileno=os.dup(int(entry.name))) as found:
                is_udp = (found.family, found.type) == (socket.AF_INET, socket.SOCK_DGRAM)
                if is_udp and found.getsockname()[0] == address:
                    places.append((found.getsockname(), int(entry.name)))
    assert places
    for place, number in places:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as other:
            os.dup2(other.fileno(), number)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.sendto(b"wake", place)


def until_it_fails(comm: Comm) -> None:
    """Whoever drives packets finds it out."""
    until = time.monotonic() + PATIENCE
    with pytest.raises(RuntimeError):
        while time.monotonic() < until:
            comm.transport._progress.wait_quiescent(PATIENCE)


@pytest.fixture
def alone():
    """A job of one whose device has failed, which nobody was told so far."""
    address = loopback_address()
    comm = csaud.init(environ={}, address=address, **QUICK)
    break_device(address)
    until_it_fails(comm)
    yield comm
    with suppress(csaud.DeviceError):
        comm.close()


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("csaud")]


def test_closing_says_so_and_leaves_nothing(alone: Comm) -> None:
    with pytest.raises(csaud.DeviceError) as raised:
        alone.close()
    assert str(raised.value) == WHY
    assert threads() == []
    alone.close()


def test_the_end_of_the_program_is_a_line_and_leaves_nothing(alone: Comm, caplog) -> None:
    with caplog.at_level(logging.WARNING):
        alone.stop_at_exit()
    assert caplog.messages == [f"rank 0: {WHY}"]
    assert threads() == []


@pytest.mark.parametrize("call", [Comm.quiesce, Comm.reform, Comm.shrink])
def test_what_waits_for_quiet_says_so_and_the_rest_can_be_closed(alone: Comm, call) -> None:
    for _ in range(2 if call is Comm.quiesce else 1):
        with pytest.raises(csaud.DeviceError) as raised:
            call(alone)
        assert str(raised.value) == WHY
    alone.close()
    assert threads() == []


def in_pieces(comm: Comm, array: np.ndarray) -> None:
    csaud.wait_any([comm.all_reduce(array, wait=False), comm.all_reduce(array + 1, wait=False)])


CALLS: dict[str, Callable[[Comm, np.ndarray], object]] = {
    "at once": lambda comm, array: comm.all_reduce(array),
    "by its handle": lambda comm, array: comm.all_reduce(array, wait=False).wait(),
    "any of two": in_pieces,
    "a transfer": lambda comm, array: comm.recv(array, 0),
}


@pytest.mark.parametrize("seen", [True, False], ids=["seen before", "seen then"])
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_collectives_say_so_and_other_ranks_find_this_one_gone(call, seen: bool, caplog) -> None:
    """Also where the flight record of it cannot be written."""
    base = loopback_address().rpartition(".")[0]
    place = {"WORLD_SIZE": "2", "MASTER_ADDR": f"{base}.1", "MASTER_PORT": str(free_port(f"{base}.1"))}
    broken = threading.Event()
    errors: list[csaud.CsaudError] = []

    def work(rank: int) -> None:
        address = f"{base}.{rank + 1}"
        records = {"flight_dir": "/proc/none"} if rank == 1 else {}
        comm = csaud.init(environ={**place, "RANK": str(rank)}, address=address, **QUICK, **records)
        array = np.ones(1000)
        if rank == 0:
            assert broken.wait(PATIENCE)
            with pytest.raises((csaud.PeerUnreachable, csaud.Aborted)):
                comm.all_reduce(array)
            comm.close()
            return
        break_device(address)
        if seen:
            until_it_fails(comm)
        broken.set()
        for _ in range(2):
            with pytest.raises(csaud.DeviceError) as raised:
                call(comm, array)
            errors.append(raised.value)
        comm.close()

    on_every_rank(2, work)
    assert [str(error) for error in errors] == [WHY] * 2
    assert caplog.text.count("the flight record cannot be written: [Errno 2] No such file or directory") == 1
    assert threads() == []
