"""How a run is told to end: signals become one exception, which unwinds everything that was started."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(BaseException):
    """A signal ended the run. No KeyboardInterrupt: Mininet's prompt catches those and goes on."""

    def __init__(self, signum: int) -> None:
        super().__init__(signum)
        self.status = 128 + signum
        """Exit status that the shell expects."""


_received: list[int] = []


def end_on_signals() -> None:
    """First signal: unwind and clean up. Further ones are ignored: cleaning takes a second at most.

    The supervisor starts us with these signals blocked; one that came meanwhile is taken here.
    """

    def on_signal(signum: int, _frame: FrameType | None) -> None:
        for number in ENDING:
            signal.signal(number, signal.SIG_IGN)
        _received.append(signum)
        raise Interrupted(signum)

    for number in ENDING:
        signal.signal(number, on_signal)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)


def interruption() -> Interrupted | None:
    """What a signal has raised by now: for those who meet another error, as between two steps of a lock it
    comes out as one of that lock's.
    """
    return Interrupted(_received[0]) if _received else None


def raise_if_interrupted() -> None:
    """For loops that wait: what a signal raises inside a finalizer or a callback, Python swallows."""
    if (received := interruption()) is not None:
        raise received


@contextmanager
def ctrl_c_is_the_prompts() -> Iterator[None]:
    """While the body runs, Ctrl-C raises KeyboardInterrupt, as often as it comes."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
