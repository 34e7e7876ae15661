"""What the next run of a schedule is told of the earlier ones."""

import numpy as np
from csaud.collectives.executor import Execution, name_of
from csaud.collectives.registry import build
from csaud.collectives.schedule import Recv
from csaud.collectives.timing import UNKNOWN, Expected, StepTimes, Timings

MS = 1_000_000


def test_the_first_run_expects_nothing() -> None:
    assert StepTimes().expect(10, 0) == UNKNOWN


def test_a_step_starts_where_the_one_before_ended() -> None:
    times = StepTimes()
    for _ in range(100):
        times.learn(1_000, [1_000 + 2 * MS, 1_000 + 5 * MS])
    first, second = times.expect(7_000, 0), times.expect(7_000, 1)
    assert (first.start, first.due) == (0, 7_000 + 2 * MS)
    assert (second.start, second.jitter, second.due) == (7_000 + 2 * MS, 0, 7_000 + 5 * MS)


def test_due_allows_for_what_varies() -> None:
    times = StepTimes()
    for turn in range(400):
        times.learn(0, [(10 + turn % 3) * MS])
    due = times.expect(0, 0).due
    assert due is not None
    assert 12 * MS < due < 16 * MS


def test_steps_that_receive_nothing_end_with_the_one_before() -> None:
    times = StepTimes()
    times.learn(0, [4 * MS, 0, 6 * MS])
    assert times.expect(0, 2) == Expected(4 * MS, 2 * MS, 6 * MS + 4 * 3 * MS)


def test_a_schedule_of_another_length_starts_anew() -> None:
    times = StepTimes()
    times.learn(0, [1 * MS])
    times.learn(0, [3 * MS, 4 * MS])
    assert times.expect(0, 1).start == 3 * MS


def test_schedules_are_told_apart_and_old_ones_forgotten() -> None:
    timings = Timings()
    timings.of("first").learn(0, [MS])
    assert timings.of("first").expect(0, 0) != UNKNOWN
    for other in range(300):
        assert timings.of(other).expect(0, 0) == UNKNOWN
    assert timings.of("first").expect(0, 0) == UNKNOWN


class Clockwork:
    """A transport whose receives of step s end s + 1 ms after the begin; keeps what it was told."""

    def __init__(self) -> None:
        self.time = 0
        self.told: dict[tuple[str, int], Expected] = {}
        self._posted: list[tuple[int, int]] = []  # id, time of its end

    def now(self) -> int:
        return self.time

    def post(self, op, name, buffer, offset, length, expected: Expected) -> int:
        kind = "recv" if isinstance(op, Recv) else "send"
        self.told[kind, op.step] = expected
        self._posted.append((len(self.told) * 1000 + len(self._posted), self.time + (op.step + 1) * MS))
        return self._posted[-1][0]

    def wait(self, timeout: float) -> list[int]:
        self._posted.sort(key=lambda entry: entry[1])
        transfer, at = self._posted.pop(0)
        self.time = max(self.time, at)
        return [transfer]


def test_an_execution_learns_and_tells() -> None:
    times = StepTimes()
    schedule = build("all_reduce.ring", 0, 4, 64, 100)
    for _ in range(50):
        transport = Clockwork()
        run = Execution(schedule, transport, name_of(0, 0, schedule), np.zeros(64), np.add, times)
        assert run.run(None)
    assert transport.told["recv", 0].start == 0
    for step in range(1, schedule.steps):
        told = transport.told["recv", step]
        assert told.start > 0
        assert told.due is not None
        assert told.due >= told.start
        assert transport.told["send", step].due == told.due
