"""A training job that goes on when workers die: its steps, and in each the microbatches of this worker."""

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from csaud.errors import ConfigError, CsaudError
from csaud.groups.communicator import Communicator
from csaud.groups.group import Group
from csaud.recover.buckets import Buckets
from csaud.recover.members import DEATHS, Members
from csaud.recover.planner import INITIAL, NONE, Plan, Planner
from csaud.recover.reduction import Reductions
from csaud.recover.state import State
from csaud.recover.sums import Sums

Array = npt.NDArray[Any]
Watch = Callable[[str, int], object]


class Job:
    """One worker's part; made by `csaud.recover.start`. A context manager: leaving it closes the job.

    Args:
        comm: all workers.
        joined: this worker came to a job that runs.
        state: what a worker that comes later is given.
        timeout: seconds, see `csaud.recover.start`.
        watch: called with what this worker is at, and the step's number.
        doors: path of a file that gets the members' doors; empty: none.
    """

    def __init__(
        self, comm: Communicator, joined: bool, microbatches: int, buckets: Buckets, state: State, *,
        in_order: bool, timeout: float, watch: Watch | None, doors: str = "",
    ) -> None:  # fmt: skip
        if microbatches < 1:
            raise ConfigError(f"recover: microbatches={microbatches}: expected 1 or more")
        self._watch, self._doors = watch, doors
        self._members = Members(comm, timeout, self._at, self._hand_over)
        self._planner = Planner([(microbatches, len(buckets.sizes))], NONE if joined else INITIAL)
        self._microbatches, self._buckets = microbatches, buckets
        self._state, self._in_order = state, in_order
        self._sums = Sums(microbatches, in_order)
        self._reduced = buckets.make()
        self._reductions: Reductions | None = None
        self._newcomers = 0
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

    def steps(self, count: int) -> Iterator["Step"]:
        """Steps 0 to count - 1; for a worker that comes later, from the one that the others are at. All that
        changes the state belongs into the body of the loop, after the microbatches.

        Raises:
            NoQuorum, Evicted: too few workers are left, or they have gone on without this one.
            ConfigError: a step was left before its microbatches were done.
        """
        self._ready()
        while self._planner.step < count:
            step = Step(self, self._planner.step)
            yield step
            if self._planner.stage == step.index:
                raise ConfigError(f"recover: step {step.index} was left before its last microbatch")
            if self._planner.step < count or self._planner.plan is None:
                self._ready()
        self._end()

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

    def _numbers(self) -> Iterator[int]:
        """This worker's microbatches, until the stage has ended."""
        planner = self._planner
        while True:
            while planner.todo:
                number = planner.todo[0]
                yield number
                if number not in planner.computed:
                    raise ConfigError(f"recover: microbatch {number} was not added to its step")
            if self._over():
                return

    def _add(self, number: int, gradient: Sequence[Array]) -> None:
        planner = self._planner
        if number not in planner.todo:
            raise ConfigError(f"recover: microbatch {number} is not this worker's to add")
        self._sums.add(number, gradient)
        planner.compute(number)

    def _over(self) -> bool:
        """Reduce what is left and end the stage; False: there are more microbatches to compute first."""
        try:
            reductions = self._reductions
            assert reductions is not None
            for bucket in self._planner.items_left:
                reductions.start(bucket, self._sums.of(bucket), self._reduced[bucket])
                reductions.move_on()
            for bucket in reductions.finish():
                self._planner.complete(bucket)
            self._newcomers = self._members.end(newcomers=True)
        except DEATHS:
            if self._settle(again=True):
                return False
        self._advance()
        return True

    # --- between

    def _advance(self) -> None:
        self._planner.advance(self.size, self.rank)
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
        self._renew()
        return True

    def _renew(self) -> None:
        plan = self._planner.plan
        self._reductions = None
        if plan is not None:
            self._leave_doors()
            self._reductions = Reductions(
                self.comm, self._members.second, self._microbatches, plan.held, self._in_order, self._at
            )

    def _leave_doors(self) -> None:
        """Once an epoch, by one rank; newcomers read all of it or what was there before."""
        if self._doors and self.rank == 0 and self._left is not self.comm:
            self._left = self.comm
            partial = Path(f"{self._doors}.{os.getpid()}")
            partial.write_text(",".join(self.comm.doors))
            partial.replace(self._doors)

    def _end(self) -> None:
        """Nobody leaves while others may need its part in the last step."""
        while True:
            try:
                self._members.end(newcomers=False)
                return
            except DEATHS:
                with contextlib.suppress(CsaudError):  # this worker has all there is; others have left
                    self._settle(again=True)
                    continue
                return

    def _hand_over(self, group: Group, plan: Plan) -> None:
        self._state.hand_over(group, plan.source)

    def _at(self, what: str) -> None:
        if self._watch is not None:
            self._watch(what, self._planner.step)


class Step:
    """One step; iterating gives the numbers of the microbatches that this worker computes. There are more
    after a death, and when there are no more, the gradient is complete on all workers.

    Attributes:
        index: 0 <= index < count.
    """

    def __init__(self, job: Job, index: int) -> None:
        self.index = index
        self._job = job
        self._number: int | None = None

    def __iter__(self) -> Iterator[int]:
        for number in self._job._numbers():
            self._number = number
            yield number
        self._number = None

    def add(self, gradients: Sequence[Array]) -> None:
        """The gradient of the microbatch under way: an array for each parameter, which are copied.

        Raises:
            ConfigError: there is none under way, or the arrays are not as the parameters.
        """
        if self._number is None:
            raise ConfigError("recover: add() belongs into the loop over a step's microbatches, once in each")
        places = self._job._buckets.places
        if [np.shape(gradient) for gradient in gradients] != [place.shape for place in places]:
            raise ConfigError(
                f"recover: gradients of shapes {[np.shape(gradient) for gradient in gradients]}, "
                f"parameters have {[place.shape for place in places]}"
            )
        kept = self._job._buckets.make()
        for view, gradient in zip(self._job._buckets.views(kept), gradients, strict=True):
            np.copyto(view, gradient, casting="same_kind")
        number, self._number = self._number, None
        self._job._add(number, kept)

    @property
    def gradients(self) -> list[Array]:
        """The mean over the step's microbatches, an array for each parameter; of meaning after the loop over
        them, until the next step."""
        return self._job._buckets.views(self._job._reduced)
