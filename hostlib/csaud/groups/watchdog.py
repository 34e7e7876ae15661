"""Looks at what a rank waits for: says so, finds out whether ranks disagree, ends what takes too long.

A thread that wakes once a second and, while nothing takes long, does next to nothing then.
"""

import logging
import signal
import threading
import time
import weakref
from types import FrameType

from csaud.groups.inquiries import ASK_AFTER, Inquiries
from csaud.groups.job_state import JobState, waits_in_words

log = logging.getLogger(__name__)

SIGNAL = signal.SIGUSR1
_TICK = 1.0  # s
_SHORTEST_TICK = 0.01  # s
_NANO = 1e-9


class Watchdog:
    """Of one communicator.

    Args:
        warn_after: seconds that a collective takes before a warning says what it waits for; then after twice
            as long, and so on. 0: never.
    """

    def __init__(self, job: JobState, inquiries: Inquiries, warn_after: float) -> None:
        self._job = job
        self._inquiries = inquiries
        self._warn_after = warn_after
        self._warnings: dict[int, float] = {}  # id() of a record -> age of the next warning, s
        self._idle_tick = min(_TICK, (job.timeout or _TICK) / 4)
        self.tick = self._idle_tick  # s until the next look
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Look from now on, as long as this object lives."""
        _running.add(self)
        self._thread = threading.Thread(
            target=_run,
            args=(weakref.ref(self), self._stopping, self.tick),
            name="csaud-watchdog",
            daemon=True,
        )
        self._thread.start()

    def stop(self) -> None:
        """Look no more. Idempotent; waits for a look that has begun."""
        self._stopping.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def look(self, now_ns: int) -> None:
        """One look, at `now_ns` of time.monotonic_ns()."""
        job = self._job
        if job.recorder.asked:
            job.recorder.asked = False
            job.write_flight(f"signal {SIGNAL.name}")
        job.engine.look()
        flying = [execution for execution, _ in job.engine.flying() if execution.record is not None]
        running = [execution.record for execution in flying if execution.record is not None]
        mismatch = self._inquiries.hear()
        if mismatch is not None:
            job.give_up(mismatch)
            return
        ages = {id(record): (now_ns - record.started) * _NANO for record in running}
        self._warnings = {key: age for key, age in self._warnings.items() if key in ages}
        self._inquiries.forget(ages.keys())
        limits = [record.limit for record in running if record.limit]
        self.tick = min([self._idle_tick, *(limit / 4 for limit in limits)])
        if max(ages.values(), default=0.0) < min([ASK_AFTER, *limits]):
            return
        waits = job.waits()
        for execution, record in zip(flying, running, strict=True):
            age = ages[id(record)]
            found = waits.get(id(record), [])
            if record.limit and age > record.limit:
                job.overdue(execution)
                return
            self._inquiries.ask(record, age, found)
            if self._warn_after and age >= self._warnings.get(id(record), self._warn_after):
                self._warnings[id(record)] = 2 * age
                words = waits_in_words(found)
                log.warning("rank %d is in %s for %.0f s%s", job.recorder.rank, record, age, words)


def _run(reference: "weakref.ref[Watchdog]", stopping: threading.Event, tick: float) -> None:
    while not stopping.wait(max(tick, _SHORTEST_TICK)):
        watchdog = reference()
        if watchdog is None:
            return
        try:
            watchdog.look(time.monotonic_ns())
        except Exception as error:
            if not stopping.is_set():
                log.debug("the watchdog ends: %r", error)
            return
        tick = watchdog.tick
        del watchdog


_running: "weakref.WeakSet[Watchdog]" = weakref.WeakSet()


def write_on_signal() -> None:
    """SIGUSR1 has every communicator's flight record written, where the process has no other use for it."""
    if threading.current_thread() is not threading.main_thread():
        return
    if signal.getsignal(SIGNAL) is signal.SIG_DFL:
        signal.signal(SIGNAL, _ask_all)


def _ask_all(number: int, frame: FrameType | None) -> None:
    del number, frame
    for watchdog in list(_running):
        watchdog._job.recorder.asked = True
