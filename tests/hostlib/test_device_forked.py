"""What processes that are forked from a rank keep of its device: nothing."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import IPv4Address

import csaud
from csaud import _core

from tests.hostlib.jobs import PATIENCE, free_port, loopback_address
from tests.hostlib.test_device_counters import loopback


@contextmanager
def forked() -> Iterator[None]:
    """A process that does nothing lives as long as the block."""
    there, told = os.pipe()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(writer)
        os.write(told, b"!")
        os.read(reader, 1)
        os._exit(0)
    try:
        os.read(there, 1)
        yield
    finally:
        for end in (there, told, reader, writer):
            os.close(end)
        os.waitpid(child, 0)


def test_a_rank_can_be_started_again_while_a_process_that_was_forked_from_it_lives() -> None:
    address = int(IPv4Address(loopback()))
    device = _core.UdpDevice(address, 0x51, 4224, 32, 1 << 20)
    with forked():
        del device
        _core.UdpDevice(address, 0x52, 4224, 32, 1 << 20)


def test_a_rank_has_its_member_port_again_while_a_process_that_was_forked_from_it_lives() -> None:
    address = loopback_address()
    port = free_port(address)
    former = csaud.init(environ={}, address=address, member_port=port)
    with forked():
        former.close()
        with csaud.init(environ={}, address=address, member_port=port) as again:
            assert again.door == f"{address}:{port}"


def test_a_process_that_ends_while_a_thread_has_the_communicator_says_nothing() -> None:
    program = """
import threading
import csaud, numpy as np
comm = csaud.init(environ={})
comm.all_reduce(np.ones(3))
has_it = threading.Event()
def waits(comm):
    has_it.set()
    threading.Event().wait()
threading.Thread(target=waits, args=(comm,), daemon=True).start()
has_it.wait()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stderr) == (0, "")
