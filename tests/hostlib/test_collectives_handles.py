"""Collectives in flight, several at a time; calls with a time of their own; groups by their ranks."""

import asyncio
from typing import Any

import csaud
import numpy as np
import pytest
from csaud import _core
from csaud.errors import Aborted, ConfigError, Timeout
from csaud.groups.group import Group
from csaud.groups.job_state import JobState

from tests.hostlib.group_ranks import LONGEST, everywhere


class Silent:
    """Nothing ends on it."""

    def __init__(self) -> None:
        self.waits: list[float] = []

    def pin(self, memory: np.ndarray) -> object: ...

    def start(self, execution: _core.Execution) -> None: ...

    def run(self, execution: _core.Execution, timeout: float) -> bool:
        return self.wait(execution, timeout)

    def wait(self, execution: _core.Execution, timeout: float) -> bool:
        self.waits.append(timeout)
        return False

    def wait_any(self, executions: list[_core.Execution], timeout: float) -> bool:
        return self.wait(executions[0], timeout)

    def awaited(self, execution: _core.Execution) -> list[tuple[int, int]]:
        return []

    def pending(self) -> dict[int, tuple[int, int]]:
        return {}


def silent_group(timeout: float | None = None) -> tuple[Group, list[BaseException]]:
    given_up: list[BaseException] = []
    job = JobState(Silent(), LONGEST, timeout, "ring", given_up.append, lambda: None)
    return Group(job, 0, range(2), 0), given_up


def test_what_has_ended_is_not_waited_for_again() -> None:
    """Nor do the spans say so, by which an application sees what it lost to communication."""
    with csaud.init(environ={}) as comm:
        handle = comm.all_reduce(np.ones(10), wait=False)
        assert handle.wait(60)
        once = comm.spans()
        assert handle.wait(0) and csaud.wait_any([handle]) == 0 and csaud.wait_all([handle, handle])
        assert len(once) == 1 and comm.spans() == once


def test_any_and_all_of_several_in_flight() -> None:
    def work(group: Group) -> Any:
        arrays = [np.full(10 + i, group.rank) for i in range(6)]
        handles = [group.all_reduce(array, wait=False) for array in arrays]
        order = []
        left = dict(enumerate(handles))
        while left:
            keys = list(left)
            found = csaud.wait_any([left[key] for key in keys], 60)
            assert found is not None
            order.append(keys[found])
            assert left.pop(keys[found]).done
        assert sorted(order) == list(range(6))
        more = [group.barrier(wait=False), group.all_gather(np.array([group.rank]), wait=False)[1]]
        assert csaud.wait_all(more, 60)
        return more[1].result.reshape(-1).tolist(), [int(array[0]) for array in arrays]

    assert everywhere(3, work) == [([0, 1, 2], [3] * 6)] * 3


def test_a_wait_for_any_ends_with_its_time() -> None:
    group, _ = silent_group()
    handles = [group.all_reduce(np.zeros(4), wait=False) for _ in range(2)]
    assert csaud.wait_any(handles, 0.0) is None
    assert csaud.wait_all(handles, 0.0) is False
    with pytest.raises(ConfigError, match="there is no handle"):
        csaud.wait_any([])
    other, _ = silent_group()
    with pytest.raises(ConfigError, match="of different jobs"):
        csaud.wait_any([handles[0], other.barrier(wait=False)])


def test_what_cannot_be_waited_for_is_named() -> None:
    group, _ = silent_group()
    handle = group.all_reduce(np.zeros(4), wait=False)
    for wait in (csaud.wait_any, csaud.wait_all):
        with pytest.raises(ConfigError, match=f"{wait.__name__}: None is no handle"):
            wait([handle, None], 0.0)
        for wrong in ("x", -1.0, float("nan")):
            with pytest.raises(ConfigError, match=f"timeout={wrong!r}: expected seconds, or None"):
                wait([handle], wrong)
    with pytest.raises(ConfigError, match="timeout='x': expected seconds"):
        handle.wait("x")


