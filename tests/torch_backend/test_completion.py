"""The thread that completes futures, with works and a transport of the test's own."""

import threading

import pytest

pytest.importorskip("torch", exc_type=ImportError)

from csaud.torch.completion import Completion
from csaud.torch.work import CsaudWork

from tests.hostlib.jobs import PATIENCE


class Work:
    """Over when the test says so."""

    def __init__(self) -> None:
        self.over = False
        self.told = threading.Event()

    def look(self) -> bool:
        if self.over:
            self.told.set()
        return self.over

    def awaited(self) -> None: ...

    def abandon(self) -> None:
        self.over = True
        self.look()

    def wait_for(self, limit: float | None) -> bool:
        assert limit == 0.0  # this thread never waits by driving
        return False


class Sleep:
    """A watch that ends when it is recalled, and by nothing else."""

    def __init__(self) -> None:
        self.recalled = threading.Event()

    def watch(self, handles: object, timeout: float) -> None:
        assert self.recalled.wait(PATIENCE)
        self.recalled.clear()


def test_a_work_that_comes_while_others_are_watched_is_looked_at() -> None:
    sleep = Sleep()
    completion = Completion(sleep.watch, sleep.recalled.set)
    first, second = Work(), Work()
    second.over = True
    completion.add(first)
    completion.add(second)
    assert second.told.wait(PATIENCE / 2) and not first.told.is_set()
    completion.close()
    assert first.told.is_set()


class Unanswered:
    """A handle of what nobody comes to."""

    done = False

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout == 0.0
        return False


class Context:
    """A process group of the test's own."""

    def __init__(self) -> None:
        self.sleep = Sleep()
        self.completion = Completion(self.sleep.watch, self.sleep.recalled.set)

    def failure(self) -> None: ...


def test_who_asks_for_a_future_of_a_destroyed_group_hears_of_it_each_time() -> None:
    context = Context()
    work = CsaudWork(context, "all_reduce", [Unanswered()], [])
    context.completion.close()
    for _ in range(2):
        with pytest.raises(RuntimeError, match="has been destroyed"):
            work.get_future()
