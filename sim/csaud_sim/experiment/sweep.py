"""All settings of an experiment with all seeds, by a pool of processes; what is there already is not done
again."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import re
import signal
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor, as_completed
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

import numpy as np
from csaud_controller.base.yamlfile import ConfigError, FieldError, Loc, key_text
from csaud_controller.inventory import Fabric, load_fabric
from csaud_runs.children import end_with_parent
from csaud_runs.errors import RunError
from csaud_runs.whole import is_full
from csaud_runs.words import duration

from csaud_sim.experiment.asked import write_asked
from csaud_sim.experiment.code import this_code
from csaud_sim.experiment.columns import NO_COLLECTIVE
from csaud_sim.experiment.large_pages import large_pages
from csaud_sim.experiment.measure import Measured, measure
from csaud_sim.experiment.model import Experiment, Setting, Sweep, repeated, said_by, with_keys
from csaud_sim.experiment.results import DRAFT, ENDING, is_of_this_code, is_there, write_run
from csaud_sim.experiment.traffic import packets_of
from csaud_sim.folders import make_folder

RUNS = "runs"
CASE_MARK = ": "
"""Between the names of a case and of a setting."""


_WEIGHT = 5.0
"""Of a packet of CSA-UD, by P4 programs, over one of a baseline by plain switches."""
_SETUP = 20_000.0
"""Packets of a baseline in whose time a run is set up."""


@dataclass(frozen=True)
class Task:
    """One run that is to be: a setting with a seed. `position`: the setting's, among all; `folder`: of its
    experiment, where several are run into one; `fabric`: what its file says (`model.said_by`); `engine`: what
    keeps time (`measure`), which changes nothing in its file."""

    setting: str
    experiment: Experiment
    position: int = 0
    folder: str = ""
    fabric: str = ""
    engine: str | None = None

    def path(self, out: Path) -> Path:
        """Its file. Another experiment of the same name has others."""
        words = re.sub(r"[^\w.=-]+", "_", self.setting)[:80]
        name = f"{words}-seed{self.experiment.seed}-{self.experiment.digest(self.fabric)}{ENDING}"
        return out / self.folder / RUNS / name

    @property
    def cost(self) -> float:
        """What it takes beside others, roughly: packets on their way, and setting up."""
        weight = _WEIGHT if self.experiment.transport.is_csa_ud else 1.0
        return _SETUP + weight * packets_of(self.experiment)

    def __str__(self) -> str:
        of = f"{self.folder}: " if self.folder else ""
        return f"{of}{self.setting}, seed {self.experiment.seed}"


def tasks_of(experiment: Experiment) -> list[Task]:
    """Seeds in the outer loop, so that an unfinished sweep has something of every setting.

    FieldError where a setting does not fit.
    """
    loaded = cache(load_fabric)
    settings = [(name, _with(experiment, keys, loaded)) for name, keys in _settings(experiment)]
    _check_names(experiment.sweep, [name for name, _ in settings])
    said = {source: said_by(source, loaded(source)) for source in {each.fabric for _, each in settings}}
    asked = experiment.sweep.seeds
    seeds = asked if isinstance(asked, list) else range(experiment.seed, experiment.seed + asked)
    tasks = [
        Task(name, setting.with_seed(seed), position, fabric=said[setting.fabric])
        for seed in seeds
        for position, (name, setting) in enumerate(settings)
    ]
    files: dict[Path, str] = {}
    for task in tasks[: len(settings)]:
        if (other := files.setdefault(task.path(Path()), task.setting)) != task.setting:
            raise FieldError(("sweep",), f"{other} and {task.setting} are the same, by names too much alike")
    return tasks


def _check_names(sweep: Sweep, names: Sequence[str]) -> None:
    """FieldError where a report could not tell settings apart, or a case from a setting."""
    key = "cases" if sweep.cases else "settings"
    for name in sweep.cases or sweep.settings:
        if CASE_MARK in name:
            raise FieldError(
                ("sweep", key, name),
                f"expected a name without {CASE_MARK!r}: it ends that of a case",
            )
    for again in repeated(names):
        raise FieldError(("sweep", "vary"), f"expected every combination once, got {again} twice")


Outcome = str | BaseException
"""Of a task: a line on it, or what it raised."""
Say = Callable[[str], None]
Outcomes = Callable[[list[Task], Path, Say], Generator[tuple[Task, Outcome]]]
"""Runs tasks into a folder; each when it is over. Says what goes on meanwhile. Ends what runs when it is
closed."""


def run_all(
    tasks: list[Task], out: Path, jobs: int, say: Say, elsewhere: Outcomes | None = None
) -> list[str]:
    """Run those that have no file yet, or one of other code, in `jobs` processes or `elsewhere`; returns what
    failed, in words."""
    by_folder: dict[Path, list[Task]] = {}
    for task in tasks:
        by_folder.setdefault(task.path(out).parent, []).append(task)
    for folder, those in by_folder.items():
        make_folder(folder)
        _remove_drafts(folder)
        write_asked(folder, {task.path(out).name: str(task) for task in those})
    missing = [task for task in tasks if not is_there(task.path(out))]
    absent = len(missing)
    missing += [task for task in tasks if is_there(path := task.path(out)) and not is_of_this_code(path)]
    if stale := len(missing) - absent:
        say(f"{stale} of {len(tasks)} runs are of other code than this, {this_code()}: run again")
    if done := len(tasks) - len(missing):
        say(f"{done} of {len(tasks)} runs are there already")
    failed: list[str] = []
    began = time.monotonic()
    over = done

    def there() -> str:
        return f"{over - len(failed)} of {len(tasks)} runs are there; the same command does the rest"

    spent, rest = 0.0, sum(task.cost for task in missing)
    try:
        outcomes = _outcomes(missing, out, jobs) if elsewhere is None else elsewhere(missing, out, say)
        with closing(outcomes):  # on Ctrl-C, before what they are done by
            for task, outcome in outcomes:
                if isinstance(outcome, BaseException):
                    _stop_where_none_can_follow(outcome, out, there())
                over += 1
                spent, rest = spent + task.cost, rest - task.cost
                left = 0.0 if over == len(tasks) else (time.monotonic() - began) / spent * rest
                if isinstance(outcome, BaseException):
                    failed.append(f"{task}: {type(outcome).__name__}: {outcome}")
                    outcome = "FAILED"
                say(f"{over} of {len(tasks)} · {task}: {outcome} · {duration(left)} left")
    except KeyboardInterrupt:
        say(f"interrupted: {there()}")
        raise
    except OSError as error:  # of a file that came from elsewhere
        _stop_where_none_can_follow(error, out, there())
        raise
    return failed


def _stop_where_none_can_follow(error: BaseException, out: Path, there: str) -> None:
    """RunError where all other runs would fail alike, of a sweep that may have hours to go."""
    if isinstance(error, OSError) and is_full(error):
        raise RunError(f"{out}: no space left: {there}") from None
    if isinstance(error, BrokenExecutor):
        raise RunError(f"a process was ended from outside, perhaps for want of memory: {there}") from None


def _remove_drafts(folder: Path) -> None:
    """What processes that are no more had begun to write."""
    for draft in folder.glob(f"*{DRAFT}"):
        pid = draft.name.removesuffix(DRAFT).rpartition(".")[2]
        if not Path("/proc", pid).exists():
            draft.unlink(missing_ok=True)


def _outcomes(tasks: list[Task], out: Path, jobs: int) -> Generator[tuple[Task, Outcome]]:
    """In processes of this machine."""
    if jobs == 1 or len(tasks) < 2:
        for task in tasks:
            try:
                yield task, run_task(task, out)
            except Exception as error:
                yield task, error
        return
    context = multiprocessing.get_context(
        "spawn"
    )  # threads of this process are none of the workers' business
    workers = min(jobs, len(tasks))
    with (
        large_pages(),
        ProcessPoolExecutor(
            workers, mp_context=context, initializer=_worker, initargs=(os.getpid(),)
        ) as pool,
    ):
        futures: dict[Future[str], Task] = {}
        try:
            with _interrupted_later():
                futures.update((pool.submit(run_task, task, out), task) for task in tasks)
            for future in as_completed(futures):
                failure = future.exception()
                if isinstance(failure, Exception):
                    yield futures[future], failure
                else:
                    yield futures[future], future.result()
        except BaseException:
            # Without them the pool ends by itself. It is waited for: the interpreter's own end would write to
            # what it is just closing.
            for worker in multiprocessing.active_children():
                worker.terminate()
            raise


@contextmanager
def _interrupted_later() -> Iterator[None]:
    """Ctrl-C waits meanwhile, here and in processes that are started, until they know what it means."""
    resource_tracker.ensure_running()  # the first worker would start it, which lets Ctrl-C through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _worker(parent: int) -> None:
    """Ctrl-C, which comes to all processes, ends a worker without a word, and so does its parent's end."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    end_with_parent(parent)


