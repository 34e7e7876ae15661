"""What a rank has counted, left in a folder (setting stats_dir) for those who look when the job is over."""

import itertools
import json
import logging
import os
import socket
import time
from pathlib import Path
from typing import Any, Protocol

from csaud.flight.recorder import Recorder
from csaud.flight.trace import SUFFIX, write_trace

log = logging.getLogger(__name__)

VERSION = 1
_STILL_S = 0.25  # without a packet: longer than one stays in a fabric
_NANO = 1e-9
_numbers = itertools.count()  # a process may have one communicator after the other


class Counts(Protocol):
    """What is left; a Transport has it."""

    def stats(self) -> dict[str, Any]:
        """Counters by name."""

    def flow_times(self) -> list[float]:
        """Seconds of each message."""


def wait_still(counts: Counts, patience: float) -> None:
    """Wait until no packet comes any more, `patience` seconds at most: what was sent last is counted, too."""
    deadline = time.monotonic() + patience
    before = _received(counts)
    while time.monotonic() < deadline:
        time.sleep(_STILL_S)
        now = _received(counts)
        if now == before:
            return
        before = now


def leave_counters(folder: str, counts: Counts, recorder: Recorder, how: str) -> None:
    """Write what a communicator has counted into a file of its own in `folder`, in one go. A folder that
    cannot be written to is logged, no more: it is no reason for a job to fail.

    The file has `rank`, `world`, `epoch`, `host`, `pid`, `time`, `how` ("closed", "ended" without a close,
    "failed" or "reformed"), `stats`, `flow_times` and `spans` as the communicator's methods give them, and
    `all_reduces`: `communicator`, `number`, `bytes` and `seconds` of the latest ones (setting
    flight_records).
    """
    name = f"epoch-{recorder.epoch}-rank-{recorder.rank}-{os.getpid()}-{next(_numbers)}.json"
    contents = {
        "version": VERSION,
        "rank": recorder.rank,
        "world": recorder.world,
        "epoch": recorder.epoch,
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "time": time.time(),
        "how": how,
        "stats": counts.stats(),
        "flow_times": [round(took, 9) for took in counts.flow_times()],
        "spans": recorder.spans(),
        "all_reduces": [
            {
                "communicator": record.comm,
                "number": record.number,
                "bytes": record.nbytes,
                "seconds": round((record.ended - record.started) * _NANO, 9),
            }
            for record in recorder.ended("all_reduce")
        ],
    }
    try:
        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        draft = path / f"{name}.tmp"
        draft.write_text(json.dumps(contents) + "\n")
        draft.replace(path / name)
    except OSError as error:
        log.warning("rank %d leaves no counters in %s: %s", recorder.rank, folder, error)


def leave_trace(folder: str, recorder: Recorder) -> None:
    """Write a rank's trace into a file of its own in `folder`; as `leave_counters` where that cannot be."""
    name = f"epoch-{recorder.epoch}-rank-{recorder.rank}-{os.getpid()}{SUFFIX}"
    try:
        write_trace(Path(folder) / name, recorder.trace())
    except OSError as error:
        log.warning("rank %d leaves no trace in %s: %s", recorder.rank, folder, error)


def _received(counts: Counts) -> dict[str, Any]:
    return {name: value for name, value in counts.stats().items() if name.startswith("rx_")}
