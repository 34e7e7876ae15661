"""Runs ranks of a job, here or in a guest: imports the package once and forks a process for each rank.

Reads requests as lines of JSON, {"ranks": [{"environ", "settings"}, ...], "task", "arguments"}, and answers
each with a line: a list of what each rank's task returned, or {"error": its traceback}.
"""

import contextlib
import ctypes
import dataclasses
import hashlib
import itertools
import json
import os
import signal
import struct
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

import csaud
import csaud.start.init
import numpy as np
import numpy.typing as npt
from csaud.collectives.reference import reference_sum
from csaud.testing import assert_bit_equal

MOST_TURNS = 300
# A rank with this variable does without CAP_NET_RAW.
NO_RAW_SOCKETS = "CSAUD_TEST_NO_RAW_SOCKETS"
CAPABILITY_VERSION_3, CAP_NET_RAW = 0x20080522, 13  # linux/capability.h

Floats = npt.NDArray[np.float32]


def part_of(rank: int, seed: int, length: int) -> Floats:
    """What a rank brings to a collective."""
    return np.random.default_rng([seed, rank]).standard_normal(length).astype(np.float32)


def digest(array: npt.NDArray[Any]) -> str:
    return hashlib.sha256(array.tobytes()).hexdigest()


def all_reduce(comm: csaud.Communicator, seed: int, lengths: list[int]) -> dict[str, Any]:
    """One of each length; digests of the sums, and the time they took after a first meeting."""
    arrays = [part_of(comm.rank, seed + index, length) for index, length in enumerate(lengths)]
    comm.barrier()
    started = time.monotonic()
    for array in arrays:
        comm.all_reduce(array)
    seconds = time.monotonic() - started
    return {"digests": [digest(array) for array in arrays], "seconds": seconds}


def every_kind(comm: csaud.Communicator, seed: int, length: int) -> dict[str, Any]:
    """One of each collective; digests of the results by name."""
    mine = part_of(comm.rank, seed, length)
    results: dict[str, npt.NDArray[Any]] = {}
    results["all_reduce"] = mine.copy()
    comm.all_reduce(results["all_reduce"])
    results["all_gather"] = comm.all_gather(mine)
    results["reduce_scatter"] = comm.reduce_scatter(mine)
    results["all_to_all"] = comm.all_to_all(np.stack([mine + np.float32(peer) for peer in range(comm.size)]))
    results["broadcast"] = mine.copy()
    comm.broadcast(results["broadcast"], 0)
    comm.barrier()
    return {"digests": {name: digest(array) for name, array in results.items()}}


def stream(comm: csaud.Communicator, seed: int, length: int, count: int) -> dict[str, Any]:
    """Rank 0 sends `count` messages of `length` floats to rank 1, all under way at once."""
    if comm.rank == 0:
        arrays = [part_of(0, seed + index, length) for index in range(count)]
    else:
        arrays = [np.zeros(length, dtype=np.float32) for _ in range(count)]
    comm.barrier()
    started = time.monotonic()
    if comm.rank == 0:
        handles = [comm.send(array, 1, wait=False) for array in arrays]
    else:
        handles = [comm.recv(array, 0, wait=False) for array in arrays]
    for handle in handles:
        handle.wait()
    comm.barrier()
    return {"digests": [digest(array) for array in arrays], "seconds": time.monotonic() - started}


def flap(comm: csaud.Communicator, seed: int, length: int, count: int, interface: str) -> dict[str, Any]:
    """The stream, which rank 0 begins while its interface is down; that breaks its queue pair, which is made
    as new and breaks again, twice before the interface comes up."""
    arrays = [part_of(0, seed + index, length) for index in range(count)]
    comm.barrier()
    if comm.rank == 0:
        neighbours = run("ip", "neighbour", "show", "dev", interface).split()
        run("ip", "link", "set", interface, "down")
        handles = [comm.send(array, 1, wait=False) for array in arrays]
        while comm.stats()["device_restarts"] < 2:
            pass
        run("ip", "link", "set", interface, "up")
        # The kernel forgets them with the link.
        run("ip", "neighbour", "replace", neighbours[0], "lladdr", neighbours[2], "dev", interface)
    else:
        for array in arrays:
            array[:] = 0
        handles = [comm.recv(array, 0, wait=False) for array in arrays]
    for handle in handles:
        handle.wait()
    comm.barrier()
    return {"digests": [digest(array) for array in arrays]}


