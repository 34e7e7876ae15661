"""`csaud recover`: workers of one machine, of which any may die without the others being ended for it."""

import contextlib
import os
import queue
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Annotated

import typer
from csaud_runs.children import end_processes, ends_with_this_process, unwound_by_signals

_LONGEST = 1 << 16  # bytes of a line that are shown at once
_END_WITHIN = 5.0  # s after SIGTERM


def recover(
    command: Annotated[list[str], typer.Argument(help="The program that each worker runs, after --.")],
    workers: Annotated[int, typer.Option("--workers", "-n", min=1, help="How many begin the job.")] = 2,
    returns: Annotated[
        int, typer.Option(min=0, help="How many times a worker that was killed is started again, to join.")
    ] = 0,
) -> None:
    """Start workers of a job that goes on when some of them die (csaud.recover).

    Exit status 0: the job was done; whoever died on the way is named. On several machines, start each worker
    with RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, by a launcher that does not end the others.
    """
    with unwound_by_signals(), tempfile.TemporaryDirectory(prefix="csaud-recover-") as folder:
        job = _Job(command, workers, returns, Path(folder) / "doors")
        try:
            done = job.run()
        except KeyboardInterrupt:
            raise typer.Exit(130) from None
        finally:
            job.end()
    if not done:
        typer.echo("csaud recover: no worker came to the end of the job", err=True)
        raise typer.Exit(1)


class _Job:
    """Its processes.

    Args:
        doors: file in which the members leave where newcomers find them.
    """

    def __init__(self, command: Sequence[str], workers: int, returns: int, doors: Path) -> None:
        self._command, self._workers, self._returns, self._doors = list(command), workers, returns, doors
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._readers: list[threading.Thread] = []
        self._ended: queue.Queue[int] = queue.Queue()
        self._lock = threading.Lock()

    def run(self) -> bool:
        """Until all have ended; whether one of them has come to the end of the job."""
        address = "127.0.0.1"
        with socket.socket() as probe:
            probe.bind((address, 0))
            port = probe.getsockname()[1]
        for rank in range(self._workers):
            self._start(rank, {
                "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(self._workers),
                "LOCAL_WORLD_SIZE": str(self._workers), "MASTER_ADDR": address, "MASTER_PORT": str(port),
            })  # fmt: skip
        names, done = self._workers, False
        while self._processes:
            name = self._ended.get()
            status = self._processes.pop(name).returncode
            done = done or status == 0
            if status == 0:
                continue
            words = f"killed by {_named(-status)}" if status < 0 else f"ended with exit status {status}"
            self._say(name, words.encode())
            if status < 0 and self._returns and self._processes and self._doors.exists():
                self._returns -= 1
                self._start(names, {"CSAUD_RECOVER_JOIN": f"@{self._doors}"})
                names += 1
        for reader in self._readers:
            reader.join(_END_WITHIN)
        return done

    def end(self) -> None:
        """Nothing is left of it."""
        end_processes(self._processes.values(), _END_WITHIN)

    def _start(self, name: int, variables: dict[str, str]) -> None:
        launched = {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}
        environ = {key: value for key, value in os.environ.items() if key not in launched}
        environ.setdefault("OMP_NUM_THREADS", "1")  # as torchrun has it
        environ |= {"CSAUD_RECOVER_DOORS": str(self._doors), **variables}
        try:
            process = subprocess.Popen(
                self._command, env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, preexec_fn=ends_with_this_process(),
            )  # fmt: skip
        except OSError as error:
            typer.echo(f"csaud recover: {self._command[0]}: {error.strerror}", err=True)
            never = isinstance(error, FileNotFoundError | PermissionError) and name == 0
            raise typer.Exit(2 if never else 1) from None
        self._processes[name] = process
        for stream, to in ((process.stdout, sys.stdout), (process.stderr, sys.stderr)):
            assert stream is not None
            reader = threading.Thread(target=self._show, args=(name, stream, to.buffer), daemon=True)
            self._readers.append(reader)
            reader.start()
        threading.Thread(target=self._wait, args=(name, process), daemon=True).start()

    def _wait(self, name: int, process: subprocess.Popen[bytes]) -> None:
        process.wait()
        self._ended.put(name)

    def _show(self, name: int, stream: IO[bytes], to: IO[bytes]) -> None:
        while line := stream.readline(_LONGEST):
            self._say(name, line.rstrip(b"\n"), to)

    def _say(self, name: int, line: bytes, to: IO[bytes] | None = None) -> None:
        with self._lock, contextlib.suppress(OSError, ValueError):
            out = to or sys.stdout.buffer
            out.write(b"[worker %d] %s\n" % (name, line))
            out.flush()


def _named(number: int) -> str:
    """A signal, as SIGKILL; those of real time, of which most have no name, by number."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
