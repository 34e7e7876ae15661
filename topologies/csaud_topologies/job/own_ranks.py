"""The processes of a user's own program: one a rank, shown line by line with the rank in front."""

from __future__ import annotations

import contextlib
import math
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from csaud_topologies.base.say import say
from csaud_topologies.base.signals import signal_name
from csaud_topologies.job.descendants import adopt_orphans, kill_descendants
from csaud_topologies.job.rank_output import RankLog, Screen

_LINE_MAX = 1 << 16  # of what comes without a line's end, as much is shown at once
_TELL_WITHIN_S = 10.0  # after the first failure: the others find a dead rank within 5 s, and say so
_END_WITHIN_S = 5.0  # after a signal
# Whoever kills us without a word takes the ranks along. No preexec_fn: gRPC does not survive the fork for it.
_WITH_US = ("setpriv", "--pdeathsig", "KILL", "--")


@dataclass
class OwnRank:
    """One rank."""

    rank: int
    host: str
    process: subprocess.Popen[bytes]
    log: RankLog
    readers: list[threading.Thread] = field(default_factory=list)
    status: int | None = None
    """As `Popen.returncode`; None while it runs."""

    @property
    def exit_status(self) -> int:
        """As a shell says it: 128 + n when it was ended by signal n."""
        assert self.status is not None
        return 128 - self.status if self.status < 0 else self.status

    @property
    def ended(self) -> str:
        """How it ended, in words."""
        assert self.status is not None
        if self.status < 0:
            return f"killed by {signal_name(-self.status)}"
        return f"exit status {self.status}"

    def signal(self, signum: signal.Signals) -> None:
        """To it and to all that it has started in its session."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signum)


class OwnRanks:
    """All processes of one job.

    Args:
        others: pids of our children that are none of the job's.
        deaths: how many ranks may fail while the others go on.
    """

    def __init__(self, command: Sequence[str], others: Callable[[], set[int]], deaths: int = 0) -> None:
        self.command = list(command)
        self._others = others
        self._deaths = deaths
        self._failed: list[OwnRank] = []  # in that order
        self._ending = False  # all are asked to end
        self.ranks: list[OwnRank] = []
        self.overdue_s: float | None = None
        """The time limit, once it has ended the job."""
        self._ended: queue.Queue[OwnRank] = queue.Queue()
        self._screen = Screen()

    @property
    def first_failed(self) -> OwnRank | None:
        """None as long as no more have failed than may."""
        return self._failed[0] if len(self._failed) > self._deaths else None

    def start(
        self, nodes: Any, hosts: Sequence[str], environment: Callable[[int], dict[str, str]], logs: Path
    ) -> None:
        """Start the command on each of `hosts`, in rank order; `environment` tells that of a rank."""
        adopt_orphans()
        for number, host in enumerate(hosts):
            process = nodes[host].popen(
                [*_WITH_US, *self.command],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment(number),
            )
            log = RankLog(logs / f"rank{number}.log", self._screen)
            rank = OwnRank(number, host, process, log)
            self.ranks.append(rank)
            for stream, to in ((process.stdout, sys.stdout.buffer), (process.stderr, sys.stderr.buffer)):
                reader = threading.Thread(target=self._read, args=(number, stream, to, log), daemon=True)
                rank.readers.append(reader)
                reader.start()
            threading.Thread(target=self._wait, args=(rank,), daemon=True).start()

    def _read(self, rank: int, stream: IO[bytes], to: IO[bytes], log: RankLog) -> None:
        while line := stream.readline(_LINE_MAX):
            log.write(line)
            self._screen.show(line, rank, to)

    def _wait(self, rank: OwnRank) -> None:
        rank.process.wait()
        self._ended.put(rank)

    def run(self, tick: Callable[[], None], limit_s: float | None = None) -> None:
        """Until all have ended; `tick` is called at least every 100 ms and may raise.

        After the first failure that is one too many the others have a while to end by themselves, then they
        are asked to, then killed. After `limit_s` seconds all are asked to at once.
        """
        steps = [(_TELL_WITHIN_S, signal.SIGTERM), (_END_WITHIN_S, signal.SIGKILL)]
        due: float | None = None
        deadline = math.inf if limit_s is None else time.monotonic() + limit_s
        while any(rank.status is None for rank in self.ranks):
            tick()
            self._take(0.1)
            if self.overdue_s is None and self.first_failed is None and time.monotonic() > deadline:
                self.overdue_s = limit_s
                self.end(signal.SIGTERM)
                return
            if self.first_failed is not None and steps:
                due = due or time.monotonic() + steps[0][0]
                if time.monotonic() > due:
                    self._signal(steps.pop(0)[1])
                    due = None
        self._finish()

    def _take(self, patience_s: float) -> None:
        try:
            rank = self._ended.get(timeout=patience_s)
        except queue.Empty:
            return
        rank.status = rank.process.returncode
        if rank.status:
            self._failed.append(rank)
            if len(self._failed) <= self._deaths and not self._ending:
                say(f"rank {rank.rank} ({rank.host}) failed: {rank.ended}; the others go on (--deaths)")

    def _signal(self, signum: signal.Signals) -> None:
        for rank in self.ranks:
            if rank.status is None:
                rank.signal(signum)

    def _finish(self) -> None:
        """End what ranks have left behind, in whatever session, and show the rest of what they said."""
        kill_descendants(self._others(), {rank.process.pid for rank in self.ranks}, _END_WITHIN_S)
        deadline = time.monotonic() + _END_WITHIN_S
        for rank in self.ranks:
            for reader in rank.readers:
                reader.join(max(0.0, deadline - time.monotonic()))
            rank.log.close()

    def end(self, signum: signal.Signals) -> None:
        """Pass on a signal that asks for the end; kill what is left after a while."""
        self._ending = True
        for each, patience_s in ((signum, _END_WITHIN_S), (signal.SIGKILL, _END_WITHIN_S)):
            self._signal(each)
            deadline = time.monotonic() + patience_s
            while any(rank.status is None for rank in self.ranks) and time.monotonic() < deadline:
                self._take(0.1)
        self._finish()

    def verdict(self) -> str | None:
        """What went wrong, in one line; None when all ended with status 0."""
        if self.overdue_s is not None:
            return f"the job was not done after {self.overdue_s:g} s (--time-limit) and was ended"
        failed = self.first_failed
        if failed is None:
            return None
        others = [f"{rank.rank} ({rank.ended})" for rank in self.ranks if rank.status and rank is not failed]
        then = f"; then rank{'s' * (len(others) > 1)} {', '.join(others)}" if others else ""
        return f"rank {failed.rank} ({failed.host}) failed first: {failed.ended}{then}"
