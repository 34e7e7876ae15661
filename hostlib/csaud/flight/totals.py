"""What the collectives of each kind took, all of them since the job's begin."""

import dataclasses

from csaud.flight.record import Record

_NANO = 1e-9


@dataclasses.dataclass(slots=True)
class Totals:
    """Of one collective by one algorithm.

    Attributes:
        calls: that ended well.
        nbytes: of this rank's arrays.
        seconds: from call to end, all of them together; the calls of several in flight overlap.
        longest: seconds of the longest one.
    """

    calls: int = 0
    nbytes: int = 0
    seconds: float = 0.0
    longest: float = 0.0

    def add(self, record: Record) -> None:
        """One more, which has ended."""
        took = (record.ended - record.started) * _NANO
        self.calls += 1
        self.nbytes += record.nbytes
        self.seconds += took
        self.longest = max(self.longest, took)
