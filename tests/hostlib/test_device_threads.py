"""Ranks as threads of one process, each with more threads of its own: much for a thread sanitizer to see."""

import gc
import re
import socket
import threading
import weakref
from collections.abc import Callable

import csaud
import numpy as np
import pytest

from tests.hostlib.jobs import PATIENCE, free_port, loopback_address
from tests.hostlib.memory_network import on_every_rank

WORLD, TURNS, LENGTH = 4, 12, 30_000
COMMON = {"timeout": PATIENCE, "dead_after": PATIENCE, "rx_buffer": 1 << 20}


def ranks(work: Callable[[csaud.Communicator], None], mode: str) -> None:
    """work(comm) in a thread for each rank."""
    address = loopback_address()
    place = {"WORLD_SIZE": str(WORLD), "MASTER_ADDR": address, "MASTER_PORT": str(free_port(address))}

    def rank(number: int) -> None:
        with csaud.init(environ={**place, "RANK": str(number)}, mode=mode, **COMMON) as comm:
            work(comm)

    on_every_rank(WORLD, rank)


def summed(group: csaud.Communicator, wait: bool) -> None:
    for turn in range(TURNS):
        array = np.full(LENGTH, turn + group.rank, np.int64)
        handle = group.all_reduce(array, wait=wait)
        if not wait:
            assert handle.wait(PATIENCE)
        assert (array == WORLD * turn + sum(range(WORLD))).all()


@pytest.mark.parametrize("mode", [pytest.param("raw", marks=pytest.mark.root), "udp", "auto"])
def test_threads_of_each_rank_wait_post_and_ask_at_once(mode: str) -> None:
    """Two of them reduce in groups of their own, one with handles; a third asks for counters and paths."""

    def work(comm: csaud.Communicator) -> None:
        groups = [comm.split(0), comm.split(0)]
        failures: list[BaseException] = []
        over = threading.Event()

        def guarded(call: Callable[[], None]) -> None:
            try:
                call()
            except BaseException as failure:
                failures.append(failure)

        def ask() -> None:
            path = 0
            while not over.is_set():
                comm.deny_path(path, True)
                assert comm.stats()["rx_bad_index"] == 0
                comm.flow_times()
                comm.deny_path(path, False)
                path = (path + 1) % 4

        asking = threading.Thread(target=guarded, args=(ask,))
        busy = [
            threading.Thread(target=guarded, args=(lambda group=group, wait=wait: summed(group, wait),))
            for group, wait in zip(groups, (True, False), strict=True)
        ]
        for thread in (asking, *busy):
            thread.start()
        for thread in busy:
            thread.join()
        over.set()
        asking.join()
        assert failures == []
        comm.barrier()
        comm.quiesce()

    ranks(work, mode)


def test_who_does_not_come_to_be_quiet_is_named_in_the_time_that_was_given() -> None:
    told = threading.Barrier(WORLD)

    def work(comm: csaud.Communicator) -> None:
        if comm.rank == 0:
            with pytest.raises(csaud.Timeout, match="ranks 1, 2 and 3 of 4 did not arrive"):
                comm.quiesce(timeout=1.0)
        told.wait(PATIENCE)  # or who leaves would end the wait, too

    ranks(work, "udp")


def test_abort_from_another_thread_ends_a_wait() -> None:
    def received(comm: csaud.Communicator, src: int, ended: list[bool]) -> None:
        with pytest.raises(csaud.Aborted):
            comm.recv(np.empty(10, np.int64), src)
        ended.append(True)

    def work(comm: csaud.Communicator) -> None:
        ended: list[bool] = []
        if comm.rank == 0:
            comm.barrier()
            waiting = threading.Thread(target=received, args=(comm, 1, ended))
            waiting.start()
            comm.abort()
            waiting.join()
            assert ended == [True]
        else:
            with pytest.raises(csaud.Aborted):
                comm.barrier()  # rank 0 has left it, but what another rank sent to this one may be under way
                comm.recv(np.empty(10, np.int64), 0)

    ranks(work, "udp")


def test_ranks_are_told_by_what_error_another_one_left() -> None:
    def work(comm: csaud.Communicator) -> None:
        if comm.rank == 0:
            comm.barrier()
            with pytest.raises(ValueError, match="loss is nan"), comm:
                raise ValueError("loss is nan\nat step 7")
        else:
            with pytest.raises(csaud.Aborted, match=r"rank 0 left by ValueError: loss is nan$"):
                comm.barrier()  # as above: rank 0 may leave the job before another one is out of it
                comm.recv(np.empty(10, np.int64), 0)

    ranks(work, "udp")


