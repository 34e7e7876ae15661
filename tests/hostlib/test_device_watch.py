"""A thread that only wants to be told of an end: it sleeps, others drive, and it can be called back."""

import threading

import csaud
import numpy as np

from tests.hostlib.jobs import PATIENCE
from tests.hostlib.test_device_threads import WORLD, ranks


def watching(comm: csaud.Communicator, handle: csaud.Handle) -> threading.Thread:
    """A thread that watches for the end of this handle, and ends then."""
    native = handle._execution.native
    thread = threading.Thread(target=comm.transport.watch_any, args=([native], PATIENCE))
    thread.start()
    return thread


def joined(thread: threading.Thread) -> None:
    thread.join(PATIENCE / 2)
    assert not thread.is_alive()


def test_who_watches_hears_of_the_end_though_nobody_waits() -> None:
    together = threading.Barrier(WORLD, timeout=PATIENCE)

    def work(comm: csaud.Communicator) -> None:
        array = np.full(30_000, comm.rank, np.int64)
        if comm.rank == 0:
            together.wait()  # all others watch by then
        handle = comm.all_reduce(array, wait=False)
        thread = watching(comm, handle)
        if comm.rank != 0:
            together.wait()
        joined(thread)
        assert handle.done and (array == sum(range(WORLD))).all()

    ranks(work, "auto")


def test_a_watch_is_called_back_or_else_the_next_one_and_no_other() -> None:
    together = threading.Barrier(WORLD, timeout=PATIENCE)

    def work(comm: csaud.Communicator) -> None:
        if comm.rank == 0:
            together.wait()
        handle = comm.all_reduce(np.zeros(10), wait=False)
        if comm.rank != 0:
            comm.transport.recall()
            joined(watching(comm, handle))  # at once, though nothing has ended
            assert not handle.done
            thread = watching(comm, handle)
            comm.transport.recall()
            joined(thread)
            assert not handle.done
            thread = watching(comm, handle)
            together.wait()
            joined(thread)
        assert handle.wait(PATIENCE)

    ranks(work, "auto")
