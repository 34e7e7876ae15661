"""What all groups of one process share."""

import logging
import os
import threading
from collections.abc import Callable, Sequence
from typing import Any

from csaud.collectives.engine import Engine
from csaud.collectives.executor import DIRECT, Execution, Prepared, Runner
from csaud.collectives.schedule import Recv, Send
from csaud.collectives.scratch import Scratch
from csaud.errors import ConfigError, CsaudError, Timeout
from csaud.flight.record import Wait
from csaud.flight.recorder import Recorder

LAST_NUMBER = DIRECT - 1  # of a communicator
_RECORDS = 64
_NAMED = 3  # messages that an error names

log = logging.getLogger(__name__)


def seconds(timeout: Any, otherwise: str) -> float:
    """A time to wait, or ConfigError, which says what there is `otherwise`."""
    try:
        if timeout >= 0:
            return float(timeout)
    except TypeError:
        pass
    raise ConfigError(f"timeout={timeout!r}: expected seconds, {otherwise}")


class JobState:
    """What all groups of one process share.

    Args:
        hosts: a number of each rank's host; empty: each has one of its own.

    Attributes:
        transport: of all ranks.
        max_message_bytes: longest message.
        timeout: seconds that one collective may take, None for no limit.
        all_reduce: algorithm of all-reduce, "auto" for one by size.
        give_up: ends the job with an error, at all ranks.
        check: raises where the job is over.
        process: that has the job.
        recorder: of this rank's collectives.
        prepared: collectives that were called before, under (communicator, call and the like).
        scratch: memory of collectives that are over, for those that come.
    """

    def __init__(
        self,
        transport: Runner,
        max_message_bytes: int,
        timeout: float | None,
        all_reduce: str,
        give_up: Callable[[CsaudError], None],
        check: Callable[[], None],
        recorder: Recorder | None = None,
        hosts: Sequence[int] = (),
    ) -> None:
        self._hosts = hosts
        self.transport = transport
        self.engine = Engine(transport, self.failed)
        self.max_message_bytes = max_message_bytes
        self.timeout = timeout
        self.all_reduce = all_reduce
        self._give_up = give_up
        self.check = check
        self.process = os.getpid()
        self.lock = threading.RLock()
        self.naming = threading.RLock()  # whoever makes a communicator
        self.prepared = Prepared()
        self.next_number = 1  # of a communicator; 0 is that of all ranks
        self.recorder = recorder or Recorder(_RECORDS, 0, 1, 0, "")
        self.scratch = Scratch(transport.pin)

    def host_of(self, rank: int) -> int:
        """A number of the host of a rank of the job, which ranks that share its memory have in common."""
        return self._hosts[rank] if self._hosts else rank

    @property
    def is_forked(self) -> bool:
        """This process was forked from the one that has the job."""
        return os.getpid() != self.process

    def check_process(self) -> None:
        """ConfigError where it is forked."""
        if self.is_forked:
            raise ConfigError(
                f"this communicator is of process {self.process}, from which this one was forked; its "
                "threads and connections are not here: fork before csaud.init, or start a new process"
            )

    def give_up(self, error: CsaudError) -> None:
        """This rank cannot go on: ends the job with `error`, here and, as far as they can be told, at all
        ranks."""
        self.failed(error)
        self._give_up(error)
        self.engine.fail(error)

    def limit(self, timeout: float | None) -> float:
        """Seconds that a call may take: its own argument, or the setting `timeout`; 0: no limit.

        Raises:
            ConfigError: the argument is no such time.
        """
        if timeout is None:
            return self.timeout or 0.0
        return seconds(timeout, "or 0 for no limit")

    def overdue(self, execution: Execution) -> CsaudError:
        """A collective took longer than it may: ends the job, and gives its error."""
        record = execution.record
        waits = self.waits().get(id(record), [])
        limit = record.limit if record is not None else 0.0
        whose = "setting timeout" if limit == (self.timeout or 0.0) else "argument timeout"
        error = Timeout(f"{record} took longer than {limit:g} s ({whose}){waits_in_words(waits)}")
        self.give_up(error)
        return error

    def failed(self, error: CsaudError) -> None:
        """The job has ended with `error`; what it was at is recorded, where that was asked for."""
        if self.recorder.fail(reason := f"{type(error).__name__}: {error}"):
            self.write_flight(reason)

    def write_flight(self, reason: str) -> None:
        """Write the flight record, where there is a folder for it."""
        if not self.recorder.folder:
            return
        try:
            path = self.recorder.write(reason, self.waits())
        except OSError as trouble:
            log.warning("the flight record cannot be written: %s", trouble)
        else:
            log.warning("the flight record of rank %d is in %s (csaud flight)", self.recorder.rank, path)

    def waits(self) -> dict[int, list[Wait]]:
        """What each collective that runs waits for, by id() of its record."""
        pending = self.transport.pending()
        found = {}
        for execution, awaited in self.engine.flying():
            if (record := execution.record) is not None:
                found[id(record)] = [
                    _wait_of(op, record.ranks, nbytes, pending.get(transfer, (0, 0)))
                    for transfer, op, nbytes in awaited
                ]
        return found


def waits_in_words(waits: Sequence[Wait]) -> str:
    """As the end of a sentence; "" where nothing is waited for."""
    if not waits:
        return ""
    rest = len(waits) - _NAMED
    more = f" and {rest} more" if rest > 0 else ""
    return f"; it waits for messages {', '.join(str(wait) for wait in waits[:_NAMED])}{more}"


def _wait_of(op: Send | Recv, ranks: Sequence[int], nbytes: int, progress: tuple[int, int]) -> Wait:
    sends = isinstance(op, Send)
    rank = ranks[op.dst if isinstance(op, Send) else op.src]
    return Wait(rank, sends, op.step, op.chunk, nbytes, *progress)
