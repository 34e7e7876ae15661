"""From arrays to a job that goes on when workers die."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from csaud.errors import ConfigError
from csaud.groups.communicator import Communicator
from csaud.membership.limits import seconds
from csaud.recover.buckets import Buckets, check_mean
from csaud.recover.engine import Engine, Watch
from csaud.recover.job import Job
from csaud.recover.state import Arrays
from csaud.start.init import init, join

Array = npt.NDArray[Any]

JOIN = "CSAUD_RECOVER_JOIN"
DOORS = "CSAUD_RECOVER_DOORS"
BUCKET_BYTES = 4 << 20
TIMEOUT = 60.0  # s

AnyJob = TypeVar("AnyJob", bound=Engine)


def start(
    microbatches: int,
    parameters: Sequence[Array],
    state: Sequence[Array] = (),
    *,
    in_order: bool = True,
    doors: str = "",
    timeout: float = TIMEOUT,
    bucket_bytes: int = BUCKET_BYTES,
    watch: Watch | None = None,
    **settings: Any,
) -> Job:
    """Start a worker, or join the job that runs.

    Args:
        microbatches: of a step, of all workers together; it stays the same whoever dies.
        parameters: what is trained; a microbatch has a gradient of the shape and element type of each.
            Workers begin with those of rank 0.
        state: other arrays that a step changes, the same on all workers, such as momenta.
        in_order: gradients are added up in the order of their numbers, whoever computed them: the same bits
            as without deaths. Otherwise in whatever order is fastest.
        doors: "address:port" of members (`job.comm.door`), separated by commas, whose job this worker joins
            at the beginning of a step, or "@file" with such a list; empty: variable CSAUD_RECOVER_JOIN, and
            where that is empty, too, this worker starts the job with the others (`csaud.init`). Into the file
            that variable CSAUD_RECOVER_DOORS names, a job writes its members' doors, at each change of them.
        timeout: seconds within which those that live come together after a death; longer than any of them
            computes between two steps' reductions.
        bucket_bytes: what is reduced at a time, and kept or done again after a death.
        watch: called as watch(what, step): "reduce", "gather" and "commit" when that part of a reduction is
            under way; "shrink", "reform", "settle" and "state" of a recovery.
        **settings: as for `csaud.init`.

    Raises:
        ConfigError: an argument or a setting is wrong.
        RendezvousError: workers are missing; no door opened.
    """
    for array in [*parameters, *state]:
        if not isinstance(array, np.ndarray) or not array.flags.writeable:
            raise ConfigError("recover: parameters and state are arrays of numpy that can be written")
    for index, array in enumerate(parameters):
        check_mean(index, array.dtype, in_order)
    buckets = Buckets(
        [array.shape for array in parameters], [array.dtype for array in parameters], bucket_bytes
    )
    terms = {"state": len(state)} | {
        f"state {index}": f"{array.dtype} {array.shape}" for index, array in enumerate(state)
    }
    return enter(
        lambda comm, joined, file: Job(
            comm, joined, microbatches, buckets, buckets.make(), Arrays([*parameters, *state]),
            in_order=in_order, timeout=timeout, watch=watch, doors=file, terms=terms,
        ),
        doors, timeout, settings,
    )  # fmt: skip


def enter(
    make: Callable[[Communicator, bool, str], AnyJob], doors: str, timeout: float, settings: dict[str, Any]
) -> AnyJob:
    """Meet the other workers, or join them.

    Args:
        make: of the communicator, whether this worker joined, and the path of a file for doors.
        doors, timeout, settings: as for `start`.

    Raises:
        ConfigError, RendezvousError: as `start`.
    """
    timeout = seconds(timeout, "recover")
    doors = _doors(doors or os.environ.get(JOIN, ""))
    comm = join(doors, timeout=timeout, **settings) if doors else init(**settings)
    try:
        return make(comm, bool(doors), os.environ.get(DOORS, ""))
    except BaseException:
        comm.abort()
        comm.close()
        raise


def _doors(given: str) -> str:
    if not given.startswith("@"):
        return given
    try:
        return Path(given[1:]).read_text().strip()
    except OSError as error:
        raise ConfigError(f"recover: doors {given!r}: {error.strerror}") from None
