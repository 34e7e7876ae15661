"""What the ranks of a test job do: `python -m tests.hostlib.workers CASE JSON`, JSON lines on stdout.

Each case ends with an "end" event, also when a csaud error ends it; the tests read the events.
"""

import contextlib
import json
import mmap
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import csaud
import numpy as np
from csaud.collectives.reference import reference_sum
from csaud.testing import assert_bit_equal


def tell(event: str, **fields: Any) -> None:
    print(json.dumps({"event": event, **fields}), flush=True)


def gradient(rank: int, count: int, dtype: str, seed: int) -> np.ndarray:
    random = np.random.default_rng([seed, rank])
    if np.dtype(dtype).kind == "i":
        return random.integers(-(1 << 20), 1 << 20, count).astype(dtype)
    return (random.normal(size=count) * 10.0 ** random.integers(-4, 4, count)).astype(dtype)


def check_sum(comm: Any, count: int, dtype: str, seed: int) -> float:
    """One all-reduce, compared with the reference; its seconds."""
    data = gradient(comm.rank, count, dtype, seed)
    start = time.monotonic()
    comm.all_reduce(data)
    took = time.monotonic() - start
    expected = reference_sum([gradient(rank, count, dtype, seed) for rank in range(comm.size)])
    assert_bit_equal(data, expected, f"rank {comm.rank}, {count} x {dtype}, seed {seed}")
    return took


