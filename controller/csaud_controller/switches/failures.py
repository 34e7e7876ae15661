"""Why a session ended: finsy runs it in tasks of its own, and ends it without a word when one of them fails.

A task inherits the context of the one that started it. So whoever wants to hear of failures says so in its
context, and a task factory (asyncio's own means) listens to each task that is started in it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any

_Work = Coroutine[Any, Any, Any] | Generator[Any, None, Any]
OnFailure = Callable[[BaseException], None]

_hears: ContextVar[OnFailure | None] = ContextVar("csaud_hears_of_failures", default=None)


@contextmanager
def heard_by(on_failure: OnFailure) -> Iterator[None]:
    """Within `listening`: tasks that are started in the body, or by one of those, tell of what they failed
    of. A task that is cancelled does not."""
    token = _hears.set(on_failure)
    try:
        yield
    finally:
        _hears.reset(token)


@contextmanager
def listening() -> Iterator[None]:
    """Listen to tasks of the running event loop while the body runs; finsy's log, which would tell of the
    same failures with a traceback, goes nowhere meanwhile."""
    loop, logger, nowhere = asyncio.get_running_loop(), logging.getLogger("finsy"), logging.NullHandler()
    before, propagates = loop.get_task_factory(), logger.propagate
    loop.set_task_factory(_start)
    logger.addHandler(nowhere)
    logger.propagate = False
    try:
        yield
    finally:
        loop.set_task_factory(before)
        logger.removeHandler(nowhere)
        logger.propagate = propagates


def _start(loop: asyncio.AbstractEventLoop, work: _Work, **how: Any) -> asyncio.Task[Any]:
    task = asyncio.Task(work, loop=loop, **how)
    if (on_failure := _hears.get()) is not None:
        task.add_done_callback(partial(_tell, on_failure))
    return task


def _tell(on_failure: OnFailure, task: asyncio.Task[Any]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        on_failure(error)
