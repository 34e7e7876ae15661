"""What earlier runs of a collective took, step by step, and so when each message of the next one is expected.

The transport needs it for two things: how long to wait for a message's first packet before asking for it, and
which of several lost packets to send again first. Being wrong costs a control packet, never a result.
"""

import dataclasses
from collections import OrderedDict
from collections.abc import Hashable, Sequence

_MEAN_GAIN = 1 / 8  # as for round trips (RFC 6298)
_DEVIATION_GAIN = 1 / 4
_DEVIATIONS = 4  # what hardly ever is exceeded
_REMEMBERED = 256  # schedules


@dataclasses.dataclass(frozen=True, slots=True)
class Expected:
    """When a message is expected; ns of the transport's clock.

    Attributes:
        start: of its first packet; 0 where that is not known.
        jitter: deviation of `start`.
        due: when it should be complete; None where that is not known.
    """

    start: int = 0
    jitter: int = 0
    due: int | None = None


UNKNOWN = Expected()


class StepTimes:
    """When the steps of one schedule end, after its begin: mean and deviation over its runs."""

    def __init__(self) -> None:
        self._mean: list[float] = []
        self._deviation: list[float] = []

    def expect(self, began: int, step: int) -> Expected:
        """Of a message of `step` in a run that began at `began`: it starts where the step before ends."""
        if step >= len(self._mean):
            return UNKNOWN
        due = round(began + self._mean[step] + _DEVIATIONS * self._deviation[step])
        if step == 0:
            return Expected(due=due)
        start = round(began + self._mean[step - 1])
        return Expected(max(start, 1), round(self._deviation[step - 1]), due)

    def learn(self, began: int, ended: Sequence[int]) -> None:
        """A run is over; `ended` holds when each step did (0: nothing was received in it)."""
        took = [max(0, at - began) for at in ended]
        for step in range(1, len(took)):
            took[step] = max(took[step], took[step - 1])
        if len(took) != len(self._mean):
            self._mean = [float(time) for time in took]
            self._deviation = [time / 2 for time in self._mean]
            return
        for step, time in enumerate(took):
            error = time - self._mean[step]
            self._mean[step] += _MEAN_GAIN * error
            self._deviation[step] += _DEVIATION_GAIN * (abs(error) - self._deviation[step])


class Timings:
    """Step times by schedule; those not used for long are forgotten."""

    def __init__(self) -> None:
        self._of: OrderedDict[Hashable, StepTimes] = OrderedDict()

    def of(self, schedule: Hashable) -> StepTimes:
        """The times of what `schedule` names (collective, sizes)."""
        times = self._of.pop(schedule, None) or StepTimes()
        self._of[schedule] = times
        if len(self._of) > _REMEMBERED:
            self._of.popitem(last=False)
        return times
