"""One Parquet file a run: a row a flow, and in its metadata what was run and its totals."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from csaud_runs.errors import RunError
from csaud_topologies.base.usage import UsageError

from csaud_sim.experiment.code import Code, this_code
from csaud_sim.experiment.columns import FLOWS, NO_COLLECTIVE
from csaud_sim.experiment.measure import Measured, settings_text
from csaud_sim.experiment.model import Experiment

_END = b"PAR1"
_KEY = b"csaud"
_FORMAT = 2
ENDING = ".parquet"
DRAFT = ".part"
"""Of a file that is being written, after the number of the process."""


@dataclass(frozen=True)
class Run:
    """What one file holds.

    Attributes:
        experiment: its name.
        setting: of the sweep, in words.
        position: of the setting, among all of the sweep.
        seed: the run's.
        settings: the whole experiment, as it was run.
        totals: see `columns.TOTALS`.
        collectives: see `columns.COLLECTIVES`; empty where none were asked for.
        links: see `columns.LINKS`.
        code: that ran it; None: of a version that did not say.
    """

    path: Path
    experiment: str
    setting: str
    position: int
    seed: int
    settings: Mapping[str, Any]
    totals: Mapping[str, float]
    collectives: Mapping[str, Sequence[int]]
    links: Mapping[str, Sequence[Any]]
    code: Code | None

    def column(self, name: str, messages: bool = False) -> npt.NDArray[Any]:
        """Of the measured flows, or messages of collectives; nan where there is no value."""
        try:
            table = pq.read_table(self.path, columns=[name, "measured", "collective"])
        except (OSError, pa.ArrowException) as error:
            raise UsageError(f"{self.path}: damaged: {str(error).splitlines()[0]}") from None
        values: npt.NDArray[Any] = table[name].to_numpy()
        meant = (table["collective"].to_numpy() != NO_COLLECTIVE) == messages
        chosen: npt.NDArray[Any] = values[table["measured"].to_numpy() & meant]
        return chosen


def write_run(
    path: Path, measured: Measured, experiment: Experiment, setting: str, position: int = 0
) -> None:
    """Write a file in one step: it is there, whole, or not at all."""
    about = {
        "format": _FORMAT,
        "code": list(this_code()),
        "experiment": experiment.name,
        "setting": setting,
        "position": position,
        "seed": experiment.seed,
        "settings": json.loads(settings_text(experiment)),
        "totals": dict(measured.totals),
        "collectives": {name: values.tolist() for name, values in measured.collectives.items()},
        "links": dict(measured.links),
    }
    columns = {name: _array(measured.flows[name]) for name in FLOWS}
    fields = [pa.field(name, columns[name].type, metadata={"about": FLOWS[name]}) for name in columns]
    table = pa.Table.from_arrays(
        list(columns.values()), schema=pa.schema(fields, metadata={_KEY: json.dumps(about).encode()})
    )
    pq.write_table(table, _draft(path), compression="zstd")
    _draft(path).replace(path)


def is_there(path: Path) -> bool:
    """Whether it is a file that goes on to a Parquet file's end; of what cannot be read, too."""
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            file.seek(-min(len(_END), path.stat().st_size), os.SEEK_END)
            return file.read() == _END
    except OSError:
        return True


def is_of_this_code(path: Path) -> bool:
    """Whether code that does the same ran it, as far as both can tell; of what cannot be read, too: whoever
    reads it says so."""
    try:
        code = read_run(path).code
    except RunError:
        return True
    return code is not None and code.is_that_of(this_code())


def placed(path: Path, content: bytes) -> None:
    """The same of a file that was written elsewhere."""
    _draft(path).write_bytes(content)
    _draft(path).replace(path)


def _draft(path: Path) -> Path:
    return path.with_name(f"{path.name}.{os.getpid()}{DRAFT}")


def read_run(path: Path) -> Run:
    """RunError where the file is no run of this program."""
    try:
        metadata = pq.read_schema(path).metadata or {}
    except (OSError, pa.ArrowInvalid) as error:
        raise UsageError(f"{path}: not a Parquet file: {error}") from None
    if _KEY not in metadata:
        raise UsageError(f"{path}: not a run of csaud sim (no metadata of that name)")
    about = json.loads(metadata[_KEY])
    if about.get("format") != _FORMAT:
        raise UsageError(f"{path}: format {about.get('format')}, expected {_FORMAT}")
    return Run(
        path,
        about["experiment"],
        about["setting"],
        about["position"],
        about["seed"],
        about["settings"],
        about["totals"],
        about["collectives"],
        about["links"],
        Code(*about["code"]) if "code" in about else None,
    )


def _array(values: npt.NDArray[Any]) -> Any:
    if values.dtype.kind == "f":
        return pa.array(values, mask=np.isnan(values))
    return pa.array(values)
