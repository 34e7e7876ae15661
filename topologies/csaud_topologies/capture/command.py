"""`csaud capture`: the frames of a port, in both directions, as a pcapng file."""

from __future__ import annotations

import select
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer
from csaud_runs.errors import RunError
from csaud_runs.find import find_run

from csaud_topologies.base.folder import needed_folder
from csaud_topologies.base.usage import UsageError
from csaud_topologies.capture import bpf
from csaud_topologies.capture.file import STDOUT, CaptureFile
from csaud_topologies.capture.frames import Frame, Source
from csaud_topologies.capture.pcapng import Interface, PcapngWriter
from csaud_topologies.capture.place import Place, find_place

app = typer.Typer(help="Capture the frames of a switch's port.", add_completion=False)

_TICK_S = 0.2
"""How long frames may wait before they are in the file, and how late a limit in seconds may be noticed."""


@app.command()
def capture(
    port: Annotated[str, typer.Argument(metavar="SWITCH:PORT", help="Such as l1:3.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="File; - for standard output. Default: <interface>.pcapng."),
    ] = None,
    count: Annotated[
        int, typer.Option("--count", "-c", min=0, help="End after so many frames; 0: never.")
    ] = 0,
    seconds: Annotated[float, typer.Option("--seconds", "-s", min=0, help="End after that; 0: never.")] = 0,
    filter_: Annotated[
        str,
        typer.Option("--filter", "-f", help='Only frames that match, such as "udp port 4791" (pcap-filter).'),
    ] = "",
    snaplen: Annotated[int, typer.Option(min=0, help="Only the first bytes of each frame; 0: all.")] = 0,
    run_dir: Annotated[
        Path | None,
        typer.Option("--run", help="Run directory; default: $CSAUD_RUN, or the live run of this directory."),
    ] = None,
) -> None:
    """Capture the frames of a port of a running fabric, both directions, as pcapng.

    Works from the host and inside the fabric, on any target, for interfaces and for links in memory. Ends by
    Ctrl-C, --count or --seconds. An existing file is replaced.
    """
    try:
        with needed_folder():
            place = find_place(find_run(run_dir), port)
        wanted = bpf.compile_filter(filter_) if filter_ else None
        path = out or Path(f"{place.interface.name}.pcapng")
        # In this order: where nothing can be captured, no file is made or emptied.
        with closing_source(place, snaplen if wanted is None else 0) as source, CaptureFile(path) as file:
            taken = _capture(place, source, file, Limits(count, seconds), wanted, snaplen, filter_)
    except RunError as error:
        typer.echo(f"csaud capture: {error}", err=True)
        raise typer.Exit(2 if isinstance(error, UsageError) else 1) from None
    lost = f", {source.dropped} more were missed" if source.dropped else ""
    where = "standard output" if path == STDOUT else path
    typer.echo(f"{taken} frames to {where}{lost}", err=True)


class Limits:
    """When to end."""

    def __init__(self, count: int, seconds: float) -> None:
        self.count = count
        self.until = time.monotonic() + seconds if seconds else None

    def left_s(self) -> float:
        """Seconds that may be waited for frames."""
        return _TICK_S if self.until is None else max(0.0, min(_TICK_S, self.until - time.monotonic()))

    def reached(self, taken: int) -> bool:
        late = self.until is not None and time.monotonic() >= self.until
        return late or (self.count > 0 and taken >= self.count)


@contextmanager
def closing_source(place: Place, snaplen: int) -> Iterator[Source]:
    source = place.open(snaplen)
    try:
        yield source
    finally:
        source.close()


def _capture(
    place: Place,
    source: Source,
    file: CaptureFile,
    limits: Limits,
    wanted: bpf.Program | None,
    snaplen: int,
    expression: str,
) -> int:
    """How many frames went to the file. RunError when the file or the switch gave up."""
    described = place.interface
    described = Interface(described.name, described.description, described.speed_bps, snaplen, expression)
    begin_ns = time.time_ns()
    writer = PcapngWriter(
        file,
        [described],
        application=f"csaud {version('csaud')}",
        comment=f"csaud capture {place.end}, run {place.run.path.name}",
    )
    taken = 0

    def take(frames: list[Frame]) -> None:
        nonlocal taken
        for frame in frames:
            if limits.count and taken >= limits.count:
                return
            if wanted is not None and not wanted.matches(frame.data):
                continue
            data = frame.data[:snaplen] if snaplen else frame.data
            writer.write(0, frame.time_ns, data, direction=frame.direction, original_length=frame.length)
            taken += 1
        file.flush()

    try:
        with _until_interrupted() as interrupted:
            file.flush()
            typer.echo(f"capturing at {place.end} ({described.name}); Ctrl-C ends", err=True)
            ended = _loop(source, take, lambda: interrupted() or limits.reached(taken), limits)
            if not ended:
                take(source.finish())
            writer.statistics(0, begin_ns, time.time_ns(), source.seen, source.dropped)
            file.flush()
    except BrokenPipeError:  # whoever read it has seen enough
        return taken
    if ended:
        raise RunError(f"{place.end}: the switch has ended; {taken} frames are in {file.path}")
    return taken


def _loop(
    source: Source, take: Callable[[list[Frame]], None], done: Callable[[], bool], limits: Limits
) -> bool:
    """Until `done`; True when the source ended before."""
    while not done():
        if not select.select([source], [], [], limits.left_s())[0]:
            continue
        frames = source.read()
        if frames is None:
            return True
        take(frames)
    return False


@contextmanager
def _until_interrupted() -> Iterator[Callable[[], bool]]:
    """Ctrl-C and SIGTERM end the capture, not the process."""
    heard = False

    def hear(_number: int, _frame: FrameType | None) -> None:
        nonlocal heard
        heard = True

    before = {number: signal.signal(number, hear) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: heard
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


if __name__ == "__main__":
    sys.exit(app())
