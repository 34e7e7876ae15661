"""What a communicator of one refuses, and its life: no peers are needed to see it."""

import socket
import subprocess
import sys

import csaud
import numpy as np
import pytest

from tests.hostlib.jobs import PATIENCE, loopback_address
from tests.support.descriptors import sockets
from tests.support.netns import NetworkNamespace


@pytest.fixture
def comm():
    with csaud.init(environ={}) as made:
        yield made


@pytest.mark.parametrize(
    ("array", "message"),
    [
        ([1.0, 2.0], "expected an array .* got list"),
        (
            np.zeros(4, "datetime64[s]"),
            "is not supported; supported are float16, bfloat16, float32, float64, int8",
        ),
        (np.zeros(4, ">f4"), "dtype >f4 is not supported"),
        (np.zeros(4, np.complex64), "op='sum' is not supported for complex64"),
        (np.broadcast_to(np.float32(1), (1,)), "read-only"),
    ],
)
def test_arrays_that_cannot_be_reduced_are_named(comm, array, message):
    with pytest.raises(csaud.ConfigError, match=message):
        comm.all_reduce(array)


def test_an_unknown_op_is_named(comm):
    with pytest.raises(csaud.ConfigError, match="op='median': expected one of sum"):
        comm.all_reduce(np.zeros(1, np.float32), op="median")


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0,)])
def test_the_sum_of_one_rank_is_its_own_array_of_any_shape(comm, shape):
    array = np.full(shape, 1.5, np.float64)
    assert comm.all_reduce(array) is array
    assert array.shape == shape and (array == 1.5).all()
    comm.barrier()


@pytest.mark.parametrize("end", ["close", "stop_at_exit"])
def test_a_closed_communicator_says_so(end):
    """So does one whose program ends without having closed it, to what comes still later."""
    comm = csaud.init(environ={})
    comm.quiesce()
    getattr(comm, end)()
    comm.close()
    for call in (comm.barrier, comm.quiesce, lambda: comm.all_reduce(np.zeros(1, np.float32))):
        with pytest.raises(csaud.ConfigError, match="closed"):
            call()


def test_the_counters_have_the_documented_names(comm):
    stats = comm.stats()
    assert {"tx_data", "rx_data", "rx_duplicates", "rx_queue_drops", "tx_errors"} <= stats.keys()
    assert len(stats["tx_path"]) == comm.settings.paths


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"mtu": 100}, r"mtu=100: expected 0 or 256 to 4096 \(bytes\)"),
        ({"address": "192.0.2.7"}, r"192\.0\.2\.7"),
        ({"address": "no.such.host.invalid"}, "no IP address is known"),
        ({"mode": "xdp"}, r"mode=xdp needs .*127\.0\.0\.1 is loopback's: give another address"),
        ({"colour": "red"}, "there is no setting 'colour'"),
    ],
)
def test_settings_that_cannot_work_are_named(overrides, message):
    with pytest.raises(csaud.ConfigError, match=message):
        csaud.init(environ={}, **overrides)


def test_a_forked_child_is_told_so_and_ends_by_itself():
    """Its error names the parent; closing there and leaving are harmless, and the parent goes on."""
    program = """
import os, sys
import csaud, numpy as np
comm = csaud.init(environ={})
handle = comm.all_reduce(np.zeros(3), wait=False)
child = os.fork()
if child == 0:
    calls = [comm.barrier, comm.quiesce, comm.reform, handle.wait, handle.cancel, lambda: handle.done]
    calls += [lambda: comm.all_reduce(np.zeros(3)), lambda: comm.agree(1), lambda: csaud.wait_any([handle])]
    for call in calls:
        try:
            call()
        except csaud.ConfigError as error:
            assert f"of process {os.getppid()}, from which this one was forked" in str(error)
        else:
            sys.exit(3)
    comm.abort()
    comm.close()
    sys.exit(0)
_, status = os.waitpid(child, 0)
comm.all_reduce(np.zeros(3))
comm.close()
sys.exit(os.waitstatus_to_exitcode(status))
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE)
    assert result.returncode == 0, result.stderr


@pytest.mark.root
@pytest.mark.parametrize("settings", [{}, {"address": "127.0.0.78"}], ids=str)
def test_a_port_that_somebody_happens_to_have_is_named(settings):
    """49791 is of those that the kernel gives to anybody."""
    with (
        NetworkNamespace() as host,
        host.entered(),
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other,
    ):
        other.bind(("", 49791))
        with pytest.raises(csaud.ConfigError, match=r"port 49791: .*ip_local_reserved_ports=4791,49791"):
            csaud.init(environ={}, mode="udp", **settings)


def test_auto_takes_udp_on_loopback(comm):
    assert comm.mode == "udp"


@pytest.mark.root
def test_auto_takes_raw_on_loopback_where_the_port_is_taken_and_without_trains():
    address = loopback_address()
    with csaud.init(environ={}, address=address) as first, csaud.init(environ={}, address=address) as second:
        assert (first.mode, second.mode) == ("udp", "raw")
    with csaud.init(environ={}, address=address, segmentation="off") as third:
        assert third.mode == "raw"


@pytest.mark.parametrize("mode", ["udp", "raw"])
def test_what_is_closed_has_no_socket_left_even_where_it_is_still_kept(mode):
    address = loopback_address()
    kept = []
    before = sockets()
    for _ in range(2):
        kept.append(csaud.init(environ={}, address=address, mode=mode))
        kept[-1].barrier()
        kept[-1].close()
        assert not sockets() - before
        assert "device_reports" in kept[-1].stats()


@pytest.mark.parametrize("mode", ["auto", "udp", "raw"])
def test_a_job_that_could_not_begin_has_no_socket_left_while_its_error_is_kept(mode):
    address = loopback_address()
    before = sockets()
    with pytest.raises(csaud.ConfigError, match="mtu=100") as kept:
        csaud.init(environ={}, address=address, mode=mode, mtu=100)
    assert not sockets() - before
    assert kept.value.__traceback__ is not None


def test_a_reformed_communicator_lets_the_device_go_when_it_is_closed():
    before = sockets()
    former = csaud.init(environ={})
    comm = former.reform()
    comm.barrier()
    comm.close()
    assert not sockets() - before
    former.close()
