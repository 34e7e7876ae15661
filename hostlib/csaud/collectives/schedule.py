"""A collective as data: who sends what to whom, after what.

A schedule is one rank's list of operations. It holds no array, no socket and no clock, so the executor runs
it, the tests compute its result, and a simulator can take its traffic from it. What runs it is native
(native/collectives); here it is only made. Regions are counted in
elements, so a schedule depends on the element size only through the longest message.
"""

import dataclasses
from collections.abc import Iterator
from enum import Enum


class Buffer(Enum):
    """Where a region lies."""

    DATA = "data"  # the user's array, flattened
    SOURCE = "source"  # a second array of the user's, flattened, which is only read
    SCRATCH = "scratch"  # room for what was received and not yet reduced


@dataclasses.dataclass(frozen=True, slots=True)
class Region:
    """`count` elements of `buffer` from `start` on; may be empty."""

    buffer: Buffer
    start: int
    count: int


@dataclasses.dataclass(frozen=True, slots=True)
class Send:
    """Send `region` to rank `dst` as message (`step`, `chunk`), once the operations `after` are done.

    Attributes:
        fan_in: ranks that send to `dst` at full rate meanwhile; 0: not known (protocol: flow control). 1 is
            what a message needs to have parity.
    """

    dst: int
    step: int
    chunk: int
    region: Region
    after: tuple[int, ...] = ()
    fan_in: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class Recv:
    """Receive message (`step`, `chunk`) of rank `src` into `region`.

    Receives have no `after`: the executor posts them all before the collective starts, so the receiver
    knows what must come. A builder must therefore make sure that nothing of the region is needed once that
    message can arrive.
    """

    src: int
    step: int
    chunk: int
    region: Region
    fan_in: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class Reduce:
    """into = first (op) second, element by element and in this operand order, once `after` is done.

    `into` may be `first` or `second`; the three counts are equal.
    """

    first: Region
    second: Region
    into: Region
    after: tuple[int, ...]


Operation = Send | Recv | Reduce


@dataclasses.dataclass(frozen=True, slots=True)
class Schedule:
    """One rank's part of a collective.

    Attributes:
        operations: `after` fields are indices into this tuple, always of earlier operations.
        scratch: elements of scratch space needed.
        steps: number of steps of the collective (over all ranks).
        barrier: the collective carries no data but the fact that everyone has come.
        chunks: one more than the highest number of a message in its step.
    """

    operations: tuple[Operation, ...]
    scratch: int
    steps: int
    barrier: bool = False
    chunks: int = dataclasses.field(init=False, compare=False)

    def __post_init__(self) -> None:
        highest = max((op.chunk for op in self.operations if not isinstance(op, Reduce)), default=0)
        object.__setattr__(self, "chunks", highest + 1)


MAX_STEPS = 1 << 16
"""Steps of a schedule, which have 16 bits in a message's name."""


def split(count: int, parts: int) -> list[tuple[int, int]]:
    """(start, length) of `parts` pieces of `count` elements; the sizes of numpy.array_split."""
    base, longer = divmod(count, parts)
    pieces = []
    start = 0
    for index in range(parts):
        length = base + (1 if index < longer else 0)
        pieces.append((start, length))
        start += length
    return pieces


def messages(region: Region, longest: int, closed: bool = False) -> Iterator[Region]:
    """`region` cut into messages of at most `longest` elements; an empty region is one empty message. With
    `closed` the last one is never full."""
    if longest < 1:
        raise ValueError(f"longest={longest}: a message holds at least one element")
    yield Region(region.buffer, region.start, min(longest, region.count))
    for offset in range(longest, region.count + closed, longest):
        yield Region(region.buffer, region.start + offset, min(longest, region.count - offset))