def reform(
    comm: csaud.Communicator,
    seed: int,
    length: int,
    doomed: list[int],
    turns: int,
    stale: int,
    reform_s: float,
) -> dict[str, Any]:
    """All-reduces, in the middle of which the doomed ranks are killed; the others go on without them, for
    `turns` all-reduces or longer, until together they have seen `stale` packets of the epoch before. They
    have `reform_s` seconds to meet."""
    try:
        for turn in itertools.count():
            check_sum(comm, seed + turn, length)
            if turn > 1 and comm.rank in doomed:
                comm.all_reduce(part_of(comm.rank, seed + turn + 1, length), wait=False)  # it may get through
                os.kill(os.getpid(), signal.SIGKILL)
    except csaud.PeerUnreachable as error:
        lost = error.rank
    comm = comm.reform(reform_s)
    turn = 0
    for turn in range(1, MOST_TURNS):
        check_sum(comm, seed + turn, length)
        seen = np.array([comm.stats()["rx_stale_epoch"]])
        comm.all_reduce(seen)
        if turn >= turns and seen[0] >= stale:
            break
    comm.barrier()
    return {"comm": comm, "lost": lost, "rank": comm.rank, "size": comm.size, "turns": turn}


def check_sum(comm: csaud.Communicator, seed: int, length: int) -> None:
    """One all-reduce; the same bits as the reference."""
    array = part_of(comm.rank, seed, length)
    comm.all_reduce(array)
    assert_bit_equal(array, reference_sum([part_of(rank, seed, length) for rank in range(comm.size)]))


def broken(
    comm: csaud.Communicator, seed: int, length: int, turns: int, at: int, command: list[str]
) -> dict[str, Any]:
    """All-reduces, before the third of which the rank `at` runs a command that its device will not like, and
    does not wait for it. What ended them, at all ranks."""
    try:
        for turn in range(turns):
            if turn == 2 and comm.rank == at:
                subprocess.Popen(command)
            check_sum(comm, seed + turn, length)
    except csaud.CsaudError as error:
        return {"ended": type(error).__name__, "why": str(error)}
    return {}


def run(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


TASKS: dict[str, Callable[..., dict[str, Any]]] = {
    "all_reduce": all_reduce,
    "every_kind": every_kind,
    "stream": stream,
    "flap": flap,
    "reform": reform,
    "broken": broken,
}


def diagnose() -> dict[str, Any]:
    """What `csaud doctor --json` prints; no rank of a job."""
    from csaud.config import reading
    from csaud.doctor import examine as doctor

    findings = doctor.examine(reading.load({"rx_buffer": 4 << 20}, {}))
    return {"works": doctor.works(findings), "findings": [dataclasses.asdict(one) for one in findings]}


def give_up_raw_sockets() -> None:
    """Go on without CAP_NET_RAW."""
    libc = ctypes.CDLL(None, use_errno=True)
    header, sets = struct.pack("=Ii", CAPABILITY_VERSION_3, 0), ctypes.create_string_buffer(24)
    libc.capget(header, sets)
    effective, *others = struct.unpack("=6I", sets)
    sets.raw = struct.pack("=6I", effective & ~(1 << CAP_NET_RAW), *others)
    if libc.capset(header, sets) != 0:
        raise OSError(ctypes.get_errno(), "capset")


def run_rank(environ: dict[str, str], settings: dict[str, Any], task: str, arguments: dict[str, Any]) -> Any:
    with contextlib.ExitStack() as stack:
        os.environ.update(environ)
        if NO_RAW_SOCKETS in environ:
            give_up_raw_sockets()
        comm = stack.enter_context(csaud.init(**settings))
        result = TASKS[task](comm, **arguments)
        if "comm" in result:  # another one, with which the task went on
            comm = stack.enter_context(result.pop("comm"))
        if "ended" not in result:
            comm.quiesce()
        result["stats"] = comm.stats()
        result["mode"] = comm.mode
    return result


def fork_rank(rank: dict[str, Any], request: dict[str, Any]) -> int:
    """A descriptor on which the child writes its result."""
    answer, far_end = os.pipe()
    if os.fork() != 0:
        os.close(far_end)
        return answer
    try:
        if request["task"] == "doctor":
            result = diagnose()
        else:
            result = run_rank(rank["environ"], rank["settings"], request["task"], request["arguments"])
    except BaseException:  # the child's traceback is its result
        result = {"error": traceback.format_exc()}
    with os.fdopen(far_end, "w") as pipe:
        json.dump(result, pipe)
    os._exit(0)


def main() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        answers = [fork_rank(rank, request) for rank in request["ranks"]]
        results = []
        for descriptor in answers:
            with os.fdopen(descriptor) as pipe:
                text = pipe.read()
            results.append(json.loads(text) if text else {"error": "the rank ended without a word"})
        while True:
            try:
                os.wait()
            except ChildProcessError:
                break
        print(json.dumps(results), flush=True)


if __name__ == "__main__":
    main()
