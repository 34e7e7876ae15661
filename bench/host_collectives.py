"""Collectives beside PyTorch's gloo and Open MPI: two ranks in two namespaces on a veth pair, each with a
processor of its own, and two and four ranks on the loopback interface. All with their defaults, in turns;
medians.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any, Protocol

from bench import native
from bench.host_rig import ADDRESSES, HostRigError, Pair, first_output
from bench.results import Result, result

Case = tuple[str, int, int]  # kind, bytes, iterations
Found = dict[str, float] | None
Say = Callable[[str], None]

WORKER = Path(__file__).with_name("collective_worker.py")
GLOO, MPI = "gloo, TCP", "Open MPI, TCP"
_MTU = 1500  # of the veth pair: what a veth has by itself
_PORT = 29600
_NAMES = {4: "4 B", 4096: "4 KB", 1 << 20: "1 MB", 1 << 24: "16 MB", 1 << 26: "64 MB"}
_OTHERS = ("reduce-scatter", "all-gather", "all-to-all", "broadcast")
_LIMITS = {4: 0.25, 4096: 0.5, 1 << 20: 0.8, 1 << 26: 0.8}  # of gloo's time, all-reduce on the veth pair
_WHOLE: tuple[Case, ...] = (
    *(("all-reduce", nbytes, n) for nbytes, n in ((4, 500), (4096, 500), (1 << 20, 20), (1 << 26, 3))),
    *((kind, nbytes, n) for kind in _OTHERS for nbytes, n in ((4096, 200), (1 << 20, 20), (1 << 24, 3))),
    ("overlap", 1 << 26, 3),
)
_QUICK: tuple[Case, ...] = (("all-reduce", 4, 5), ("broadcast", 4096, 2), ("overlap", 1 << 16, 1))


@dataclass(frozen=True)
class Place:
    """Where ranks run; `pair` where they are the two ends of one, else all on the loopback interface."""

    name: str
    ranks: int
    pair: Pair | None = None

    @property
    def master(self) -> str:
        return ADDRESSES[0] if self.pair else "127.0.0.1"

    def start(self, rank: int, argv: Sequence[str], environ: Mapping[str, str]) -> subprocess.Popen[str]:
        """A rank's process, whose two outputs are pipes."""
        if self.pair is not None:
            return self.pair.start(rank, argv, environ, errors=subprocess.PIPE)
        return subprocess.Popen(argv, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, env={**os.environ, **environ})  # fmt: skip


class Contender(Protocol):
    """Somebody's collectives."""

    @property
    def name(self) -> str: ...

    def measure(self, place: Place, cases: Sequence[Case]) -> list[Found]:
        """What each case took; HostRigError where it failed."""


@dataclass(frozen=True)
class Worker:
    """Ranks of collective_worker.py."""

    name: str
    library: str
    python: str

    def measure(self, place: Place, cases: Sequence[Case]) -> list[Found]:
        argv = [self.python, str(WORKER), self.library, json.dumps(cases)]
        words = {"WORLD_SIZE": place.ranks, "MASTER_ADDR": place.master, "MASTER_PORT": _PORT,
                 "OPENBLAS_NUM_THREADS": 1, "GLOO_SOCKET_IFNAME": "eth0" if place.pair else "lo"}  # fmt: skip
        common = {key: str(value) for key, value in words.items()}
        ranks = (place.start(rank, argv, common | {"RANK": str(rank)}) for rank in range(place.ranks))
        return _last_line(first_output(self.name, ranks))


class OpenMpi:
    """mpi_worker.c under mpirun, which also starts ranks in namespaces."""

    name = MPI

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._program = folder / "mpi_worker"
        source = WORKER.with_name("mpi_worker.c")
        done = subprocess.run(["mpicc", "-O2", "-o", str(self._program), str(source)], capture_output=True,
                              text=True, check=False)  # fmt: skip
        if done.returncode != 0:
            raise HostRigError(f"mpicc: {done.stderr.strip()[-300:]}")

    def measure(self, place: Place, cases: Sequence[Case]) -> list[Found]:
        known = [case for case in cases if case[0] != "overlap"]
        argv = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none",
                "-n", str(place.ranks), "--mca", "btl", "tcp,self", *self._hosts(place), str(self._program),
                *(str(word) for case in known for word in case)]  # fmt: skip
        found = iter(_last_line(first_output(self.name, [place.start(0, argv, {})])))
        return [None if case[0] == "overlap" else next(found) for case in cases]

    def _hosts(self, place: Place) -> list[str]:
        """mpirun reaches a host by a program instead of ssh, which here enters its namespace."""
        if place.pair is None:
            return []
        agent = self._folder / "agent"
        enter = " ".join(place.pair.command(1, []))
        agent.write_text(f'#!/bin/sh\nshift\nexec {enter} sh -c "$*"\n')
        agent.chmod(0o755)
        network = ADDRESSES[0].rsplit(".", 1)[0] + ".0/24"
        return ["--host", ",".join(ADDRESSES), "--map-by", "node", "--mca", "plm_rsh_agent", str(agent),
                "--mca", "btl_tcp_if_include", network, "--mca", "oob_tcp_if_include", network]  # fmt: skip