def sums(comm: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    """All-reduces of (count, dtype, repetitions)."""
    for count, dtype, repetitions in arguments["sums"]:
        for repetition in range(repetitions):
            check_sum(comm, count, dtype, seed=count + repetition)
    comm.barrier()
    comm.quiesce()
    return {"flows": len(comm.flow_times())}


def after_a_child(comm: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    """As sums(), before and after a process that was forked from each rank has come to its own end."""
    sums(comm, arguments)
    child = os.fork()
    if child == 0:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in (1, 2):
            os.dup2(nowhere, stream)
        sys.exit(0)  # all of Python's objects end, too
    os.waitpid(child, 0)
    return sums(comm, arguments)


def endless(comm: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    """All-reduces until something ends them; the time of the last good one goes into the end event."""
    turn = 0
    while turn < arguments.get("turns", 1 << 60):
        check_sum(comm, arguments["count"], "float32", turn)
        turn += 1
        if turn == 3:
            tell("running")
    comm.barrier()
    comm.quiesce()
    return {"turns": turn}


@contextlib.contextmanager
def after_ctrl_c(comm: Any) -> Iterator[None]:
    """Of a rank that Ctrl-C ends in here: who is named by what it calls afterwards."""
    try:
        yield
    except KeyboardInterrupt:
        try:
            comm.barrier()
        except csaud.Aborted as after:
            tell("after", rank=after.rank)
        raise


def interrupted_before_it_waits(comm: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    """Ctrl-C reaches rank 0 when a collective has its number and nobody waits for it yet."""

    def outcome(*_: Any) -> Any:
        del comm._outcome
        signal.raise_signal(signal.SIGINT)

    if comm.rank == 0:
        comm._outcome = outcome
    with after_ctrl_c(comm):
        comm.all_reduce(np.ones(4, np.float32))
    return {}


def busy(comm: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    """One rank computes and keeps Python's lock; the others wait in the next all-reduce."""
    check_sum(comm, arguments["count"], "float32", 1)
    if comm.rank == arguments["rank"]:
        # One call into C that does not give the lock up: nothing in Python can run meanwhile.
        start = time.monotonic()
        while time.monotonic() - start < arguments["seconds"]:
            sum(range(20_000_000))
        tell("computed", seconds=time.monotonic() - start)
    check_sum(comm, arguments["count"], "float32", 2)
    comm.barrier()
    comm.quiesce()
    return {}


def computes(comm: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    """Rank 0 computes, and lets no other thread have Python, until rank 1 has what both began."""
    array = gradient(comm.rank, arguments["count"], "float32", 1)
    comm.barrier()
    flag = Path(arguments["flag"])
    with flag.open("r+b") as file, mmap.mmap(file.fileno(), 1) as shared:
        if comm.rank == 0:
            sys.setswitchinterval(3600)
            handle = comm.all_reduce(array, arguments["op"], wait=False)
            while not shared[0]:
                pass
            while not handle.done:  # which runs nothing
                pass
            sys.setswitchinterval(0.005)
        else:
            comm.all_reduce(array, arguments["op"])
            shared[0] = 1
    total = reference_sum([gradient(rank, arguments["count"], "float32", 1) for rank in range(comm.size)])
    assert_bit_equal(array, total / np.float32(comm.size) if arguments["op"] == "average" else total)
    return {}


def wait_for_nobody(comm: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    """Rank 0 waits in a barrier that the others enter only when they are told to by a line on stdin."""
    comm.barrier()
    if comm.rank != 0:
        tell("idle")
        sys.stdin.readline()
    else:
        before = comm.stats()["tx_data"]

        def tell_when_it_waits() -> None:
            while comm.stats()["tx_data"] == before:
                time.sleep(0.001)
            tell("waiting")

        threading.Thread(target=tell_when_it_waits, daemon=True).start()
    with after_ctrl_c(comm):
        comm.barrier()
    return {}


def part_early(comm: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    """One rank leaves after a first all-reduce, by an error where `raises`; the others begin a second one."""
    check_sum(comm, 100, "float32", 1)
    if comm.rank == arguments["rank"]:
        if arguments["raises"]:
            raise ZeroDivisionError("a mistake in the application")
        return {}
    check_sum(comm, 100, "float32", 2)
    return {}


def goodput(comm: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    """Seconds of each of `repetitions` all-reduces of `count` float32."""
    data = np.ones(arguments["count"], np.float32)
    times = []
    for _ in range(arguments["repetitions"]):
        comm.barrier()
        start = time.monotonic()
        comm.all_reduce(data)
        times.append(time.monotonic() - start)
    comm.quiesce()
    return {"times": times}


def collectives(comm: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    """One of each, of `count` elements; some in flight while others run, in groups of ranks, too."""
    count, size, rank = arguments["count"], comm.size, comm.rank
    mine = [gradient(r, count, "int64", 7) for r in range(size)]
    total = np.sum(mine, axis=0)
    large = gradient(rank, 50 * count, "float32", 8)
    flying = comm.all_reduce(large, wait=False)
    for algorithm in ("ring", "halving_doubling", "hierarchical", "auto"):
        assert_bit_equal(comm.all_reduce(mine[rank].copy(), algorithm=algorithm), total, algorithm)
    assert_bit_equal(comm.all_reduce(mine[rank].copy(), "max"), np.max(mine, axis=0), "max")
    assert_bit_equal(comm.reduce_scatter(mine[rank]), np.array_split(total, size)[rank], "reduce_scatter")
    assert_bit_equal(comm.all_gather(mine[rank]), np.array(mine), "all_gather")
    blocks = np.arange(size * count).reshape(size, count) + rank
    expected = np.array([np.arange(rank * count, (rank + 1) * count) + other for other in range(size)])
    assert_bit_equal(comm.all_to_all(blocks), expected, "all_to_all")
    parts = [np.full(rank * 100 + other, rank, np.int32) for other in range(size)]
    for other, part in enumerate(comm.all_to_all_v(parts)):
        assert_bit_equal(part, np.full(other * 100 + rank, other, np.int32), "all_to_all_v")
    for root in range(size):
        assert_bit_equal(comm.broadcast(mine[rank].copy(), root), mine[root], "broadcast")
        reduced = comm.reduce(mine[rank], root=root)
        assert_bit_equal(total if reduced is None else reduced, total, "reduce")
        block = comm.scatter(blocks - rank if rank == root else None, root, out=np.empty(count, np.int64))
        assert_bit_equal(block, np.arange(rank * count, (rank + 1) * count), "scatter")
    lengths = [other * count // size for other in range(size)]
    for other, part in enumerate(comm.all_gather_v(mine[rank][: lengths[rank]])):
        assert_bit_equal(part, mine[other][: lengths[other]], "all_gather_v")
    flying_too = [comm.barrier(wait=False), comm.all_reduce(bytearray(count), "max", wait=False)]
    assert csaud.wait_any(flying_too, 60) in (0, 1) and csaud.wait_all(flying_too, 60)
    sent = comm.send(mine[rank], (rank + 1) % size, wait=False)
    assert_bit_equal(comm.recv(np.empty_like(mine[0]), (rank - 1) % size), mine[rank - 1], "recv")
    assert sent.wait(60)
    pair = comm.new_group([size - 1, 0]) if rank in (0, size - 1) else None
    if pair is not None:
        assert_bit_equal(pair.all_gather(np.array([rank])), np.array([[size - 1], [0]]), "new_group")
        pair.free()
    group = comm.split(rank % 2)
    assert_bit_equal(
        group.all_reduce(mine[rank].copy()), np.sum([mine[r] for r in group.ranks], axis=0), "group"
    )
    assert flying.wait(60)
    assert_bit_equal(large, reference_sum([gradient(r, 50 * count, "float32", 8) for r in range(size)]))
    comm.barrier()
    comm.quiesce()
    return {}


def reformed(comm: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    """All-reduces until a rank dies; then the others go on without it, and end well. As often as asked."""
    members = []
    with contextlib.ExitStack() as stack:
        for _ in range(arguments["failures"]):
            try:
                endless(comm, arguments)
            except csaud.PeerUnreachable as error:
                tell("lost", rank=error.rank)
            comm = stack.enter_context(comm.reform())
            tell("met again", rank=comm.rank, size=comm.size)
            members.append([comm.rank, comm.size])
        check_sum(comm, arguments["count"], "float32", 5)
        comm.barrier()
        comm.quiesce()
        return {"members": members}


def stopped(comm: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    """All-reduces until a rank is missed; those that go on do so until a line comes on stdin."""
    try:
        endless(comm, arguments)
    except csaud.PeerUnreachable as error:
        agreed = comm.agree(10 + comm.rank, "min", arguments["timeout"])
        tell("lost", rank=error.rank, agreed=agreed.value, failed=agreed.failed)
    comm = comm.shrink(arguments["timeout"])
    with comm:
        check_sum(comm, 1000, "float32", 6)
        tell("met again", rank=comm.rank, size=comm.size)
        sys.stdin.readline()
    return {}


def grows(comm: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    """Members look for a newcomer between all-reduces; when one waits, all begin a new epoch with it. A
    newcomer begins here, too."""
    tell("door", door=comm.door)
    sizes, joined = [comm.size], [list(comm.joined)]
    with contextlib.ExitStack() as stack:
        while comm.size < arguments["until"]:
            check_sum(comm, 1000, "float32", comm.size)
            if comm.agree(comm.newcomers, "max").value:
                comm = stack.enter_context(comm.reform(arguments["timeout"]))
                sizes.append(comm.size)
                joined.append(list(comm.joined))
        check_sum(comm, 1000, "float32", 9)
        comm.barrier()
        comm.quiesce()
        return {"place": [comm.rank, comm.size], "sizes": sizes, "joined": joined}


def left(comm: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    """Most ranks die at once; the others go on where the arbiter lets them."""
    try:
        endless(comm, arguments)
    except csaud.PeerUnreachable as error:
        tell("lost", rank=error.rank)
    with comm.reform(arguments["timeout"]) as comm:
        check_sum(comm, 1000, "float32", 6)
        return {"place": [comm.rank, comm.size]}


def soak(comm: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    """Collectives until so many packets came and went; memory at the begin and after each tenth of them."""
    memory = [resident()]
    goal = arguments["packets"]
    arrays = [gradient(comm.rank, count, "float32", count) for count in arguments["counts"]]
    while len(memory) <= 10:
        for array in arrays:
            comm.all_reduce(array, "max")
            comm.reduce_scatter(array, "max", wait=False)[1].wait()
            comm.all_gather(array[: array.size // comm.size])
            comm.broadcast(array, comm.size - 1)
        # One decision for all: counters are each rank's own.
        stats = comm.stats()
        packets = np.array([stats["tx_data"] + stats["rx_data"]])
        if comm.all_reduce(packets, "min")[0] >= len(memory) * goal // 10:
            memory.append(resident())
            tell("soaked", packets=int(packets[0]), resident=memory[-1])
    comm.barrier()
    comm.quiesce()
    return {"memory": memory}


def resident() -> int:
    """Bytes of this process that are in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def calls(comm: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    """For each rank a list of [collective, elements, dtype, op or root or peer]; results are not looked at.

    Where `handles`, none is waited for until all were called (where it `listens`: and a line came).
    """
    mine = arguments["ranks"][comm.rank]
    results = []
    handles = []
    wait = not arguments.get("handles")
    for what, count, dtype, how in mine:
        array = np.ones(count, dtype)
        match what:
            case "all_reduce" | "reduce_scatter":
                handles.append(getattr(comm, what)(array, how, wait=wait))
            case "broadcast" | "send" | "recv":
                handles.append(getattr(comm, what)(array, how, wait=wait))
            case "reduce_scatter_v":
                handles.append(comm.reduce_scatter_v(array, how, wait=wait))
            case "all_to_all_v":
                array = np.ones(sum(how[0]), dtype)
                handles.append(comm.all_to_all_v(array, *how, wait=wait))
            case "sparse_all_reduce":
                mask = np.zeros(count, bool)
                mask[how] = True
                handles.append(comm.sparse_all_reduce(array, mask, wait=wait))
            case "reduce":
                handles.append(comm.reduce(array, root=how, wait=wait))
            case "all_gather":
                handles.append(comm.all_gather(array, wait=wait))
            case "barrier":
                comm.barrier()
            case "sleep":
                tell("asleep")
                sys.stdin.readline()
        results.append(what)
        tell("returned", what=what)
    tell("called")
    if not wait:
        if arguments.get("listens"):
            sys.stdin.readline()
        for handle in handles:
            handle.wait()
    return {"returned": results}


CASES: dict[str, Callable[[Any, dict[str, Any]], dict[str, Any]]] = {
    case.__name__: case
    for case in (
        sums,
        after_a_child,
        endless,
        busy,
        interrupted_before_it_waits,
        computes,
        wait_for_nobody,
        part_early,
        goodput,
        collectives,
        reformed,
        stopped,
        grows,
        left,
        calls,
        soak,
    )
}


def work(comm: Any, case: str, arguments: dict[str, Any], outcome: dict[str, Any]) -> None:
    tell("joined", rank=comm.rank, mode=comm.mode, local_ranks=comm.local_ranks)
    try:
        outcome.update(CASES[case](comm, arguments))
    finally:
        outcome["stats"] = comm.stats()
        outcome["cpu_s"] = time.process_time()


def main() -> int:
    case, arguments = sys.argv[1], json.loads(sys.argv[2])
    outcome: dict[str, Any] = {}
    try:
        mine = arguments.get("settings_of", {}).get(os.environ.get("RANK"), {})
        settings = {**arguments.get("settings", {}), **mine}
        comm = csaud.join(arguments["join"], **settings) if "join" in arguments else csaud.init(**settings)
        if arguments.get("leaves_open"):
            work(comm, case, arguments, outcome)
        else:
            with comm:
                work(comm, case, arguments, outcome)
    except (Exception, KeyboardInterrupt) as error:
        told = {"message": str(error), "rank": getattr(error, "rank", None)}
        tell("end", error=type(error).__name__, **told, **outcome)
        if not isinstance(error, csaud.CsaudError | KeyboardInterrupt | ZeroDivisionError):
            raise
        return 1
    tell("end", error=None, **outcome)
    return 0


if __name__ == "__main__":
    sys.exit(main())
