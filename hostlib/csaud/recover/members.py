"""The ranks that a job has at a time, and how it goes on with those that are left."""

import itertools
import logging
import struct
from collections.abc import Callable, Generator
from typing import Any

import numpy as np

from csaud.errors import Aborted, ConfigError, CsaudError, PeerUnreachable, RendezvousError, Timeout
from csaud.groups.communicator import Communicator
from csaud.groups.group import Group
from csaud.recover.placement import ShardLost
from csaud.recover.planner import Agree, Answer, Holding, Plan, Planner, Question, StateLost
from csaud.recover.terms import Differs

log = logging.getLogger(__name__)

_LENGTHS = struct.Struct("<II")  # bytes of the microbatches' row and of the shards'

DEATHS = (PeerUnreachable, Aborted, Timeout)
"""What a rank's death or end looks like to the others."""


class _Fewer(CsaudError):
    """A rank took no part in an agreement."""


class Members:
    """The communicator of the epoch, and what its ranks agree on.

    Args:
        timeout: seconds within which all ranks that live come to a recovery: more than a rank computes
            between two reductions.
        watch: called with "shrink" and "settle" when that has begun.
        hand_over: brings the states of ranks that are behind up to that of a source, and shards to where
            they are to be; called by all.
        shards: those that are here, a bit each.

    Attributes:
        comm: all ranks of the epoch; `second`: the same ranks.
    """

    def __init__(
        self,
        comm: Communicator,
        timeout: float,
        watch: Callable[[str], object],
        hand_over: Callable[[Group, Plan], None],
        shards: Callable[[], int],
    ) -> None:
        self.comm = comm
        self.second: Group = comm
        self._timeout, self._watch, self._hand_over = timeout, watch, hand_over
        self._shards = shards

    def settle(self, planner: Planner, again: bool, admit: bool) -> Plan | None:
        """Agree with the others on how to go on; after deaths meanwhile with those that are left.

        Args:
            again: somebody has died: in another epoch.
            admit: newcomers, too, in another epoch.

        Returns:
            As `Planner.settle`.

        Raises:
            NoQuorum, Evicted: too few are left, or the others have gone on without this rank.
            RendezvousError: nobody who is left has the job's state.
            ConfigError: this rank has other arguments than the job, whose other ranks go on; or members have.
        """
        while True:
            try:
                if again or admit:
                    self._watch("shrink" if again else "reform")
                    change = self.comm.shrink if again else self.comm.reform
                    self.comm = change(timeout=self._timeout)
                self._watch("settle")
                return self._run(planner)
            except StateLost:
                raise RendezvousError("recover: all ranks that had the job's state are gone") from None
            except ShardLost as lost:
                words = f"recover: all ranks that had shard {lost.shard} of the optimizer's state are gone"
                raise RendezvousError(words) from None
            except Differs as found:
                if found.leaves:
                    raise ConfigError(f"recover: {found}") from None
                again = True
            except (*DEATHS, _Fewer) as error:
                log.info("recover: rank %d of %d: %s", self.comm.rank, self.comm.size, error)
                again = True

    def end(self, newcomers: bool) -> int:
        """End a stage: wait until all ranks are here.

        Returns:
            How many newcomers wait at one of them; 0 unless `newcomers`.
        """
        waiting = np.array([self.comm.newcomers if newcomers else 0], np.int64)
        handle = self.comm.all_reduce(waiting, "max", wait=False)
        self._watch("commit")
        handle.wait()
        return int(waiting[0])

    def _run(self, planner: Planner) -> Plan | None:
        asked: Generator[Question, Answer, Plan | None] = planner.settle(self.comm.rank, self._shards())
        try:
            question = next(asked)
            while True:
                question = asked.send(self._answer(question))
        except StopIteration as end:
            plan: Plan | None = end.value
        if plan is None:
            return None
        # What comes now goes over the fabric, and may fail at one rank and not at another one. In this epoch
        # nothing is agreed on any more, or a rank would wait there for one that has left it.
        self.second = self.comm.split(0) or self.comm
        if plan.behind or plan.placement.moves:
            self._watch("state")
            self._hand_over(self.comm, plan)
            planner.brought_up()
        return plan

    def _answer(self, question: Question) -> Answer:
        if isinstance(question, Agree):
            value, failed = self.comm.agree(question.value, question.op, self._timeout)
            if failed:
                raise _Fewer(f"ranks {list(failed)} took no part")
            return value
        holding = question.holding
        told = self.comm.all_gather_v(_bytes(holding))
        return [_holding(part) for part in told]


def _bytes(holding: Holding) -> Any:
    numbers = holding.computed, holding.shards
    rows = [number.to_bytes((number.bit_length() + 7) // 8, "little") for number in numbers]
    head = bytes([holding.standing]) + _LENGTHS.pack(*map(len, rows))
    return np.frombuffer(head + b"".join([*rows, holding.terms.encode()]), np.uint8)


def _holding(told: Any) -> Holding:
    raw = bytes(told)
    first, second = _LENGTHS.unpack_from(raw, 1)
    edges = itertools.accumulate([1 + _LENGTHS.size, first, second])
    *rows, terms = [raw[start:stop] for start, stop in itertools.pairwise([*edges, len(raw)])]
    computed, shards = (int.from_bytes(row, "little") for row in rows)
    return Holding(raw[0], computed, shards, terms.decode())
