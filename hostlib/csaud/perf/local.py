"""All ranks of a job on this machine, without a launcher."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from typing import IO

from csaud_runs.children import end_processes, ends_with_this_process, unwound_by_signals

from csaud.errors import ConfigError, CsaudError

_MOST = 1024
_GRACE = 5.0  # s
_MISTAKEN = 2  # exit status
_FOLLOWS = re.compile(r"rank \d+ (gave up|is unreachable.*)")


def launch(ranks: int, words: Sequence[str]) -> None:
    """Run `python -m csaud WORDS` as each rank of a job on the loopback interface; what one rank reports goes
    to this process's output.

    Raises:
        ConfigError: that many ranks cannot be, or what they were told to do.
        CsaudError: a rank failed; the message is the first one's.
    """
    if not 2 <= ranks <= _MOST:
        raise ConfigError(f"--ranks {ranks}: expected 2 to {_MOST}")
    if "RANK" in os.environ or "OMPI_COMM_WORLD_RANK" in os.environ:
        raise ConfigError("--ranks is for jobs without a launcher, but one has set this process's rank")
    port = _free_port()
    processes: list[subprocess.Popen[bytes]] = []
    errors: list[IO[bytes]] = []
    with unwound_by_signals():
        try:
            for rank in range(ranks):
                errors.append(tempfile.TemporaryFile())  # noqa: SIM115 - closed below
                environ = {"OMP_NUM_THREADS": "1", **os.environ} | {  # as torchrun has it
                    "RANK": str(rank),
                    "WORLD_SIZE": str(ranks),
                    "LOCAL_RANK": str(rank),
                    "LOCAL_WORLD_SIZE": str(ranks),
                    "MASTER_ADDR": "127.0.0.1",
                    "MASTER_PORT": str(port),
                }
                argv = [sys.executable, "-m", "csaud", *words]
                processes.append(
                    subprocess.Popen(
                        argv, env=environ, stderr=errors[-1], preexec_fn=ends_with_this_process()
                    )
                )
            if any([process.wait() for process in processes]):
                raise _first_cause(processes, errors)
        finally:
            end_processes(processes, _GRACE)
            for file in errors:
                file.close()


def _first_cause(processes: Sequence[subprocess.Popen[bytes]], errors: Sequence[IO[bytes]]) -> CsaudError:
    """What went wrong, in the words of a rank that did not only follow another one."""
    told = {rank: _last_line(errors[rank], process.returncode) for rank, process in enumerate(processes)
            if process.returncode != 0}  # fmt: skip
    causes = {rank: words for rank, words in told.items() if not _FOLLOWS.fullmatch(words)} or told
    rank, words = min(causes.items())
    kind = ConfigError if processes[rank].returncode == _MISTAKEN else CsaudError
    return kind(f"rank {rank}: {words}")


def _last_line(file: IO[bytes], code: int) -> str:
    file.seek(0)
    lines = file.read().decode(errors="replace").strip().splitlines()
    return lines[-1].removeprefix("csaud: ") if lines else f"exit status {code}"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
