"""Who computes which microbatch, what of a stage is kept after a death and what is done again; without I/O.

A job is a row of stages. A stage has microbatches to be computed by anybody, once, and items (buckets of the
gradient, say) that all ranks complete together; it is over when all ranks know that all have all items, so
two ranks are never further apart than the end of one stage and the middle of the next one.
"""

import dataclasses
import itertools
from collections.abc import Generator, Sequence

from csaud.recover.placement import NOWHERE, Placement, place
from csaud.recover.terms import BITS, Terms, difference

_UNKNOWN = 1 << 62  # the stage of a rank that is new and takes that of the others
_ALL = -1  # every bit
_BLOCKS = 4096  # items that are agreed on one by one; of more, so many rows of neighbours


@dataclasses.dataclass(frozen=True, slots=True)
class Agree:
    """To be agreed on by all ranks of the epoch; the answer is the combined value."""

    value: int
    op: str


@dataclasses.dataclass(frozen=True, slots=True)
class Tell:
    """What this rank holds, for all ranks; the answer is everybody's, by rank."""

    holding: "Holding"


@dataclasses.dataclass(frozen=True, slots=True)
class Holding:
    """What a rank has.

    Attributes:
        standing: of its state: NONE, INITIAL or CURRENT.
        computed: microbatches of the stage under way, a bit each.
        shards: that are here, a bit each.
        terms: text of this rank's, where those of the ranks differ.
    """

    standing: int
    computed: int
    shards: int = 0
    terms: str = ""


NONE, INITIAL, CURRENT = range(3)
"""Of a rank's state: a newcomer's, of which nothing is to be used; that at the job's start; in force."""

Question = Agree | Tell
Answer = int | Sequence[Holding]


@dataclasses.dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done in a stage from here on.

    Attributes:
        source: the rank whose state is that of the job.
        behind: ranks that are to be given it.
        shares: microbatches that each rank has yet to compute.
        held: microbatches whose gradients each rank adds to the sum, when those are computed.
        placement: of shards.
    """

    source: int
    behind: tuple[int, ...]
    shares: tuple[tuple[int, ...], ...]
    held: tuple[frozenset[int], ...]
    placement: Placement = NOWHERE


class StateLost(Exception):
    """No rank that is left has the job's state."""


def divide(numbers: Sequence[int], world: int) -> tuple[tuple[int, ...], ...]:
    """Consecutive parts by rank, whose sizes differ by one at most."""
    size, longer = divmod(len(numbers), world)
    starts = [rank * size + min(rank, longer) for rank in range(world + 1)]
    return tuple(tuple(numbers[start:stop]) for start, stop in itertools.pairwise(starts))


def plan(microbatches: int, holdings: Sequence[Holding], shards: int = 0) -> Plan:
    """The same at each rank, from what all hold.

    Raises:
        StateLost: all are newcomers.
        ShardLost: nobody holds one of the shards.
    """
    best = max(holding.standing for holding in holdings)
    if best == NONE:
        raise StateLost
    seen: set[int] = set()
    held = []
    for holding in holdings:  # none is counted twice, whatever ranks say
        own = {number for number in range(microbatches) if holding.computed >> number & 1} - seen
        seen |= own
        held.append(own)
    shares = divide([number for number in range(microbatches) if number not in seen], len(holdings))
    return Plan(
        source=next(rank for rank, holding in enumerate(holdings) if holding.standing == best),
        behind=tuple(rank for rank, holding in enumerate(holdings) if holding.standing < CURRENT),
        shares=shares,
        held=tuple(frozenset(own | set(share)) for own, share in zip(held, shares, strict=True)),
        placement=place(shards, [holding.shards for holding in holdings]),
    )