def run_task(task: Task, out: Path) -> str:
    """Here and now, into its file; a line on it."""
    measured = measure(task.experiment, task.engine)
    write_run(task.path(out), measured, task.experiment, task.setting, task.position)
    return _in_words(measured)


def _in_words(measured: Measured) -> str:
    words = []
    of_traffic = measured.flows["collective"] == NO_COLLECTIVE
    if of_traffic.any():
        asked = measured.flows["slowdown"][measured.flows["measured"] & of_traffic]
        slowdown = asked[~np.isnan(asked)]
        none = "no flow is over" if len(asked) else "no flow starts after the warm-up"
        words.append(f"p99 slowdown {np.percentile(slowdown, 99):.2f}" if len(slowdown) else none)
    for name, what in (("unfinished", "flows"), ("collectives_unfinished", "collectives")):
        if unfinished := measured.totals[name]:
            words.append(f"{unfinished:,.0f} {what} unfinished")
    if measured.collectives:
        completion = measured.collectives["completion_ns"]
        words.append(
            f"collectives p50 {np.percentile(completion, 50) / 1e3:,.1f} us"
            if len(completion)
            else "no collective is over"
        )
    return ", ".join(words)


_Placed = dict[str, tuple[Any, Loc]]
"""Keys of an experiment (dotted), their values, and where in the file these are."""


