"""Jobs whose ranks are on this machine, in guests, or both; see tests/verbs/guest/runner.py."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from csaud_lab.guests.guest import Guest
from csaud_runs.children import ends_with_this_process

from .netns import NetworkNamespace

ROOT = Path(__file__).resolve().parents[2]
RUNNER = ROOT / "tests" / "verbs" / "guest" / "runner.py"
COMMAND = [sys.executable, "-B", os.fspath(RUNNER)]
# Where this process finds the package, a guest does, too: its root is this machine's.
PATHS = {"PYTHONPATH": os.pathsep.join([os.fspath(ROOT), os.environ.get("PYTHONPATH", "")])}
# What tests/sanitize.py sets; a guest sees its libraries and modules, too.
SANITIZER = "LD_PRELOAD", "ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"
ENDED = "the rank ended without a word"
CONSOLE_LINES = 80

# An emulated processor is slow, and two of them share this machine with others: a rank's Python has taken
# more than 60 s until it came to the rendezvous.
PATIENCE = {"timeout": 100.0, "dead_after": 30.0, "store_timeout": 120.0, "rx_buffer": 4 << 20}


class Place(Protocol):
    """Where ranks can run. `start` asks for some, `finish` waits for them."""

    def start(self, request: dict[str, Any]) -> None: ...

    def finish(self) -> list[dict[str, Any]]: ...


class InGuest:
    def __init__(self, guest: Guest) -> None:
        self._guest = guest

    def start(self, request: dict[str, Any]) -> None:
        # Its reports go to the console: this machine's files cannot be written in there.
        sanitizer = {
            name: re.sub(":?log_path=[^:]*", "", os.environ[name]) for name in SANITIZER if name in os.environ
        }
        environ = {**PATHS, **sanitizer}
        self._guest.send("ranks", command=COMMAND, environ=environ, request=request)

    def finish(self) -> list[dict[str, Any]]:
        answer: list[dict[str, Any]] = self._guest.receive(200)
        for result in answer:
            if result.get("error") == ENDED:
                lines = self._guest.console().splitlines()[-CONSOLE_LINES:]
                result["error"] = "\n".join([f"{ENDED}; the guest's console:", *lines])
        return answer


class OnHost:
    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def start(self, request: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()

    def finish(self) -> list[dict[str, Any]]:
        assert self._process.stdout is not None
        answer: list[dict[str, Any]] = json.loads(self._process.stdout.readline())
        return answer


@contextmanager
def on_host(namespace: NetworkNamespace) -> Iterator[OnHost]:
    """Ranks on this machine, in a network namespace."""
    with namespace.entered():
        process = subprocess.Popen(
            COMMAND,
            env={**os.environ, **PATHS},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=ends_with_this_process(),
        )
    try:
        yield OnHost(process)
    finally:
        process.kill()
        process.communicate()


@dataclass(frozen=True)
class Rank:
    """One rank: where, at which address, with which settings beside the patient ones, and variables."""

    place: Place
    address: str
    settings: dict[str, Any] = field(default_factory=dict)
    environ: dict[str, str] = field(default_factory=dict)


def run_job(
    ranks: Sequence[Rank],
    master: str,
    task: str,
    arguments: dict[str, Any],
    port: int = 29511,
    doomed: Collection[int] = (),
) -> list[dict[str, Any]]:
    """What the task returned at each rank, in rank order, but for those that are to die in it; where another
    one failed, AssertionError."""
    places = list({id(rank.place): rank.place for rank in ranks}.values())
    numbers = {id(place): [n for n, rank in enumerate(ranks) if rank.place is place] for place in places}
    for place in places:
        records = [
            {
                "environ": {
                    "RANK": str(n),
                    "WORLD_SIZE": str(len(ranks)),
                    "MASTER_ADDR": master,
                    "MASTER_PORT": str(port),
                    **ranks[n].environ,
                },
                "settings": {**PATIENCE, "address": ranks[n].address, **ranks[n].settings},
            }
            for n in numbers[id(place)]
        ]
        place.start({"ranks": records, "task": task, "arguments": arguments})
    results: dict[int, dict[str, Any]] = {}
    for place in places:
        results.update(zip(numbers[id(place)], place.finish(), strict=True))
    dead = [results.pop(n) for n in doomed]
    errors = [f"rank {n}: {result['error']}" for n, result in sorted(results.items()) if "error" in result]
    assert not errors, "\n".join(errors)
    assert all(result["error"].startswith(ENDED) for result in dead), dead
    return [result for _, result in sorted(results.items())]


def totals(results: list[dict[str, Any]]) -> dict[str, int]:
    """Each counter of the ranks' `stats`, summed over them; lists by path are left out."""
    return {
        name: sum(result["stats"][name] for result in results)
        for name, value in results[0]["stats"].items()
        if isinstance(value, int)
    }
