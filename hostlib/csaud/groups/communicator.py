"""The communicator: the group of all ranks of a job, and the job's end."""

import logging
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self, SupportsIndex

from csaud.config.settings import Settings
from csaud.errors import Aborted, ConfigError, CsaudError, PeerUnreachable, RendezvousError, Timeout
from csaud.flight.recorder import Recorder
from csaud.flight.trace import write_trace
from csaud.groups.group import Group
from csaud.groups.inquiries import Inquiries
from csaud.groups.job_state import JobState
from csaud.groups.left_counters import leave_counters, leave_trace, wait_still
from csaud.groups.path_reports import PathReports
from csaud.groups.transport import Transport
from csaud.groups.watchdog import Watchdog, write_on_signal
from csaud.membership.agreement import OPERATIONS, Agreement
from csaud.membership.limits import seconds, whole
from csaud.membership.service import Service

log = logging.getLogger(__name__)

_WORLD = 0  # number of the communicator of all ranks
_QUIESCE_TIMEOUT = 10.0  # s
_EXIT_LINGER = 1.0  # s
_REFORM_TIMEOUT = 20.0  # s


def _over() -> "Communicator":
    raise ConfigError("the communicator is closed")


class Communicator(Group):
    """The group of all ranks; made by `csaud.init`. A context manager: leaving it closes it.

    Attributes:
        settings: the settings in force.
        mode: how the device sends, "raw", "udp" or "verbs".
        joined: ranks that have come with this epoch (`csaud.join`), the last ones.
        local_ranks: ranks that this one shares memory with: packets to them leave neither host nor user.

    Args:
        hosts: a number of each rank's host, which those that share memory have in common.
    """

    def __init__(
        self,
        transport: Transport,
        membership: Service,
        rank: int,
        size: int,
        settings: Settings,
        mode: str,
        again: Callable[[], "Communicator"],
        epoch: int = 0,
        local_ranks: tuple[int, ...] = (),
        hosts: Sequence[int] = (),
    ) -> None:
        job = JobState(
            transport,
            transport.max_message_bytes,
            settings.timeout or None,
            settings.all_reduce,
            self._give_up,
            self._check_open,
            Recorder(settings.flight_records, rank, size, epoch, settings.flight_dir),
            hosts,
        )
        super().__init__(job, _WORLD, range(size), rank)
        self.settings = settings
        self.mode = mode
        self.local_ranks = local_ranks
        table = membership.table
        self.joined = range(table.members, size) if table.generation > 0 else range(0)
        self._transport = transport
        self._membership = membership
        self._again = again
        self._lock = job.lock
        self._quiesced = 0
        self._closed = False
        self._reports: PathReports | None = None
        self._watchdog = Watchdog(job, Inquiries(transport, job.recorder), settings.warn_after)
        self._watchdog.start()
        if settings.flight_dir:
            write_on_signal()

    @property
    def transport(self) -> Transport:
        """What carries the messages, for measurements."""
        return self._transport

    def stats(self) -> dict[str, Any]:
        """This rank's packet counters by name (`csaud._core.STATS_HELP`).

        Lists by path id are `tx_path` (DATA copies), `tx_path_lost` (those sent again), `tx_path_ecn` (marks
        that receivers told of) and `rx_path_ecn` (DATA that came marked).
        """
        self._job.check_process()
        return self._transport.stats()

    def trace(self, path: str | os.PathLike[str]) -> None:
        """Write this rank's latest collectives (setting `flight_records`) as a trace for ui.perfetto.dev or
        chrome://tracing: when each began and ended, and when the application waited for it.

        Raises:
            OSError: it cannot be written.
        """
        write_trace(Path(path), self._job.recorder.trace())

    def spans(self) -> list[dict[str, Any]]:
        """When this rank's latest calls (setting `flight_records`) ran, and when they were waited for.

        Rows of `communicator`, `number`, `peer` (-1: a collective), `started`, `ended`, and `waited`: pairs
        of begin and end, in seconds since 1970 by this machine's clock. What runs is left out.
        """
        return self._job.recorder.spans()

    def report_paths(self, ipv4: str) -> None:
        """Tell the controller (setting `controller`) of this rank's paths until close(); see PathReports.

        Args:
            ipv4: this rank's address, by which the controller knows the host.
        """
        settings = self.settings
        self._reports = PathReports(
            self._transport, self.rank, ipv4, settings.paths, settings.controller, settings.report_interval
        )
        self._reports.start()

    @property
    def denied_paths(self) -> frozenset[int]:
        """Paths that the controller denies, as it said last; empty where no controller is set."""
        return frozenset() if self._reports is None else self._reports.denied

    def deny_path(self, path: int, denied: bool = True) -> None:
        """Send no DATA on a path from now on, or use it again.

        Where a controller is set, what it says of denied paths replaces this.

        Raises:
            ConfigError: there is no such path (setting `paths`).
        """
        self._job.check_process()
        if not isinstance(path, SupportsIndex) or path not in range(self.settings.paths):
            raise ConfigError(f"deny_path: path {path!r} is not one of the {self.settings.paths} paths")
        self._transport.deny_path(path, denied)

    def flow_times(self) -> list[float]:
        """Seconds that each received message took, in order of completion; messages without payload left
        out."""
        self._job.check_process()
        return self._transport.flow_times()

    def quiesce(self, timeout: float = _QUIESCE_TIMEOUT) -> None:
        """Wait until no rank has anything unacknowledged or under way; then counters stand still.

        A collective call, but over the membership's connections: it adds no packet to the counters.

        Args:
            timeout: seconds.

        Raises:
            Timeout: the network was not quiet in that time, or ranks did not call it.
        """
        timeout = seconds(timeout, "quiesce")
        with self._lock:
            self._check_open()
            self._quiesced += 1
            if not self._transport.wait_quiescent(timeout):
                raise Timeout(f"rank {self.rank} was not quiet within {timeout:g} s")
            try:
                self._membership.arrive(f"quiesce {self._quiesced}", timeout)
            except RendezvousError as error:
                raise Timeout(f"quiesce: {error}") from None
            # What a slower rank still asked of us while it became quiet.
            if not self._transport.wait_quiescent(timeout):
                raise Timeout(f"rank {self.rank} was not quiet within {timeout:g} s")

    def abort(self) -> None:
        """End the job: the peers' collectives raise Aborted at once. The communicator is of no use
        afterwards."""
        self._abort("called abort()")

    @property
    def door(self) -> str:
        """ "address:port" where newcomers find this rank; what they give to `csaud.join`."""
        return self._membership.table.cards[self.rank].door

    @property
    def doors(self) -> list[str]:
        """Those of all ranks."""
        return [card.door for card in self._membership.table.cards]

    @property
    def newcomers(self) -> int:
        """How many processes wait at this rank's door for the next epoch; ranks may see different numbers."""
        return self._membership.newcomers

    @property
    def failed(self) -> frozenset[int]:
        """Ranks that this rank knows to be gone."""
        failure = self._transport.failure
        return frozenset({failure.rank} if isinstance(failure, PeerUnreachable) else ()) - {self.rank}

    def reform(self, timeout: float = _REFORM_TIMEOUT) -> "Communicator":
        """Go on in the job's next epoch: with the ranks that are left and call this, too, and with newcomers
        that wait (`csaud.join`).

        At most one group goes on, and all its members agree on who is in it: more than half of this epoch's
        ranks, or exactly half with rank 0, unless the setting `arbiter` says otherwise. Packets of this epoch
        that are still under way are counted (`rx_stale_epoch`) and dropped; ranks are numbered anew, in their
        old order, newcomers last. This communicator is closed; groups that were split off it are of no
        further use.

        Args:
            timeout: seconds, after which this call has ended in any case; ranks that are silent for half of
                it are left out. Longer than it takes all survivors to notice the failure (`dead_after`).

        Raises:
            NoQuorum: too few ranks were met in time. This communicator is closed then, too; whoever wants to
                go on joins those that have (`csaud.join`), or starts a new job.
            Evicted: the others have gone on without this rank.
            ConfigError: the communicator is closed, or `timeout` is no time.
        """
        return self._next(True, seconds(timeout, "reform"))

    def shrink(self, timeout: float = _REFORM_TIMEOUT) -> "Communicator":
        """`reform()` that lets no newcomer in, as MPI's MPIX_Comm_shrink. Where a rank calls this, newcomers
        wait on."""
        return self._next(False, seconds(timeout, "shrink"))

    def agree(self, value: int, op: str = "and", timeout: float = _REFORM_TIMEOUT) -> Agreement:
        """Agree on a value and on who has failed, also after a failure, as MPI's MPIX_Comm_agree.

        A collective call over the membership's connections, not over the fabric; the communicator stays what
        it is. Every rank that returns has the same result; the rule is that of `reform()`.

        Args:
            value: this rank's, a whole number of at most 8,192 bits.
            op: how values are combined: "and", "or" (bits), "min" or "max".
            timeout: as for `reform()`.

        Returns:
            Agreement(value, failed): the combined value, and the ranks that took no part.

        Raises:
            NoQuorum, Evicted: as `reform()`; the communicator can still be reformed after the first.
            ProtocolError: ranks named different operations.
            ConfigError: the communicator is closed, or an argument cannot be.
        """
        if op not in OPERATIONS:
            raise ConfigError(f"agree: op {op!r}: expected one of {', '.join(OPERATIONS)}")
        value, timeout = whole(value, "agree"), seconds(timeout, "agree")
        with self._lock:
            self._check_not_closed()
        return self._membership.agree(value, op, self.failed, timeout)

    def _next(self, admit: bool, timeout: float) -> "Communicator":
        with self._lock:
            self._check_not_closed()
            failed = self.failed
            if self._transport.failure is None:  # the others may need what we still owe them
                self._transport.wait_quiescent(self.settings.close_timeout)
            self._closed = True
            again, self._again = self._again, _over
            self._stop_reports()
            broken = self._transport.failure is not None
        told = False
        try:
            self._membership.next(failed, admit, timeout)
            told = True  # those that go on know, while until then this rank told who did not
        except BaseException:
            self._membership.close()
            raise
        finally:
            self._transport.stop(told)
            self._leave_counters("failed" if broken else "reformed")
        return again()

    def close(self) -> None:
        """Leave. Waits (setting close_timeout) for the other ranks, who may still need an acknowledgement
        of ours.

        Never raises for what other ranks do; may be called twice. In a process that was forked it does
        nothing.

        Raises:
            DeviceError: the device had failed, which nobody had seen; all is closed then, too.
        """
        if self._job.is_forked:
            return
        with self._lock:
            if self._closed:
                return
            self._closed = True
            try:
                if self._transport.failure is None:
                    self._part()
            finally:
                self._end("closed")

    def stop_at_exit(self) -> None:
        """For an interpreter that ends without close(): settle what was sent, then stop; peers are not told.

        Those that wait for this rank find it unreachable, as after a crash, and the others are not disturbed.
        """
        if self._job.is_forked:
            return
        with self._lock:
            if not self._closed:
                self._closed = True
                try:
                    if self._transport.failure is None:
                        self._transport.wait_quiescent(_EXIT_LINGER)
                        if self.settings.stats_dir:
                            wait_still(self._transport, _EXIT_LINGER)
                except CsaudError as error:  # which nobody is there to catch
                    log.warning("rank %d: %s", self.rank, error)
                self._end("ended")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            what = str(error).partition("\n")[0]
            self._abort(f"left by {type(error).__name__}{': ' if what else ''}{what}")
        self.close()

    def _abort(self, why: str) -> None:
        if self._job.is_forked:
            return
        with self._lock:
            if not self._closed:
                self._transport.give_up(Aborted(f"rank {self.rank} {why}", self.rank))

    def _end(self, how: str) -> None:
        """Nothing of it is left; `how`: where it did not fail."""
        self._stop_reports()
        self._transport.stop()
        self._again = _over  # it had the device
        self._leave_counters("failed" if self._transport.failure is not None else how)
        self._membership.close()

    def _stop_reports(self) -> None:
        self._watchdog.stop()
        if self._reports is not None:
            self._reports.stop()

    def _part(self) -> None:
        timeout = self.settings.close_timeout
        if not self._transport.wait_quiescent(timeout):
            log.warning("rank %d closes with packets unacknowledged", self.rank)
        try:
            self._membership.arrive("close", timeout)
        except RendezvousError as error:
            # The others ended otherwise, or take their time. All that we sent has been acknowledged.
            log.info("rank %d closes alone: %s", self.rank, error)
            return
        if self.settings.stats_dir:
            wait_still(self._transport, timeout)
            with suppress(RendezvousError):  # or an answer of the slowest to the fastest would not be counted
                self._membership.arrive("counted", timeout)

    def _leave_counters(self, how: str) -> None:
        if self.settings.trace_dir:
            leave_trace(self.settings.trace_dir, self._job.recorder)
        if self.settings.stats_dir:
            leave_counters(self.settings.stats_dir, self._transport, self._job.recorder, how)

    def _give_up(self, reason: CsaudError) -> None:
        if isinstance(reason, Aborted) and reason.rank is None:
            reason.rank = self.rank
        self._transport.give_up(reason)

    def _check_not_closed(self) -> None:
        self._job.check_process()
        if self._closed:
            raise ConfigError("this communicator is closed")

    def _check_open(self) -> None:
        self._check_not_closed()
        if self._transport.failure is not None:
            raise self._transport.failure
