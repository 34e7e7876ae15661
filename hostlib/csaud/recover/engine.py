"""A training job that goes on when workers die: its steps, and in each what of it is this worker's."""

import contextlib
import logging
import operator
import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, SupportsIndex

import numpy.typing as npt

from csaud.errors import ConfigError, CsaudError
from csaud.groups.communicator import Communicator
from csaud.groups.group import Group
from csaud.recover.buckets import Buckets
from csaud.recover.members import DEATHS, Members
from csaud.recover.planner import INITIAL, NONE, Plan, Planner
from csaud.recover.reduction import Reductions
from csaud.recover.shards import Shards, bits, drop_others, gather, move
from csaud.recover.state import State
from csaud.recover.sums import Sums
from csaud.recover.terms import Terms

log = logging.getLogger(__name__)

Array = npt.NDArray[Any]
Watch = Callable[[str, int], object]

_UPDATE = 1  # part of a step in which shards are updated; there is none without them


class Engine:
    """What is common to jobs; their own part is how they come by gradients. A context manager: leaving it
    closes the job.

    Args:
        comm: all workers.
        joined: this worker came to a job that runs.
        reduced: memory of the buckets' means.
        state: what a worker that comes later is given.
        shards: what is split over the workers; None: nothing.
        timeout: seconds, see `csaud.recover.start`.
        watch: called with what this worker is at, and the step's number.
        doors: path of a file that gets the members' doors; empty: none.
        terms: what else must be the same at all workers, by the names of arguments.
    """

    def __init__(
        self, comm: Communicator, joined: bool, microbatches: int, buckets: Buckets, reduced: Sequence[Array],
        state: State, *, in_order: bool, timeout: float, watch: Watch | None, doors: str = "",
        shards: Shards | None = None, terms: Mapping[str, object] | None = None,
    ) -> None:  # fmt: skip
        if not isinstance(microbatches, SupportsIndex) or (microbatches := operator.index(microbatches)) < 1:
            raise ConfigError(f"recover: microbatches={microbatches}: expected 1 or more")
        if doors and not Path(doors).parent.is_dir():
            raise ConfigError(f"recover: doors: {doors}: there is no such folder")
        self._watch, self._doors = watch, doors
        self._shards = shards
        if shards is not None and joined:
            for shard in list(shards.held):
                shards.drop(shard)
        self._members = Members(comm, timeout, self._at, self._hand_over, lambda: bits(shards))
        stages = [(microbatches, len(buckets.sizes)), *([(0, 1)] if shards is not None else [])]
        count = 0 if shards is None else shards.count
        same = {"microbatches": microbatches, "in_order": in_order, "shards": count}
        same_too = Terms({**same, **buckets.terms, **(terms or {})})
        self._planner = Planner(stages, NONE if joined else INITIAL, count, same_too)
        self._microbatches, self._buckets = microbatches, buckets
        self._state, self._in_order = state, in_order
        self._sums = Sums(microbatches, len(buckets.sizes), in_order)
        self._reduced = reduced
        self._reductions: Reductions | None = None
        self._queue: deque[int] = deque()  # buckets that are yet to be reduced, in the order of all ranks
        self._ready_buckets: set[int] = set()
        self._failure: Exception | None = None  # of a reduction, not yet told
        self._newcomers = 0
        self._settled = False  # the stage under way was begun by `_settle`
        self._lost: CsaudError | None = None  # why there are no more steps after those that were done
        self._left: Communicator | None = None  # the epoch whose doors were left

    @property
    def comm(self) -> Communicator:
        """The communicator of the ranks that are left; another one after each death."""
        return self._members.comm

    @property
    def rank(self) -> int:
        """Of this worker now."""
        return self.comm.rank

    @property
    def size(self) -> int:
        """Workers that are left."""
        return self.comm.size

    def close(self) -> None:
        """Leave, as `Communicator.close`."""
        self.comm.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.comm.__exit__(kind, error, trace)

    # --- a step's

    def _indices(self, count: int) -> Iterator[int]:
        """Steps that are to be done, up to count - 1."""
        if self._lost is not None:
            if self._planner.step < count:
                raise self._lost
            return
        self._ready()
        while self._planner.step < count:
            index, part = self._planner.step, self._planner.part
            yield index
            if (self._planner.step, self._planner.part) == (index, part):
                raise ConfigError(f"recover: step {index} was left before its last microbatch")
            if self._planner.step == index:
                raise ConfigError(f"recover: step {index} was left without the sharded optimizer's step()")
            if self._planner.step < count:
                self._ready()
        self._end()

    def _numbers(self, step: int) -> Iterator[int]:
        """This worker's microbatches of a step, until the stage has ended; none where that was before."""
        planner = self._planner
        if planner.step != step:
            raise ConfigError(f"recover: step {step} has had its microbatches")
        while planner.part != _UPDATE:
            while planner.todo:
                number = planner.todo[0]
                yield number
                if number not in planner.computed:
                    raise ConfigError(f"recover: microbatch {number} was not added to its step")
            if self._over():
                return

    def _put(self, number: int, bucket: int, gradient: Array) -> None:
        """A bucket of a microbatch's gradient, which is kept; once each. Those of the last microbatch are
        reduced from now on, while others are computed."""
        planner = self._planner
        if number not in planner.todo:
            raise ConfigError(f"recover: microbatch {number} is not this worker's to add")
        self._sums.add(number, bucket, gradient)
        if planner.todo == [number]:
            self._ready_buckets.add(bucket)
            try:
                while self._failure is None and self._queue and self._queue[0] in self._ready_buckets:
                    self._begin_next()
            except DEATHS as error:  # this microbatch is computed to its end
                self._failure = error

    def _computed(self, number: int) -> None:
        """All buckets of a microbatch were put."""
        self._planner.compute(number)

    def _update(self) -> None:
        """Make the step of the shards, and have all that came of it at all ranks."""
        shards, planner = self._shards, self._planner
        assert shards is not None
        if planner.part != _UPDATE:
            raise ConfigError("recover: a sharded optimizer's step() belongs after a step's microbatches")
        shards.update()
        self._at("update")
        self._ready()
        while True:
            try:
                assert planner.plan is not None
                gather(shards, self.comm, planner.plan.placement, self._at)
                planner.complete(0)
                self._newcomers = self._members.end(newcomers=True)
            except DEATHS:
                if self._settle(again=True):
                    continue
            break
        self._advance()

    def _begin_next(self) -> None:
        reductions, bucket = self._reductions, self._queue.popleft()
        assert reductions is not None
        reductions.start(bucket, self._sums.of(bucket), self._reduced[bucket])
        reductions.move_on()

    def _over(self) -> bool:
        """Reduce what is left and end the stage; False: there are more microbatches to compute first."""
        reductions = self._reductions
        assert reductions is not None
        try:
            if self._failure is not None:
                raise self._failure
            while self._queue:
                self._begin_next()
            for bucket in reductions.finish():
                self._planner.complete(bucket)
            self._newcomers = self._members.end(newcomers=self._shards is None)
        except DEATHS:
            for bucket in reductions.landed():
                self._planner.complete(bucket)
            if self._settle(again=True):
                return False
        self._advance()
        return True

    # --- between

    def _advance(self) -> None:
        self._planner.advance(self.size, self.rank)
        self._settled = False
        self._sums.clear()
        self._renew()

    def _ready(self) -> None:
        """It is known who computes what in the stage that begins."""
        if self._planner.plan is None or self._newcomers:
            admit, self._newcomers = self._newcomers > 0, 0
            self._planner.plan = None
            settled = self._settle(again=False, admit=admit)
            assert settled, "nobody has ended a stage that has just begun"

    def _settle(self, again: bool, admit: bool = False) -> bool:
        plan = self._members.settle(self._planner, again, admit)
        if plan is None:
            return False
        self._settled = True
        if self._shards is not None:
            drop_others(self._shards, self.rank, plan.placement)
        self._renew()
        return True

    def _renew(self) -> None:
        plan = self._planner.plan
        self._reductions, self._failure = None, None
        self._queue.clear()
        self._ready_buckets.clear()
        if plan is not None:
            self._leave_doors()
        if plan is not None and self._planner.part != _UPDATE:
            self._queue.extend(self._planner.items_left)
            self._reductions = Reductions(
                self.comm, self._members.second, self._microbatches, plan.held, self._in_order, self._at
            )

    def _leave_doors(self) -> None:
        """Once an epoch, by one rank; newcomers read all of it or what was there before."""
        if self._doors and self.rank == 0 and self._left is not self.comm:
            self._left = self.comm
            partial = Path(f"{self._doors}.{os.getpid()}")
            try:
                partial.write_text(",".join(self.comm.doors))
                partial.replace(self._doors)
            except OSError as error:  # or the job would lose its rank 0, and then the next one
                log.warning("recover: newcomers will not find this job: %s: %s", self._doors, error.strerror)
                with contextlib.suppress(OSError):
                    partial.unlink()

    def _end(self) -> None:
        """Nobody leaves while others may need its part in the last step. Where it was settled how the next
        one goes on, all are known to have ended this one, and some may be in that one already."""
        if self._settled:
            return
        again = self._planner.plan is not None
        if again:
            try:
                self._members.end(newcomers=False)
                return
            except DEATHS:
                pass
        try:
            self._settle(again)
        except CsaudError as error:  # this worker has all there is; others have left
            self._lost = error

    def _hand_over(self, group: Group, plan: Plan) -> None:
        if plan.behind:
            self._state.hand_over(group, plan.source, group.rank in plan.behind)
        if self._shards is not None and plan.placement.moves:
            move(self._shards, group, plan.placement)

    def _at(self, what: str) -> None:
        if self._watch is not None:
            self._watch(what, self._planner.step)