def _settings(experiment: Experiment) -> Iterator[tuple[str, _Placed]]:
    sweep = experiment.sweep
    cases: dict[str, Setting] = sweep.cases or {"": {}}
    named: dict[str, Setting] = sweep.settings or {"": {}}
    choices = (
        [(key, value, ("sweep", "vary", key, index)) for index, value in enumerate(values)]
        for key, values in sweep.vary.items()
    )
    combinations = list(itertools.product(*choices))
    for (case, given), (name, keys) in itertools.product(cases.items(), named.items()):
        for varied in combinations:
            words = [name, *(f"{key.rsplit('.', 1)[-1]}={value}" for key, value, _ in varied)]
            setting = " ".join(filter(None, words)) or ("" if case else experiment.name)
            placed: _Placed = {key: (value, ("sweep", "cases", case, key)) for key, value in given.items()}
            placed |= {key: (value, ("sweep", "settings", name, key)) for key, value in keys.items()}
            placed |= {key: (value, loc) for key, value, loc in varied}
            yield CASE_MARK.join(filter(None, (case, setting))), placed


def _with(experiment: Experiment, keys: _Placed, loaded: Callable[[str], Fabric]) -> Experiment:
    """The experiment with these keys, which fits its fabric; FieldError names the key that does not."""
    for key, (value, loc) in keys.items():
        try:
            experiment = with_keys(experiment, {key: value})
        except RunError as error:
            raise FieldError(loc, str(error)) from None
    try:
        experiment.on(loaded(experiment.fabric))
    except FieldError as error:
        raise _where_given(error, keys) from None
    except ConfigError as error:
        raise FieldError(keys["fabric"][1] if "fabric" in keys else ("fabric",), str(error)) from None
    return experiment


def _where_given(error: FieldError, keys: _Placed) -> FieldError:
    """The same, of the key of the sweep that gave the value, if one did: the one nearest to it."""
    told = key_text(error.loc)
    above = [key for key in keys if (told + ".").startswith((f"{key}.", f"{key}["))]
    above = above or [key for key in keys if key.startswith(f"{told}.")]
    if not above:
        return error
    return FieldError(keys[max(above, key=len)][1], f"{told}: {error}")
