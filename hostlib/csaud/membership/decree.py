"""One decision among the members of a generation: single-decree Paxos, without I/O, time passed in.

Each member is proposer, acceptor and learner. A decision is taken by ballots among the members, or in a
store; the arbiter says which. docs/membership.md says why at most one value is decided.
"""

import dataclasses
from collections.abc import Callable, Collection, Mapping

from csaud.membership.arbiter import Arbiter, Value, is_quorum
from csaud.membership.messages import (
    Accept,
    Accepted,
    Ballot,
    Decided,
    HasAccepted,
    Json,
    Later,
    OfDecree,
    Prepare,
    Promise,
    Refuse,
)

_INTERVALS = 40  # in the time that a member waits: how often it asks again
_SHORTEST, _LONGEST = 0.02, 0.5  # s, of such an interval
_SILENT = 3  # intervals without a word of the leader, after which another one tries
_NEVER = Ballot(0, 0)

Combine = Callable[[Mapping[int, Json]], Value]


@dataclasses.dataclass(frozen=True, slots=True)
class Missing:
    """There is no decision.

    Attributes:
        ranks: that were not met.
        gone: they have ended, and without them there is no quorum; otherwise the time is over.
    """

    ranks: tuple[int, ...]
    gone: bool = False


class Decree:
    """This rank's part in one decision, from when it takes part; `outcome` is its result.

    Attributes:
        outbox: (rank, message) to be sent, emptied by the caller.
        proposal: what is to be put into the store, None where nothing is; `stored` takes what it then holds.
        outcome: the value decided, or who is missing; None until then.
        wake: when `tick` is due.
    """

    def __init__(
        self,
        name: str,
        rank: int,
        world: int,
        contribution: Json,
        combine: Combine,
        arbiter: Arbiter,
        *,
        failed: Collection[int],
        now: float,
        timeout: float,
    ) -> None:
        self.name = name
        self.outbox: list[tuple[int, OfDecree]] = []
        self.proposal: Value | None = None
        self.outcome: Value | Missing | None = None
        self._rank, self._world = rank, world
        self._contribution, self._combine, self._arbiter = contribution, combine, arbiter
        self._began, self._timeout = now, timeout
        self._interval = min(_LONGEST, max(_SHORTEST, timeout / _INTERVALS))
        self._absent = set(failed) - {rank}  # nobody waits for these; what they send counts all the same
        self._gone: set[int] = set()  # of them, those that will never send again
        # as acceptor
        self._promised = _NEVER
        self._accepted: Accepted | None = None
        # as leader
        self._ballot = _NEVER  # of the attempt under way, _NEVER: none
        self._promises: dict[int, Promise] = {}
        self._earlier: Accepted | None = None  # of what they have accepted, the latest
        self._value: Value | None = None  # asked to be accepted
        self._accepted_by: set[int] = set()
        self._seen = _NEVER
        self._heard = {rank}
        # The lowest rank leads at once; the more are before us, the later we try.
        self._next = now + self._interval * self._place()
        self.tick(now)

    @property
    def deadline(self) -> float:
        """When this member gives up."""
        return self._began + self._timeout

    @property
    def wake(self) -> float:
        return min(self._next, self.deadline)

    def tick(self, now: float) -> None:
        """Do what is due."""
        if self.outcome is not None:
            return
        if now >= self.deadline:
            self.give_up()
        elif now >= self._next:
            if self._ballot == _NEVER:
                self._lead(now)
            else:
                self._repeat(now)

    def absent(self, rank: int, now: float, gone: bool = False) -> None:
        """The connection to this rank is lost: nobody waits for it.

        Args:
            gone: its process has ended, or has left the job. Where the others can be no quorum, nothing is
                waited for any more.
        """
        self._absent.add(rank)
        if gone and self.outcome is None:
            self._gone.add(rank)
            here = [other for other in range(self._world) if other not in self._gone]
            if self._arbiter.store is None and not is_quorum(here, self._world):
                self._ballot, self.outcome = _NEVER, Missing(tuple(sorted(self._gone)), gone=True)
                return
        self._propose_if_ready(now)

    def stored(self, value: Value) -> None:
        """The store has decided."""
        self._decide(value)

    def give_up(self) -> None:
        """Take no part any more."""
        self._ballot, self.proposal = _NEVER, None
        self.outcome = Missing(tuple(rank for rank in range(self._world) if rank not in self._heard))

    def receive(self, sender: int, body: OfDecree, now: float) -> None:
        """A message of another member."""
        self._absent.discard(sender)
        self._gone.discard(sender)
        self._heard.add(sender)
        if self.outcome is not None:
            if isinstance(self.outcome, dict) and isinstance(body, Prepare | Accept):
                self.outbox.append((sender, Decided(self.name, self.outcome)))
            return
        match body:
            case Prepare():
                if self._follows(sender, body.ballot, now):
                    answer = Promise(self.name, body.ballot, self._contribution, self._accepted)
                    self.outbox.append((sender, answer))
            case Accept():
                if self._follows(sender, body.ballot, now):
                    self._accepted = Accepted(body.ballot, body.value)
                    self.outbox.append((sender, HasAccepted(self.name, body.ballot)))
            case Promise() if body.ballot == self._ballot:
                self._promised_by(sender, body)
                if self._value is not None:
                    self.outbox.append((sender, Accept(self.name, self._ballot, self._value)))
                self._propose_if_ready(now)
            case HasAccepted() if body.ballot == self._ballot:
                self._accepted_by.add(sender)
                self._decide_if_accepted()
            case Refuse() if body.ballot == self._ballot and body.promised > self._ballot:
                self._seen = max(self._seen, body.promised)
                self._step_back(now)
            case Decided():
                self._decide(body.value)
            case Later() | _:
                pass  # it is alive, or answers what is over

    # --- acceptor

    def _follows(self, sender: int, ballot: Ballot, now: float) -> bool:
        if ballot < self._promised:
            self.outbox.append((sender, Refuse(self.name, ballot, self._promised)))
            return False
        self._promised = ballot
        self._step_back(now)
        return True

    # --- leader

    def _place(self) -> int:
        before = sum(1 for rank in range(self._rank) if rank not in self._absent)
        return before.bit_length()

    def _others(self) -> list[int]:
        return [rank for rank in range(self._world) if rank != self._rank]

    def _step_back(self, now: float) -> None:
        """Somebody else leads: it has some time before we try."""
        self._ballot = _NEVER
        self._value = self.proposal = None
        self._next = now + self._interval * (_SILENT + self._place())

    def _lead(self, now: float) -> None:
        self._ballot = Ballot(max(self._promised, self._seen).round + 1, -self._rank)
        self._promised = self._ballot
        self._promises, self._earlier = {}, None
        own = Promise(self.name, self._ballot, self._contribution, self._accepted)
        self._promised_by(self._rank, own)
        self._value = self.proposal = None
        self._accepted_by = set()
        self._repeat(now)
        self._propose_if_ready(now)

    def _promised_by(self, rank: int, promise: Promise) -> None:
        self._promises[rank] = promise
        accepted = promise.accepted
        if accepted is not None and (self._earlier is None or accepted.ballot > self._earlier.ballot):
            self._earlier = accepted

    def _repeat(self, now: float) -> None:
        """Ask all who have not answered."""
        self._next = now + self._interval
        for rank in self._others():
            if rank not in self._promises:
                self.outbox.append((rank, Prepare(self.name, self._ballot)))
            elif self._value is not None and rank not in self._accepted_by:
                self.outbox.append((rank, Accept(self.name, self._ballot, self._value)))
        self._propose_if_ready(now)

    def _propose_if_ready(self, now: float) -> None:
        if self._ballot == _NEVER or self._value is not None or self.proposal is not None:
            return
        here = self._promises.keys()
        # Called for every answer: nothing here may take a step for each rank.
        complete = len(here) + sum(rank not in here for rank in self._absent) == self._world
        patience = self._arbiter.patience(here, self._world, complete)
        earlier = self._earlier
        if patience is None or (earlier is None and now < self._began + patience * self._timeout):
            return
        value = (
            earlier.value
            if earlier is not None
            else self._combine({rank: promise.contribution for rank, promise in self._promises.items()})
        )
        if self._arbiter.store is not None:
            self.proposal = value
            return
        self._value = value
        self._accepted = Accepted(self._ballot, value)
        self._accepted_by = {self._rank}
        accept = Accept(self.name, self._ballot, value)  # one object: it is encoded once
        self.outbox += [(rank, accept) for rank in here if rank != self._rank]
        self._decide_if_accepted()

    def _decide_if_accepted(self) -> None:
        if self._value is not None and is_quorum(self._accepted_by, self._world):
            self._decide(self._value)

    def _decide(self, value: Value) -> None:
        if self.outcome is not None:
            return
        told = self._ballot != _NEVER
        self.outcome = value
        self._ballot, self.proposal = _NEVER, None
        if told:
            decided = Decided(self.name, value)
            self.outbox += [(rank, decided) for rank in self._others()]
