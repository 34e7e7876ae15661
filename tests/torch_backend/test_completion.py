"""The threads that complete futures, with works and a transport of the test's own."""

import threading
from collections.abc import Callable

import pytest

pytest.importorskip("torch", exc_type=ImportError)

from csaud.torch.completion import Completion
from csaud.torch.work import CsaudWork

from tests.hostlib.jobs import PATIENCE


class Work:
    """Over when the test says so; `callback` is that of its future."""

    def __init__(self, over: bool = False, callback: Callable[[], object] = lambda: None) -> None:
        self.ended = over
        self.told = threading.Event()
        self._callback = callback

    def over(self) -> bool:
        return self.ended

    def tell(self) -> None:
        self._callback()
        self.told.set()

    def awaited(self) -> None: ...

    def abandon(self) -> None:
        self.told.set()


class Sleep:
    """A watch that ends when it is recalled, and by nothing else."""

    def __init__(self) -> None:
        self.recalled = threading.Event()

    def watch(self, handles: object, timeout: float) -> None:
        assert self.recalled.wait(PATIENCE)
        self.recalled.clear()


def watched() -> Completion:
    sleep = Sleep()
    return Completion(sleep.watch, sleep.recalled.set)


def test_a_work_that_comes_while_others_are_watched_is_looked_at() -> None:
    completion = watched()
    first, second = Work(), Work(over=True)
    completion.add(first)
    completion.add(second)
    assert second.told.wait(PATIENCE / 2) and not first.told.is_set()
    completion.close()
    assert first.told.is_set()


def test_a_callback_waits_for_futures_that_were_asked_for_before_it_and_in_it() -> None:
    sleep = Sleep()
    completion = Completion(sleep.watch, sleep.recalled.set)
    waited = []

    def nested(work: Work) -> Callable[[], object]:
        def callback() -> None:
            completion.add(work)
            waited.append(work.told.wait(PATIENCE / 2))

        return callback

    innermost = Work(over=True)
    earlier = Work()
    completion.add(earlier)

    def outer() -> None:
        earlier.ended = True
        sleep.recalled.set()
        waited.append(earlier.told.wait(PATIENCE / 2))
        nested(Work(over=True, callback=nested(innermost)))()

    last = Work(over=True, callback=outer)
    completion.add(last)
    assert last.told.wait(PATIENCE) and waited == [True, True, True]
    completion.close()


def test_closing_ends_a_callback_that_waits_for_what_does_not_end() -> None:
    completion = watched()
    never = Work()
    begun = threading.Event()

    def callback() -> None:
        begun.set()
        assert never.told.wait(PATIENCE)

    waiting = Work(over=True, callback=callback)
    completion.add(never)
    completion.add(waiting)
    assert begun.wait(PATIENCE)
    completion.close()
    assert waiting.told.is_set()


class Unanswered:
    """A handle of what nobody comes to."""

    done = False

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout == 0.0
        return False


class Context:
    """A process group of the test's own."""

    def __init__(self) -> None:
        self.completion = watched()

    def failure(self) -> None: ...


def test_who_asks_for_a_future_of_a_destroyed_group_hears_of_it_each_time() -> None:
    context = Context()
    work = CsaudWork(context, "all_reduce", [Unanswered()], [])
    context.completion.close()
    for _ in range(2):
        with pytest.raises(RuntimeError, match="has been destroyed"):
            work.get_future()