def test_handles_are_awaited() -> None:
    def work(group: Group) -> Any:
        async def main() -> Any:
            first = group.all_reduce(np.array([group.rank]), wait=False)
            _, second = group.all_gather(np.array([group.rank]), wait=False)
            return [array.reshape(-1).tolist() for array in await asyncio.gather(_of(first), _of(second))]

        async def _of(handle: csaud.Handle) -> Any:
            return await handle

        return asyncio.run(main())

    assert everywhere(2, work) == [[[1], [0, 1]]] * 2


def test_a_call_has_the_time_that_it_says() -> None:
    """Waited for at once or later; the error says whose limit it was."""
    group, given_up = silent_group(timeout=500.0)
    with pytest.raises(Timeout, match=r"all_reduce.ring\(.*\) .* longer than 1e-09 s \(argument timeout\)"):
        group.all_reduce(np.zeros(4), timeout=1e-9)
    group, given_up = silent_group()
    handle = group.barrier(wait=False, timeout=1e-9)
    with pytest.raises(Timeout, match="barrier"):
        handle.wait()
    assert len(given_up) == 1
    group, _ = silent_group(timeout=1e-9)
    with pytest.raises(Timeout, match=r"longer than 1e-09 s \(setting timeout\)"):
        group.barrier()
    group, _ = silent_group(timeout=1e-9)
    handle = group.barrier(wait=False, timeout=0)
    assert handle.wait(0.0) is False
    for wrong in (-1.0, float("nan")):
        with pytest.raises(ConfigError, match=r"timeout=.*: expected seconds"):
            group.barrier(timeout=wrong)


def test_what_is_cancelled_ends_the_job_and_what_has_ended_is_not() -> None:
    group, given_up = silent_group()
    handle = group.all_reduce(np.zeros(4), wait=False)
    assert not handle.done
    assert handle.cancel()
    for call in (handle.wait, lambda: handle.done):  # who polls it hears of the end, too
        with pytest.raises(Aborted, match=r"all_reduce.ring\(sum, 4 x float64\).*was cancelled"):
            call()
    assert len(given_up) == 1

    def work(group: Group) -> bool:
        handle = group.barrier(wait=False)
        handle.wait(60)
        return handle.cancel()

    assert everywhere(2, work) == [False, False]


def test_groups_of_ranks_are_made_by_their_members_alone() -> None:
    """Rank 3 is in none of them; numbers differ for ranks that are in both."""

    def work(group: Group) -> Any:
        if group.rank == 3:
            return None
        first = group.new_group([2, 0, 1])
        gathered = first.all_gather(np.array([group.rank])).reshape(-1).tolist()
        if group.rank == 2:
            return gathered, first.rank, None
        second = group.new_group([0, 1])
        assert second._number != first._number
        nested = first.new_group([1, 2])  # of that group: ranks 0 and 1 of the first one
        assert nested.ranks == (0, 1)
        total = second.all_reduce(np.array([group.rank + 1]))
        nested.barrier()
        return gathered, first.rank, int(total[0])

    assert everywhere(4, work) == [([2, 0, 1], 1, 3), ([2, 0, 1], 2, 3), ([2, 0, 1], 0, None), None]


def test_a_group_that_was_freed_is_of_no_use() -> None:
    def work(group: Group) -> None:
        part = group.split(0)
        assert part is not None
        part.barrier()
        part.send(np.zeros(1), 1 - part.rank, wait=False)
        part.recv(np.zeros(1), 1 - part.rank)
        kept = len(group._job.prepared._of)
        part.free()
        assert len(group._job.prepared._of) < kept
        for call in (part.barrier, lambda: part.send(np.zeros(1), 1 - part.rank)):
            with pytest.raises(ConfigError, match=r"communicator 1 of ranks \[0, 1\] was freed"):
                call()
        with pytest.raises(ConfigError, match="the group of all ranks is not freed"):
            group.free()
        group.barrier()

    everywhere(2, work)


@pytest.mark.parametrize(
    ("ranks", "why"),
    [([0, 0], "a rank is twice"), ([0, 5], "rank 5: expected 0 to 1"), ([1], "only members call it")],
)
def test_groups_that_cannot_be(ranks: list[int], why: str) -> None:
    group, _ = silent_group()
    with pytest.raises(ConfigError, match=why):
        group.new_group(ranks)
