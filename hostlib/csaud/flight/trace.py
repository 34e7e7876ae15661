"""Collectives as a trace in Chrome's format, which ui.perfetto.dev and chrome://tracing show.

Each rank is a process, each communicator of it a track or, where collectives overlap, several; what the
application waited for has a track of its own. Times are of the ranks' own clocks, since 1970.
Source: "Trace Event Format", complete events.
"""

import json
import socket
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from csaud_runs.whole import write_whole

from csaud.errors import ConfigError
from csaud.flight.record import Record

_MICRO = 1e-3  # ns
_LANES = 1000  # tracks of a communicator
_WAITING = (1 << 16) * _LANES  # track, above those of any communicator
SUFFIX = ".trace.json"


def events(records: Iterable[Record], rank: int, offset: int) -> list[dict[str, Any]]:
    """Those of one rank; of what runs nothing.

    Args:
        offset: ns from time.monotonic_ns() to 1970.
    """
    over = sorted((record for record in records if record.ended), key=lambda record: record.started)
    found = [_named("process_name", rank, 0, f"rank {rank} on {socket.gethostname()}")]
    busy: dict[int, list[int]] = {}  # by communicator: until when each of its tracks is
    for record in over:
        lanes = busy.setdefault(record.comm, [])
        lane = next((i for i, until in enumerate(lanes) if until <= record.started), len(lanes))
        track = record.comm * _LANES + lane
        if lane == len(lanes):
            lanes.append(0)
            found.append(_named("thread_name", rank, track, f"communicator {record.comm}"))
        lanes[lane] = record.ended
        details = {"number": record.number, "bytes": record.nbytes, "call": str(record.call)}
        if record.peer >= 0:
            details |= {"to" if record.sends else "from": record.peer}
        name = record.call.name
        found.append(_event(name, "collective", rank, track, record.started, record.ended, offset, details))
        for begin, end in record.waited:
            found.append(_event(f"wait: {name}", "wait", rank, _WAITING, begin, end, offset, {}))
    if any(record.waited for record in over):
        found.append(_named("thread_name", rank, _WAITING, "the application waits"))
    return found


def write_trace(path: Path, found: Sequence[dict[str, Any]]) -> None:
    """Write a trace, in one go. OSError where that cannot be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, json.dumps({"displayTimeUnit": "ms", "traceEvents": list(found)}) + "\n")


def merge_traces(folder: Path, path: Path) -> int:
    """Write the traces of all ranks in `folder` as one; how many they were.

    Raises:
        ConfigError: there are none, or one cannot be read.
    """
    files = sorted(folder.glob(f"*{SUFFIX}"))
    if not files:
        raise ConfigError(f"{folder}: no traces (*{SUFFIX}); ranks leave them with the setting trace_dir")
    found: list[dict[str, Any]] = []
    for file in files:
        try:
            found += json.loads(file.read_text())["traceEvents"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ConfigError(f"{file}: it cannot be read as a trace: {error!r}") from None
    write_trace(path, found)
    return len(files)


def _event(
    name: str, category: str, rank: int, track: int, begin: int, end: int, offset: int,
    details: dict[str, Any],
) -> dict[str, Any]:  # fmt: skip
    return {
        "name": name, "cat": category, "ph": "X", "pid": rank, "tid": track,
        "ts": (begin + offset) * _MICRO, "dur": (end - begin) * _MICRO, "args": details,
    }  # fmt: skip


def _named(what: str, rank: int, track: int, name: str) -> dict[str, Any]:
    return {"name": what, "ph": "M", "pid": rank, "tid": track, "args": {"name": name}}