class Planner:
    """One rank's place in the job.

    Args:
        stages: (microbatches, items) of each stage of a step.
        standing: of this rank's state at the start.
        shards: of the job.
        terms: what must be the same at all ranks.

    Attributes:
        stage: number of the stage under way, counted through all steps; None: not known yet.
        done: its items that are complete here.
        computed: its microbatches that this rank has computed.
        todo: those that it has yet to compute.
        plan: what all do; None: to be settled first.
    """

    def __init__(
        self, stages: Sequence[tuple[int, int]], standing: int, shards: int = 0, terms: Terms | None = None
    ) -> None:
        self._stages = tuple(stages)
        self._shards, self._terms = shards, terms or Terms({})
        self.standing = standing
        self.stage: int | None = None if standing == NONE else 0
        self.plan: Plan | None = None
        self.done: set[int] = set()
        self.computed: set[int] = set()
        self.todo: list[int] = []

    @property
    def step(self) -> int:
        """Number of the step under way; 0 where that is not known yet."""
        return (self.stage or 0) // len(self._stages)

    @property
    def part(self) -> int:
        """Which of a step's stages is under way, from 0."""
        return (self.stage or 0) % len(self._stages)

    @property
    def items_left(self) -> list[int]:
        """Items of the stage that are not complete."""
        return [item for item in range(self._size()[1]) if item not in self.done]

    def compute(self, number: int) -> None:
        """This rank has computed a microbatch that was its to do."""
        self.todo.remove(number)
        self.computed.add(number)

    def complete(self, item: int) -> None:
        """An item is complete at this rank."""
        self.done.add(item)

    def advance(self, world: int, rank: int) -> None:
        """All ranks have all items; this one enters the next stage. Among the same ranks all its microbatches
        are divided anew; where it is not settled who they are, that comes first."""
        assert self.stage is not None
        self.stage += 1
        self._begin()
        if self.plan is not None:
            following = plan(self._size()[0], [Holding(CURRENT, 0)] * world)
            self._follow(dataclasses.replace(following, placement=self.plan.placement), rank)

    def settle(self, rank: int, shards: int = 0) -> Generator[Question, Answer, Plan | None]:
        """What the ranks of a new epoch ask each other before they go on; each of them runs this at once.

        Args:
            rank: this rank in the epoch.
            shards: that are here, a bit each.

        Returns:
            The plan; None: all ranks have all items of this rank's stage, so it ends the stage, enters the
            next one by `advance` and settles again there, where the others wait for it.

        Raises:
            StateLost: no rank that is left has the job's state.
            ShardLost: no rank that is left has one of its shards.
            Differs: ranks have other terms.
        """
        self.plan = None
        digest, ones = self._terms.digest, (1 << BITS) - 1
        while True:
            lowest = yield Agree(_UNKNOWN if self.stage is None else self.stage, "min")
            assert isinstance(lowest, int)
            there = self.stage == lowest
            # A newcomer has nothing, and no stage has ended since it came. Others are further on.
            mine = self._mask() if there else 0 if self.stage is None else _ALL
            both = yield Agree((mine << BITS | digest ^ ones) << BITS | digest, "and")
            assert isinstance(both, int)
            if lowest == _UNKNOWN:
                raise StateLost
            if (both ^ both >> BITS) & ones != ones:  # a bit of the digest is 0 here and 1 there
                yield from self._differ(rank)
            mask = both >> 2 * BITS
            items, width = self._size(lowest)[1], self._width(lowest)
            all_ = (1 << -(-items // width)) - 1
            if mask & all_ != all_:
                break
            if there:
                return None
        if self.stage is None:
            self.stage = lowest
            self._begin()
        self.done = {item for item in range(items) if mask >> item // width & 1}
        computed = sum(1 << number for number in self.computed)
        holdings = yield Tell(Holding(self.standing, computed, shards))
        assert not isinstance(holdings, int)
        found = plan(self._size()[0], holdings, self._shards)
        self._follow(found, rank)
        return found

    def brought_up(self) -> None:
        """This rank's state is that of the job."""
        self.standing = CURRENT

    def _follow(self, found: Plan, rank: int) -> None:
        self.plan = found
        self.todo = list(found.shares[rank])

    def _begin(self) -> None:
        self.done, self.computed, self.todo = set(), set(), []

    def _differ(self, rank: int) -> Generator[Question, Answer, None]:
        told = yield Tell(Holding(self.standing, 0, terms=self._terms.text))
        assert not isinstance(told, int)
        members = [other for other, holding in enumerate(told) if holding.standing != NONE]
        raise difference([holding.terms for holding in told], members or [0], rank)

    def _mask(self) -> int:
        items, width = self._size()[1], self._width()
        rows = [range(start, min(start + width, items)) for start in range(0, items, width)]
        return sum(1 << number for number, row in enumerate(rows) if self.done.issuperset(row))

    def _width(self, stage: int | None = None) -> int:
        """How many items a bit of a mask stands for."""
        return max(1, -(-self._size(stage)[1] // _BLOCKS))

    def _size(self, stage: int | None = None) -> tuple[int, int]:
        number = self.stage if stage is None else stage
        return self._stages[(number or 0) % len(self._stages)]
