"""Flight records of several ranks put together: who lags, who waits for whom, who called something else."""

import dataclasses
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from csaud.errors import ConfigError
from csaud.flight.record import Call, Wait
from csaud.flight.recorder import VERSION

Row = dict[str, Any]


@dataclasses.dataclass(frozen=True, slots=True)
class Finding:
    """One sentence about a communicator.

    Attributes:
        kind: "differ" (unlike calls under one number), "lags" (ranks that have not called what others are
            in), "waits" (what a rank waits for) or "even" (all ranks have ended the same).
        ranks: of the job, that it is about.
    """

    communicator: int
    kind: str
    ranks: tuple[int, ...]
    text: str


def read(folder: Path) -> list[Row]:
    """The records of the newest epoch in `folder`, by rank.

    Raises:
        ConfigError: there are none, or one cannot be read.
    """
    if not folder.is_dir():
        raise ConfigError(f"{folder} is not a folder")
    dumps = [_read(path) for path in sorted(folder.glob("epoch-*-rank-*.json"))]
    if not dumps:
        raise ConfigError(f"{folder} has no flight records (epoch-N-rank-N.json); see setting flight_dir")
    newest = max(dumps, key=lambda dump: float(dump["time"]))["epoch"]
    return sorted((dump for dump in dumps if dump["epoch"] == newest), key=lambda dump: int(dump["rank"]))


def _read(path: Path) -> Row:
    try:
        dump = json.loads(path.read_text())
        if dump["version"] != VERSION:
            raise ConfigError(f"{path}: version {dump['version']}, expected {VERSION}")
        float(dump["time"]), int(dump["rank"]), range(dump["world"])
        for key in ("epoch", "host", "pid", "reason"):
            dump[key]
        for row in dump["collectives"]:
            Call(**row["call"])
            for key in ("communicator", "number", "ranks", "peer", "sends", "state", "ended"):
                row[key]
            for wait in row["waits_for"]:
                Wait(**wait)
    except (OSError, ValueError, TypeError, KeyError) as error:
        if isinstance(error, ConfigError):
            raise
        raise ConfigError(f"{path} is no flight record: {error!r}") from None
    return dict(dump)


def missing(dumps: Sequence[Row]) -> list[int]:
    """Ranks of which there is no record."""
    return sorted(set(range(dumps[0]["world"])) - {dump["rank"] for dump in dumps})


def findings(dumps: Sequence[Row]) -> list[Finding]:
    """What the records say of each communicator, the cause before what follows from it."""
    # Groups of one split() have the same number.
    latest: defaultdict[tuple[int, tuple[int, ...]], dict[int, list[Row]]] = defaultdict(dict)
    for dump in dumps:
        for row in dump["collectives"]:
            if row["peer"] < 0:
                key = row["communicator"], tuple(row["ranks"])
                latest[key].setdefault(dump["rank"], []).append(row)
    groups = Counter(comm for comm, _ in latest)
    found = []
    for (comm, ranks), rows in sorted(latest.items()):
        among = f"among {_names(ranks)}: " if groups[comm] > 1 else ""
        for finding in _of_communicator(comm, rows, dumps):
            found.append(dataclasses.replace(finding, text=among + finding.text))
    return [*found, *_of_transfers(dumps)]


def _of_communicator(comm: int, rows: dict[int, list[Row]], dumps: Sequence[Row]) -> Iterator[Finding]:
    yield from _differing(comm, rows)
    members = {rank for of_rank in rows.values() for rank in of_rank[-1]["ranks"]}
    present = members & {dump["rank"] for dump in dumps}
    reached = {rank: rows[rank][-1]["number"] if rank in rows else -1 for rank in present}
    front = max(reached.values())
    behind = sorted(rank for rank in present if reached[rank] < front)
    ahead = next(row for of_rank in rows.values() for row in of_rank if row["number"] == front)
    for rank in behind:
        row = rows[rank][-1] if rank in rows else None
        state = "called nothing" if row is None else f"{_place(row)} {_is(row)}"
        waiting = sorted(r for r in present if reached[r] == front)
        text = f"rank {rank} lags: {state}; {_names(waiting)} called {_place(ahead)}"
        yield Finding(comm, "lags", (rank,), text)
    running = [(rank, row) for rank, of_rank in sorted(rows.items()) for row in of_rank if not row["ended"]]
    for rank, row in running:
        yield Finding(comm, "waits", (rank,), f"rank {rank}: {_place(row)} {_is(row)}{_waits(row)}")
    if not behind and not running:
        yield Finding(
            comm, "even", tuple(sorted(present)), f"{_names(sorted(present))} ended {_place(ahead)}"
        )


def _differing(comm: int, rows: dict[int, list[Row]]) -> Iterator[Finding]:
    by_number: defaultdict[int, dict[int, Call]] = defaultdict(dict)
    for rank, of_rank in rows.items():
        for row in of_rank:
            by_number[row["number"]][rank] = Call(**row["call"])
    for number, calls in sorted(by_number.items()):
        if len(set(calls.values())) > 1:
            kinds = sorted(set(calls.values()), key=str)
            each = [f"{call} at {_names(sorted(r for r in calls if calls[r] == call))}" for call in kinds]
            text = f"number {number} is not the same everywhere: {'; '.join(each)}"
            yield Finding(comm, "differ", tuple(sorted(calls)), text)
            return  # whatever comes after it follows from it


def _of_transfers(dumps: Sequence[Row]) -> Iterator[Finding]:
    for dump in dumps:
        for row in dump["collectives"]:
            if row["peer"] >= 0 and not row["ended"]:
                way = "to" if row["sends"] else "from"
                what = f"{Call(**row['call'])} {way} rank {row['peer']}, number {row['number']},"
                text = f"rank {dump['rank']}: {what} {_is(row)}{_waits(row)}"
                yield Finding(row["communicator"], "waits", (dump["rank"],), text)


def _place(row: Row) -> str:
    return f"{Call(**row['call'])}, number {row['number']},"


def _is(row: Row) -> str:
    return {"ended": "has ended", "failed": "failed", "running": "runs"}[row["state"]]


def _waits(row: Row) -> str:
    waits = [str(Wait(**wait)) for wait in row["waits_for"]]
    return f", waiting for messages {', '.join(waits)}" if waits else ""


def _names(ranks: Sequence[int]) -> str:
    words = ", ".join(str(rank) for rank in ranks)
    return f"rank {words}" if len(ranks) == 1 else f"ranks {words}"
