"""One collective as the flight recorder keeps it: what was asked for, when, and what it waits for."""

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple


class Call(NamedTuple):
    """A collective as its caller asked for it; equal on all ranks. A tuple: each call is looked up by it.

    Attributes:
        name: of collective and algorithm, such as "all_reduce.ring".
        dtype, count: of the array's elements; count is -1 where ranks' may differ.
        op: reduction, "" where there is none.
        root: -1 where there is none.
        detail: what else must be the same on all ranks, in words; "" where nothing is.
    """

    name: str
    dtype: str = ""
    count: int = -1  # type: ignore[assignment]  # nobody counts in a tuple of different things
    op: str = ""
    root: int = -1
    detail: str = ""

    def __str__(self) -> str:
        size = f"{self.count} x {self.dtype}" if self.count >= 0 else self.dtype
        root = f"root {self.root}" if self.root >= 0 else ""
        return f"{self.name}({', '.join(part for part in (self.op, size, root, self.detail) if part)})"


@dataclasses.dataclass(slots=True, eq=False)
class Record:
    """One collective, or one transfer from rank to rank.

    Attributes:
        comm, number: communicator, and running number in it; of a transfer: with this peer.
        nbytes: of this rank's array.
        ranks: of the communicator, as numbered in the job.
        peer: rank in the job, -1 for a collective.
        sends: a transfer's direction.
        limit: seconds that it may take; 0: as long as it likes.
        started, ended: ns of time.monotonic_ns(); ended is 0 while it is not over.
        error: what ended it, where it did not end well.
        waited: (begin, end) of each wait of the application for it, as `started`.
    """

    comm: int
    number: int
    call: Call
    nbytes: int
    ranks: Sequence[int]
    peer: int = -1
    sends: bool = False
    limit: float = 0.0
    started: int = 0
    ended: int = 0
    error: str = ""
    waited: list[tuple[int, int]] = dataclasses.field(default_factory=list)

    def matches(self, other: "Record") -> bool:
        """Whether `other`, of rank `other.peer` where it is a transfer, has the same number there."""
        if (self.comm, self.number, self.peer) != (other.comm, other.number, other.peer):
            return False
        return self.peer < 0 or self.sends != other.sends

    def __str__(self) -> str:
        if self.peer >= 0:
            way = f"to rank {self.peer}" if self.sends else f"from rank {self.peer}"
            return f"{self.call} {way} (number {self.number} of communicator {self.comm})"
        return f"{self.call} (number {self.number} of communicator {self.comm})"


@dataclasses.dataclass(frozen=True, slots=True)
class Wait:
    """A message that a collective waits for.

    Attributes:
        rank: who has to send it, or to take it.
        arrived, packets: how much of it has come, as far as this rank knows.
    """

    rank: int
    sends: bool
    step: int
    chunk: int
    nbytes: int
    arrived: int
    packets: int

    def __str__(self) -> str:
        what = "to" if self.sends else "from"
        missing = f"{self.packets - self.arrived} of {self.packets} packets missing"
        return f"{what} rank {self.rank} (step {self.step}, message {self.chunk}: {missing})"
