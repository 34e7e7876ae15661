"""Training whose workers are killed: csaud.torch.recover beside checkpoints and restarts by torchrun, under
the same failures."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import typer
from rich.console import Console

from bench import kept, machine, native, needs
from bench.recover_model import of_recovery, of_restarts, young_daly
from bench.results import Result, result, save, show

Told = Callable[[str, bool], None]
"""Hears of a run that is over: in words, and whether it was made now."""

_PEER = "torchrun, checkpoints"
_WORKERS = 4
WHOLE: dict[str, Any] = {
    "microbatches": 16,
    "steps": 600,
    "width": 512,
    "dead_after": 0.5,
    "timeout": 10.0,
    "every": 1 << 30,
}
QUICK = {**WHOLE, "steps": 800, "width": 64, "timeout": 20.0}
BETWEEN_S = 10.0
"""Seconds between two failures, in the mean."""
_CALM = {"steps": 20, "every": 5}  # of a run without failures, for the time of a step and of a checkpoint
_SEED = 1  # of the failures
_PATIENCE_S = 1800
_MODELLED_H = (0.5, 3.0)  # hours between two failures of one worker, modelled


class RunFailed(RuntimeError):
    """A job did not end well; the message has the end of what it said."""


@dataclass
class Run:
    """What the workers of a job told, and when some were killed.

    Attributes:
        events: by kind, (process, number, time).
        deaths: times at which workers were killed.
    """

    events: dict[str, list[tuple[str, float, float]]]
    deaths: list[float]

    @property
    def wall_s(self) -> float:
        """From the first step's begin to the last one's end."""
        ends = [at for _, _, at in self.events["end"]]
        return max(ends) - min(at for _, _, at in self.events["begin"])

    @property
    def steps(self) -> int:
        """That were made, once each."""
        return len({number for _, number, _ in self.events["end"]})

    def rate(self) -> float:
        """Steps a second that count."""
        return self.steps / self.wall_s

    def lost(self, microbatches: int) -> float:
        """Microbatches that were computed more often than once, as a share of those needed."""
        return len(self.events["microbatch"]) / (self.steps * microbatches) - 1

    def next_steps(self) -> list[float]:
        """Seconds from each death until a step has ended that began after it; deaths after the last step's
        begin are left out."""
        begun = {(who, number): at for who, number, at in self.events["begin"]}
        spans = [(begun[who, number], at) for who, number, at in self.events["end"] if (who, number) in begun]
        found = []
        for death in self.deaths:
            if after := [end for begin, end in spans if begin > death]:
                found.append(min(after) - death)
        return found

    def step_s(self) -> float:
        """Of an undisturbed step, median."""
        begun = {(who, number): at for who, number, at in self.events["begin"]}
        return median(at - begun[who, number] for who, number, at in self.events["end"])


def command(console: Console, out: Path, quick: bool) -> None:
    """Measure, show and save; exit status 1 where that cannot be."""
    needs.torch(console)
    circumstances = machine.describe()
    case = QUICK if quick else WHOLE
    try:
        compared = compare(case, BETWEEN_S, lambda text, now: console.print(text, markup=False))
    except RunFailed as failure:
        console.print(f"bench: {failure}", style="red", markup=False)
        raise typer.Exit(1) from None
    circumstances |= compared.circumstances()
    rows = compared.rows()
    show(rows, console, circumstances, "Training under failures")
    save(rows, circumstances, out / "recover.json")
    console.print(f"{out / 'recover.json'}")


@dataclass
class Compared:
    """The same training under the same failures, going on and restarted.

    Attributes:
        every: steps between two checkpoints.
        checkpoint_s: what one takes.
        between: seconds between two failures, in the mean.
    """

    case: dict[str, Any]
    between: float
    every: int
    checkpoint_s: float
    runs: dict[str, Run]

    def rows(self) -> list[Result]:
        """Its figures."""
        return rows_of(
            self.runs["recover"], self.runs["restart"], self.case["microbatches"], self.checkpoint_s
        )

    def circumstances(self) -> dict[str, str]:
        """What goes beside them."""
        case = self.case
        return {
            "job": f"{_WORKERS} workers, {case['microbatches']} microbatches a step, {case['steps']} steps; "
            f"a failure each {self.between:g} s in the mean, at the same intervals for both, while more than "
            "half of the workers train; those that were killed return",
            "checkpoints": f"each {self.every} steps (Young/Daly), {self.checkpoint_s * 1e3:.0f} ms each",
            "runs": "; ".join(
                f"{how}: {run.steps} steps in {run.wall_s:.0f} s, {len(run.deaths)} deaths"
                for how, run in self.runs.items()
            ),
            "model": "rows of 512 workers are computed from recovery, restart and checkpoint as measured",
        }


def compare(case: dict[str, Any], between: float, told: Told, folder: Path | None = None) -> Compared:
    """Three runs: without failures, to know how far checkpoints are apart; then both ways under failures.

    RunFailed where one did not end well.

    Args:
        folder: where they are kept, so that none is made twice; None: they are not.
    """
    with machine.priority():
        calm = _once("restart", {**case, **_CALM}, None, told, folder)
        checkpoint_s = median(number for _, number, _ in calm.events["checkpoint"])
        every = max(1, round(young_daly(checkpoint_s, between) / calm.step_s()))
        runs = {
            how: _once(how, {**case, "every": every}, between, told, folder) for how in ("recover", "restart")
        }
    return Compared(case, between, every, checkpoint_s, runs)


def _once(how: str, case: dict[str, Any], between: float | None, told: Told, folder: Path | None) -> Run:
    path = folder and folder / f"{how}.{case['steps']}.{_definition(how, case, between)}.json"
    found = path and kept.read(path)
    run = Run(**found) if found else _run(how, case, _SEED, between)
    if path and not found:
        kept.write(path, {"events": run.events, "deaths": run.deaths})
    told(_in_words(how, run), not found)
    return run


def _definition(how: str, case: dict[str, Any], between: float | None) -> str:
    """What makes a run what it is: its program, and the library as it is written and compiled."""
    import csaud
    import torch

    library = Path(csaud.__file__).parent
    sources = [native.ROOT / "bench/recover.py", native.ROOT / "bench/recover_worker.py"]
    if how == "recover":
        sources += sorted(each for each in library.rglob("*.py"))
    return kept.definition(sources, sys.version, torch.__version__, sorted(case.items()), between, _SEED)


def _in_words(how: str, run: Run) -> str:
    return f"{how}: {run.steps} steps in {run.wall_s:.0f} s, {len(run.deaths)} deaths, seed {_SEED}"


def rows_of(ours: Run, theirs: Run, microbatches: int, checkpoint_s: float) -> list[Result]:
    """Figures beside those of checkpoints and restarts."""
    next_ours, next_theirs = sorted(ours.next_steps()), sorted(theirs.next_steps())
    rows = [
        result(
            "effective throughput", ours.rate(), "steps/s",
            peer=_PEER, peer_value=theirs.rate(), bound="at least", limit=3,
        ),
        result(
            "work done again", ours.lost(microbatches), "share",
            peer=_PEER, peer_value=theirs.lost(microbatches),
        ),
    ]  # fmt: skip
    if next_ours and next_theirs:
        rows += [
            result("death to the end of the next step, p50", median(next_ours), "s", peer=_PEER,
                   peer_value=median(next_theirs)),
            result("death to the end of the next step, p99", _p99(next_ours), "s", bound="at most", limit=2),
            result("death to the end of the next step, p99, torchrun", _p99(next_theirs), "s"),
        ]  # fmt: skip
        for hours in _MODELLED_H:
            between = hours * 3600 / 512
            rows.append(
                result(
                    f"model: useful time of 512 workers, each fails in {hours:g} h",
                    of_recovery(median(next_ours), between), "share", peer=_PEER,
                    peer_value=of_restarts(checkpoint_s, median(next_theirs), between),
                )
            )  # fmt: skip
    return rows


def _p99(ordered: list[float]) -> float:
    return ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))]


def _run(how: str, case: dict[str, Any], seed: int, between: float | None) -> Run:
    worker = str(native.ROOT / "bench/recover_worker.py")
    with tempfile.TemporaryDirectory(prefix="csaud-bench-") as name:
        folder = Path(name)
        program = [worker, how, name, json.dumps(case)]
        argv = (
            [sys.executable, "-m", "csaud", "recover", "-n", str(_WORKERS), "--returns", "10000", "--",
             sys.executable, *program]
            if how == "recover"
            else [sys.executable, "-m", "torch.distributed.run", "--standalone",
                  f"--nproc-per-node={_WORKERS}", "--max-restarts=10000", "--monitor-interval=0.1", *program]
        )  # fmt: skip
        # without the variable restarted workers hang at torchrun's store
        environ = {**os.environ, "OMP_NUM_THREADS": "1", "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}
        with (folder / "said").open("w") as said:
            process = subprocess.Popen(argv, env=environ, stdout=said, stderr=said, start_new_session=True)
            try:
                deaths = _kill(process, folder, random.Random(seed), between, case["steps"])
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)  # not waited for: its group is there
                    process.wait()
                    for pid in _workers(folder):  # they have sessions of their own
                        _killed(pid)
        if process.returncode != 0:
            said_all = (folder / "said").read_text()
            raise RunFailed(f"{how}: {said_all[:2000]}\n...\n{said_all[-2000:]}")
        return Run(_events(folder), deaths)


def _kill(
    process: subprocess.Popen[bytes], folder: Path, drawn: random.Random, between: float | None, steps: int
) -> list[float]:
    """Kill a worker at intervals that are drawn, until the last step is done.

    Who is killed has trained since the last failure, and more than half of the workers have; until they do,
    time does not count. So nobody is hit in the middle of a start, which spares the side that restarts all.
    """
    deaths: list[float] = []
    limit = time.monotonic() + _PATIENCE_S
    due: float | None = None
    while process.poll() is None and time.monotonic() < limit:
        time.sleep(0.02)
        if between is None or (due is not None and time.monotonic() < due):
            continue
        last = {pid: _last_end(folder / f"{pid}.log") for pid in _workers(folder)}
        if any(step == steps - 1 for step, _ in last.values()):
            between = None
            continue
        training = [pid for pid, (_, at) in last.items() if at > (deaths[-1] if deaths else 0.0)]
        if len(training) <= _WORKERS // 2:
            continue
        if due is None:
            due = time.monotonic() + drawn.expovariate(1 / between)
        else:
            if _killed(training[int(drawn.random() * len(training))]):
                deaths.append(time.monotonic())
            due = None
    return deaths


def _killed(pid: int) -> bool:
    """Whether it was there to be killed; it may have ended since somebody looked."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def _last_end(log: Path) -> tuple[int, float]:
    """The step that this worker has ended last, and when; (-1, 0) where there is none."""
    ends = [line.split() for line in log.read_text().splitlines() if line.startswith("end ")]
    return max(((int(end[1]), float(end[2])) for end in ends if len(end) == 3), default=(-1, 0.0))


def _workers(folder: Path) -> list[int]:
    """Processes that train or prepare for it."""
    return [pid for pid in sorted(int(path.stem) for path in folder.glob("*.log")) if _lives(pid)]


def _lives(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def _events(folder: Path) -> dict[str, list[tuple[str, float, float]]]:
    found: dict[str, list[tuple[str, float, float]]] = defaultdict(list)
    for path in folder.glob("*.log"):
        for line in path.read_text().splitlines():
            fields = line.split()
            if len(fields) == 3:  # a worker that was killed may have begun one
                found[fields[0]].append((path.stem, float(fields[1]), float(fields[2])))
    return found