def test_no_buffer_outlives_its_transfer() -> None:
    """Two threads of each rank post and wait in turn while a third keeps Python's lock busy: who waits often
    learns of a transfer's end before who posted it has come back."""

    def work(comm: csaud.Communicator) -> None:
        groups = [comm.split(0), comm.split(0)]
        arrays: list[weakref.ref[np.ndarray]] = []
        over = threading.Event()

        def reduce(group: csaud.Communicator) -> None:
            for _ in range(10):
                array = np.ones(8, np.int64)
                arrays.append(weakref.ref(array))
                group.all_reduce(array)

        def spin() -> None:
            while not over.is_set():
                sum(range(1000))

        spinning = threading.Thread(target=spin)
        busy = [threading.Thread(target=reduce, args=(group,)) for group in groups]
        for thread in (spinning, *busy):
            thread.start()
        for thread in busy:
            thread.join()
        over.set()
        spinning.join()
        comm.barrier()
        comm.quiesce()
        gc.collect()
        assert [array for array in arrays if array() is not None] == []

    ranks(work, "udp")


def test_what_nobody_waits_for_goes_on_by_itself() -> None:
    def work(comm: csaud.Communicator) -> None:
        array = np.full(400, comm.rank, np.int64)
        handle = comm.all_reduce(array, wait=False)
        finished = threading.Event()
        while not handle.done:  # the progress thread drives
            finished.wait(0.002)
        assert (array == sum(range(WORLD))).all()

    ranks(work, "udp")


def test_who_cancels_a_collective_is_named_at_all_ranks() -> None:
    cancelled = threading.Barrier(WORLD)

    def work(comm: csaud.Communicator) -> None:
        if comm.rank == 2:
            handle = comm.all_reduce(np.ones(LENGTH), wait=False)
            assert handle.cancel()
        cancelled.wait(PATIENCE)
        with pytest.raises(csaud.Aborted, match=r"all_reduce.* was cancelled") as raised:
            if comm.rank == 2:
                handle.wait()
            else:
                comm.all_reduce(np.ones(LENGTH))
        assert raised.value.rank == 2

    ranks(work, "udp")


def test_a_handle_that_was_dropped_gives_its_buffers_back() -> None:
    def work(comm: csaud.Communicator) -> None:
        array = np.ones(8)
        kept = weakref.ref(array)
        comm.all_reduce(array, "average", wait=False)
        del array
        comm.barrier()
        comm.quiesce()
        comm.barrier()  # the first collective after its end
        gc.collect()
        assert kept() is None

    ranks(work, "udp")


def test_ranks_that_agree_by_unlike_operations_are_told_whose_and_may_agree_again() -> None:
    def work(comm: csaud.Communicator) -> None:
        with pytest.raises(csaud.ProtocolError) as raised:
            comm.agree(comm.rank, "min" if comm.rank == 2 else "max", PATIENCE)
        assert re.fullmatch(r"agree: '(min|max)' at rank \d, '(min|max)' at rank \d", str(raised.value))
        assert "'min' at rank 2" in str(raised.value)
        assert comm.agree(comm.rank, "max", PATIENCE) == (WORLD - 1, ())

    ranks(work, "auto")


def test_ranks_meet_at_the_port_of_the_setting_where_one_is_set() -> None:
    address = loopback_address()
    port = free_port(address)

    def rank(number: int) -> None:
        with csaud.init(environ={**place, "RANK": str(number)}, store_port=port, **COMMON) as comm:
            assert comm.all_reduce(np.ones(1)) == [2]

    with socket.create_server((address, 0)) as another:  # has the port that the launcher gave
        given = str(another.getsockname()[1])
        place = {"WORLD_SIZE": "2", "MASTER_ADDR": address, "MASTER_PORT": given}
        on_every_rank(2, rank)


def test_who_has_sent_what_nobody_took_is_not_quiet(caplog: pytest.LogCaptureFixture) -> None:
    address = loopback_address()
    place = {"WORLD_SIZE": "2", "MASTER_ADDR": address, "MASTER_PORT": str(free_port(address))}
    tried = threading.Barrier(2, timeout=PATIENCE)

    def rank(number: int) -> None:
        comm = csaud.init(environ={**place, "RANK": str(number)}, close_timeout=0.05, **COMMON)
        array = np.full(1 << 20, number)
        if number == 1:
            tried.wait()
            comm.abort()
            comm.close()
            return
        comm.send(array, 1, wait=False)
        with pytest.raises(csaud.Timeout) as raised:
            comm.quiesce(0.05)
        assert str(raised.value) == "rank 0 was not quiet within 0.05 s"
        comm.close()
        tried.wait()

    on_every_rank(2, rank)
    assert "rank 0 closes with packets unacknowledged" in caplog.messages