def _last_line(printed: str) -> list[Found]:
    found: list[Found] = json.loads(printed.strip().splitlines()[-1])
    return found


def measure(
    cores: tuple[int, int], *, rounds: int, quick: bool, torch: Path | None, pairs: bool, say: Say
) -> list[Result]:
    """Rows of each place; those of the veth pair where `pairs`, which needs root.

    Contenders that are not installed are left out.
    """
    cases = _QUICK if quick else _WHOLE
    rows: list[Result] = []
    with ExitStack() as stack:
        contenders: list[Contender] = [Worker("CSA-UD", "csaud", sys.executable)]
        if torch is not None:
            contenders.append(Worker(GLOO, "gloo", str(torch)))
        if shutil.which("mpicc") and shutil.which("mpirun"):
            contenders.append(OpenMpi(Path(stack.enter_context(tempfile.TemporaryDirectory()))))
        places = [Place(f"{ranks} ranks, loopback", ranks) for ranks in ((2,) if quick else (2, 4))]
        if pairs:
            places.insert(0, Place("2 ranks, veth", 2, stack.enter_context(Pair(cores, _MTU))))
        for place in places:
            rows += _at(place, cases, contenders, rounds, say)
    return rows


def _at(
    place: Place, cases: Sequence[Case], contenders: list[Contender], rounds: int, say: Say
) -> list[Result]:
    found: dict[tuple[str, int, str], list[float]] = defaultdict(list)  # contender, case, figure
    for _ in range(rounds):
        for one in list(contenders):
            try:
                measured = one.measure(place, cases)
            except HostRigError as error:
                say(f"{one.name}, {place.name}: {error}")
                continue
            for index, figures in enumerate(measured):
                for figure, value in (figures or {}).items():
                    found[one.name, index, figure].append(value)
    rows = []
    for index, (kind, nbytes, _) in enumerate(cases):
        name = f"{kind}, {_NAMES.get(nbytes, f'{nbytes} B')}, {place.name}"
        values = {key[0]: median(all_) for key, all_ in found.items() if key[1] == index and key[2] == "us"}
        limit = _LIMITS.get(nbytes, 1.0) if place.pair and kind == "all-reduce" else 1.0
        rows += _beside(name, "us", values, limit)
        cpu = {key[0]: median(all_) for key, all_ in found.items() if key[1] == index and key[2] == "cpu"}
        if kind == "all-reduce" and nbytes >= 1 << 20:
            per_gb = {who: value / nbytes * 1e9 for who, value in cpu.items()}
            rows += _beside(f"{name}: processor time of all ranks", "s/GB", per_gb, 1.0)
        hidden = {
            key[0]: median(all_) for key, all_ in found.items() if key[1] == index and key[2] == "hidden"
        }
        if "CSA-UD" in hidden:
            name = f"{name}: hidden behind numpy"
            rows.append(result(name, 100 * hidden["CSA-UD"], "%", bound="at least", limit=80))
            if GLOO in hidden:
                rows.append(
                    result(name, 100 * hidden["CSA-UD"], "%", peer=GLOO, peer_value=100 * hidden[GLOO])
                )
    return rows


def _beside(name: str, unit: str, values: Mapping[str, float], limit: float) -> list[Result]:
    """A row for each other contender; the target is about gloo."""
    if "CSA-UD" not in values:
        return []
    ours = values["CSA-UD"]
    target: dict[str, Any] = {"bound": "at most", "limit": limit}
    rows = [result(name, ours, unit, peer=who, peer_value=value, **(target if who == GLOO else {}))
            for who, value in values.items() if who != "CSA-UD"]  # fmt: skip
    return rows or [result(name, ours, unit)]


def torch_python(install: bool) -> Path | None:
    """Python of an environment with PyTorch: this one (`make torch`), or one of its own, made where that is
    asked for. None: there is none.

    Raises:
        HostRigError: pip failed.
    """
    if find_spec("torch") is not None:
        return Path(sys.executable)
    folder = native.ROOT / "build/torch-venv"
    python = folder / "bin/python"
    if not python.exists() and install:
        for argv in ([sys.executable, "-m", "venv", str(folder)],
                     [str(python), "-m", "pip", "install", "-q", TORCH, "numpy"]):  # fmt: skip
            done = subprocess.run(argv, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise HostRigError(f"{TORCH} cannot be installed: {done.stderr.strip()[-300:]}")
    return python if python.exists() else None


TORCH = "torch==2.13.0"
