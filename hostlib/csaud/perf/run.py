"""One rank's part of a measurement: joins the job, runs the plan, reports where it is this rank's turn."""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import csaud
from csaud.errors import ConfigError, CsaudError
from csaud.groups.communicator import Communicator
from csaud.network.addresses import resolve, with_port
from csaud.perf import collective, pair, report
from csaud.perf.plan import PAIRS, Plan
from csaud.perf.row import Row


@dataclasses.dataclass(frozen=True, slots=True)
class Output:
    """Files to write besides the lines on the terminal."""

    json: Path | None = None
    csv: Path | None = None
    plot: Path | None = None

    def save(self, rows: list[Row]) -> None:
        """Write what was asked for.

        Raises:
            CsaudError: a file cannot be written.
        """
        if self.json is not None:
            report.save_json(rows, self.json)
        if self.csv is not None:
            report.save_csv(rows, self.csv)
        if self.plot is not None:
            report.draw(rows, self.plot)


def rank(plan: Plan, output: Output, environ: Mapping[str, str] | None = None) -> list[Row]:
    """Join the job of the environment and run the plan with its other ranks.

    Raises:
        CsaudError: the job or the plan cannot be, or the transport failed.
    """
    with csaud.init(environ=environ) as comm:
        return _measure(comm, plan, output)


def client(host: str, port: int, plan: Plan, output: Output) -> list[Row]:
    """Measure to the server at `host`, which needs to know nothing beforehand.

    Raises:
        CsaudError: see `rank`.
    """
    address = resolve(host, "HOST")
    print(f"waits for csaud perf server at {with_port(address, port)}", file=sys.stderr, flush=True)
    with csaud.init(environ=_pair_environment(address, port, pair.CLIENT)) as comm:
        comm.send_sized(np.frombuffer(plan.to_json().encode(), np.uint8).astype(np.int32), pair.SERVER)
        return _measure(comm, plan, output)


def server(bind: str, port: int) -> None:
    """Be the other end of one client's measurement.

    Raises:
        CsaudError: see `rank`.
    """
    address = resolve(bind, "--bind")
    print(f"waits for csaud perf client at {with_port(address, port)}", file=sys.stderr, flush=True)
    with csaud.init(environ=_pair_environment(address, port, pair.SERVER)) as comm:
        text = bytes(comm.recv_sized(pair.CLIENT, np.int32).astype(np.uint8)).decode()
        _measure(comm, Plan.from_json(text), Output())


def _measure(comm: Communicator, plan: Plan, output: Output) -> list[Row]:
    pairwise = plan.test in PAIRS
    if pairwise and comm.size != 2:
        raise ConfigError(f"{plan.test} is between two ranks, this job has {comm.size}")
    if comm.size < 2:
        raise ConfigError(
            f"{plan.test} needs at least two ranks: start it with torchrun or mpirun, or use --ranks"
        )
    reporter = pair.CLIENT if pairwise else collective.ROOT

    def show(row: Row) -> None:
        print(report.line(row), flush=True)

    if comm.rank == reporter:
        print(report.heading(plan, comm.size, comm.mode, bool(comm.local_ranks)), flush=True)
    measure = pair.measure if pairwise else collective.measure
    rows = measure(comm, plan, show)
    if comm.rank == reporter:
        output.save(rows)
        wrong = sum(row.wrong or 0 for row in rows)
        if wrong:
            raise CsaudError(f"{wrong} elements are wrong")
    return rows


def _pair_environment(address: str, port: int, rank: int) -> dict[str, str]:
    place: dict[str, Any] = {"RANK": rank, "WORLD_SIZE": 2, "MASTER_ADDR": address, "MASTER_PORT": port}
    return {**os.environ, **{name: str(value) for name, value in place.items()}}
