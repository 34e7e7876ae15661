"""A rank's membership at work: a thread that runs its `Member` over TCP, and calls that wait for results."""

import json
import logging
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping
from typing import Any

from csaud.errors import Evicted, NoQuorum, ProtocolError, RendezvousError
from csaud.membership.agreement import Agreement
from csaud.membership.arbiter import Arbiter, StoreError
from csaud.membership.decree import Missing
from csaud.membership.door import Obstacle
from csaud.membership.links import Link, Links
from csaud.membership.member import Gone, Member, Mixed, Outcome
from csaud.membership.messages import BadMessage, Body, from_json, to_json
from csaud.network.descriptors import as_much_room
from csaud.network.frames import Message, encode
from csaud.network.job_secret import Credentials
from csaud.rendezvous.table import Table, name_ranks

log = logging.getLogger(__name__)

_SLACK = 5.0  # s over the time given, after which the thread is taken for hung
_FLUSH = 1.0  # s that the last messages are given on their way out
_STORE_PAUSE = 0.25  # s between two attempts to reach the store


class Service:
    """This rank's door and its part in the job's decisions; lives as long as the rank is a member.

    Args:
        listener: bound to the address on this rank's card.
        agreed: settings that a newcomer must have, too.
        credentials: of the job's secret, where it has one.
        obstacle: as for `Member`.
    """

    def __init__(
        self,
        listener: socket.socket,
        table: Table,
        uid: str,
        arbiter: Arbiter,
        agreed: Mapping[str, Any],
        credentials: Credentials | None = None,
        obstacle: Obstacle = lambda table, card: "",
    ) -> None:
        self._member = Member(table, uid, arbiter, agreed, obstacle)
        self._arbiter = arbiter
        as_much_room(len(table.cards))  # whoever leads a decision has a connection to each member
        self._links = Links(listener, self._member.door_of, self._lost, credentials)
        self._commands: deque[Callable[[], None]] = deque()
        self._changed = threading.Condition()
        self._asking: set[tuple[int, str]] = set()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="csaud-membership", daemon=True)
        self._thread.start()

    @property
    def table(self) -> Table:
        """The generation that this rank is in."""
        return self._member.table

    @property
    def newcomers(self) -> int:
        """How many wait at this rank's door that all members can go on with."""
        return len(self._member.newcomers)

    def next(self, failed: Collection[int], admit: bool, timeout: float) -> Table:
        """The table of the job's next epoch.

        Raises:
            NoQuorum: too few were met in `timeout` seconds.
            Evicted: the others go on without this rank.
        """
        outcome = self._decided(lambda now: self._member.next(failed, admit, now, timeout), timeout)
        assert isinstance(outcome, Table)
        return outcome

    def agree(self, value: int, op: str, failed: Collection[int], timeout: float) -> Agreement:
        """What the ranks' values are together.

        Raises:
            NoQuorum, Evicted: as `next`.
            ProtocolError: the ranks named different operations.
        """
        outcome = self._decided(lambda now: self._member.agree(value, op, failed, now, timeout), timeout)
        assert isinstance(outcome, Agreement)
        return outcome

    def arrive(self, point: str, timeout: float) -> None:
        """Wait until every rank has arrived at `point`; all ranks name the same points in the same order.

        Raises:
            RendezvousError: some ranks did not within `timeout` seconds, or have left; `missing` names them.
        """
        arrivals = self._member.arrivals
        world = len(self._member.table.cards)
        self._post(lambda: arrivals.arrive(point))
        if not self._wait(lambda: point in arrivals.ended, timeout):
            self._post(lambda: arrivals.give_up(point))
            self._wait(lambda: point in arrivals.ended, _SLACK)
        if missing := arrivals.ended.get(point, (0,)):
            raise RendezvousError(f"{name_ranks(list(missing), world)} did not arrive at {point!r}", missing)

    def close(self) -> None:
        """Leave: the others find nobody at this rank's door."""
        self._post(self._stop)
        self._thread.join(_FLUSH + _SLACK)

    # --- waiting threads

    def _decided(self, begin: Callable[[float], str], timeout: float) -> Outcome:
        begun: list[str] = []
        self._post(lambda: begun.append(begin(time.monotonic())))
        outcomes = self._member.outcomes
        self._wait(lambda: bool(begun) and begun[0] in outcomes, timeout + _SLACK)
        outcome = outcomes.get(begun[0]) if begun else None
        world = len(self._member.table.cards)
        match outcome:
            case Missing() if outcome.ranks:
                how = "are gone" if outcome.gone else f"were not met within {timeout:g} s"
                names = name_ranks(list(outcome.ranks), world)
                raise NoQuorum(f"{names} {how}: too few are left to go on", outcome.ranks)
            case Missing() | None:
                raise NoQuorum(f"no decision was reached within {timeout:g} s")
            case Gone():
                raise Evicted("the others have gone on without this rank, which came too late")
            case Mixed():
                raise ProtocolError(f"agree: {outcome.words}")
            case _:
                return outcome

    def _wait(self, done: Callable[[], bool], timeout: float) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: done() or not self._thread.is_alive(), timeout) and done()

    def _post(self, command: Callable[[], None]) -> None:
        self._commands.append(command)
        self._links.ring()

    # --- the thread

    def _run(self) -> None:
        try:
            self._send()
            while not self._stopping:
                wake = self._member.wake
                self._turn(None if wake is None else max(0.0, wake - time.monotonic()))
            limit = time.monotonic() + _FLUSH
            while not self._links.idle and time.monotonic() < limit:
                self._turn(0.05)
        except Exception:
            log.exception("membership: ended by a mistake in the library")
        finally:
            self._links.close()
            with self._changed:
                self._stopping = True
                self._changed.notify_all()

    def _turn(self, timeout: float | None) -> None:
        self._links.members = len(self._member.table.cards)
        for link, message in self._links.poll(timeout):
            self._receive(link, message)
        while self._commands:
            self._commands.popleft()()
        self._member.tick(time.monotonic())
        self._send()
        self._propose()
        with self._changed:
            self._changed.notify_all()

    def _receive(self, link: Link, message: Message) -> None:
        try:
            envelope = from_json(message)
            self._member.check(envelope)
            self._links.belongs_to(link, envelope.peer, bool(self._member.door_of(envelope.peer)))
            self._member.receive(envelope, time.monotonic())
        except BadMessage as error:
            log.warning("membership: dropped the connection with %s: %s", link.name, error)
            self._links.drop(link, str(error))

    def _send(self) -> None:
        self._member.flush()
        while outbox := self._member.outbox:  # to find somebody lost while sending may make more
            self._member.outbox = []
            encoded: tuple[Body, bytes] | None = None
            for peer, envelope in outbox:
                if encoded is None or encoded[0] is not envelope.body:  # what goes to all is encoded once
                    encoded = envelope.body, encode(to_json(envelope))
                self._links.send(peer, encoded[1])
            self._member.flush()

    def _lost(self, peer: str, gone: bool) -> None:
        self._member.absent(peer, time.monotonic(), gone)

    def _stop(self) -> None:
        self._stopping = True

    # --- the arbiter's store

    def _propose(self) -> None:
        """Each question to the store has a thread of its own: it may take long, and this one must not."""
        generation = self._member.table.generation
        for name, key, value in self._member.proposals():
            if (generation, name) not in self._asking:
                self._asking.add((generation, name))
                threading.Thread(
                    target=self._ask, args=(generation, name, key, value), name="csaud-arbiter", daemon=True
                ).start()

    def _ask(self, generation: int, name: str, key: str, value: dict[str, Any]) -> None:
        assert self._arbiter.store is not None
        held: dict[str, Any] | None = None
        try:
            held = json.loads(self._arbiter.store.put_if_absent(key, json.dumps(value)))
        except (StoreError, ValueError) as error:
            log.warning("membership: the arbiter's store: %s", error)
            time.sleep(_STORE_PAUSE)
        self._post(lambda: self._answer(generation, name, held))

    def _answer(self, generation: int, name: str, held: dict[str, Any] | None) -> None:
        self._asking.discard((generation, name))
        if held is not None:
            self._member.stored(generation, name, held)
