"""One rank of collectives by this library or by PyTorch's gloo, for comparison:
`collective_worker.py csaud|gloo CASES`.

Started with torchrun's variables; gloo's environment has PyTorch and nothing of this project. CASES is a JSON
list of [kind, bytes, iterations]. Rank 0 prints one line: a list of {"us": median of its calls, "cpu":
seconds of all ranks' processors a call}, of kind "overlap" {"hidden": share}; null where the library has no
such collective.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any, Protocol

import numpy as np

_UNIT = 1 << 18  # elements of what the computing thread multiplies at a time


class Library(Protocol):
    """What is measured."""

    size: int

    def call(self, kind: str, nbytes: int) -> Callable[[], object]:
        """A collective with its arrays; `nbytes` of what each rank has before or, all-gather, after it."""

    def begin(self, nbytes: int) -> Callable[[], object]:
        """Start an all-reduce; what is returned waits for it."""

    def sum(self, value: float) -> float:
        """Over all ranks."""

    def close(self) -> None: ...


class Csaud:
    """This library."""

    def __init__(self) -> None:
        import csaud

        self._comm = csaud.init()
        self.size = self._comm.size

    def call(self, kind: str, nbytes: int) -> Callable[[], object]:
        comm, count = self._comm, max(1, nbytes // 4)
        whole = np.zeros(count, np.float32)
        part = np.zeros(max(1, count // self.size), np.float32)
        blocks = np.zeros((self.size, part.size), np.float32)
        return {
            "all-reduce": lambda: comm.all_reduce(whole),
            "reduce-scatter": lambda: comm.reduce_scatter(blocks.reshape(-1)),
            "all-gather": lambda: comm.all_gather(part),
            "all-to-all": lambda: comm.all_to_all(blocks),
            "broadcast": lambda: comm.broadcast(whole),
        }[kind]

    def begin(self, nbytes: int) -> Callable[[], object]:
        handle: Any = self._comm.all_reduce(np.zeros(nbytes // 4, np.float32), wait=False)
        return handle.wait  # type: ignore[no-any-return]

    def sum(self, value: float) -> float:
        return float(self._comm.all_reduce(np.array([value]))[0])

    def close(self) -> None:
        self._comm.close()


class Gloo:
    """PyTorch's."""

    def __init__(self) -> None:
        import torch
        import torch.distributed

        self._torch: Any = torch
        self._dist: Any = torch.distributed
        torch.set_num_threads(1)
        self._dist.init_process_group("gloo")
        self.size = self._dist.get_world_size()

    def call(self, kind: str, nbytes: int) -> Callable[[], object]:
        dist, count = self._dist, max(1, nbytes // 4)
        whole = self._torch.zeros(count)
        part = self._torch.zeros(max(1, count // self.size))
        blocks = self._torch.zeros(self.size * part.numel())
        into = self._torch.zeros_like(blocks)
        return {
            "all-reduce": lambda: dist.all_reduce(whole),
            "reduce-scatter": lambda: dist.reduce_scatter_tensor(part, blocks),
            "all-gather": lambda: dist.all_gather_into_tensor(into, part),
            "all-to-all": lambda: dist.all_to_all_single(into, blocks),
            "broadcast": lambda: dist.broadcast(whole, 0),
        }[kind]

    def begin(self, nbytes: int) -> Callable[[], object]:
        work: Any = self._dist.all_reduce(self._torch.zeros(nbytes // 4), async_op=True)
        return work.wait  # type: ignore[no-any-return]

    def sum(self, value: float) -> float:
        tensor = self._torch.tensor([value], dtype=self._torch.float64)
        self._dist.all_reduce(tensor)
        return float(tensor[0])

    def close(self) -> None:
        self._dist.destroy_process_group()


def _timed(once: Callable[[], object]) -> float:
    begin = time.perf_counter()
    once()
    return time.perf_counter() - begin


def _collective(library: Library, kind: str, nbytes: int, iterations: int) -> dict[str, float] | None:
    once = library.call(kind, nbytes)
    try:
        for _ in range(max(1, iterations // 10)):
            once()
    except (RuntimeError, NotImplementedError):  # gloo: no support; on all ranks alike
        return None
    library.sum(0.0)
    before = time.process_time()
    times = [_timed(once) for _ in range(iterations)]
    cpu = library.sum(time.process_time() - before) / iterations
    return {"us": median(times) * 1e6, "cpu": cpu}


def _overlap(library: Library, nbytes: int, iterations: int) -> dict[str, float]:
    """What of the shorter of an all-reduce and a computation in numpy is hidden where both run at once; the
    computation takes about as long as the all-reduce."""
    array = np.ones(_UNIT, np.float32)

    def compute(units: int) -> None:
        for _ in range(units):
            np.multiply(array, 1.0, out=array)

    library.begin(nbytes)()
    alone = median(_timed(lambda: library.begin(nbytes)()) for _ in range(iterations))
    units = max(1, round(library.sum(alone / _timed(lambda: compute(1000)) * 1000) / library.size))
    computing = median(_timed(lambda: compute(units)) for _ in range(iterations))

    def both() -> None:
        wait = library.begin(nbytes)
        compute(units)
        wait()

    library.sum(0.0)
    together = median(_timed(both) for _ in range(iterations))
    return {"hidden": (alone + computing - together) / min(alone, computing)}


def main() -> None:
    library: Library = Csaud() if sys.argv[1] == "csaud" else Gloo()
    found = [
        _overlap(library, nbytes, iterations)
        if kind == "overlap"
        else _collective(library, kind, nbytes, iterations)
        for kind, nbytes, iterations in json.loads(sys.argv[2])
    ]
    if int(os.environ["RANK"]) == 0:
        print(json.dumps(found))
    library.close()


if __name__ == "__main__":
    main()
