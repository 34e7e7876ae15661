"""The file that a capture goes to: whole blocks or nothing, whatever happens to the disk."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

from csaud_runs.errors import RunError
from csaud_runs.whole import is_full

from csaud_topologies.base.usage import UsageError

STDOUT = Path("-")
_FLUSH_AT = 1 << 18  # bytes


class CaptureFile:
    """Takes blocks by write(), passes them on by flush(). When the disk is full, the file ends with the last
    whole block.
    """

    def __init__(self, path: Path) -> None:
        """UsageError when there can be no such file; RunError when the disk is full."""
        self.path = path
        self._blocks: list[bytes] = []
        self._waiting = 0
        self._written = 0
        if path == STDOUT:
            self._descriptor = os.dup(sys.stdout.fileno())
            return
        try:
            self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        except OSError as error:
            kind = RunError if is_full(error) else UsageError
            raise kind(f"{path}: {error.strerror}") from None

    def write(self, block: bytes) -> int:
        """Keep one block; RunError or BrokenPipeError as flush()."""
        self._blocks.append(block)
        self._waiting += len(block)
        if self._waiting >= _FLUSH_AT:
            self.flush()
        return len(block)

    def flush(self) -> None:
        """RunError when they do not all fit; BrokenPipeError when nobody reads the pipe any more."""
        data = memoryview(b"".join(self._blocks))
        done = 0
        try:
            while done < len(data):
                done += os.write(self._descriptor, data[done:])
        except BrokenPipeError:
            self._blocks.clear()
            raise
        except OSError as error:
            self._cut_to_whole_blocks(done)
            full = "the disk is full" if is_full(error) else error.strerror
            raise RunError(f"{self.path}: {full}; the file is whole up to there") from None
        self._written += len(data)
        self._blocks.clear()
        self._waiting = 0

    def _cut_to_whole_blocks(self, done: int) -> None:
        whole = 0
        for block in self._blocks:
            if whole + len(block) > done:
                break
            whole += len(block)
        self._blocks.clear()
        self._waiting = 0
        if self.path != STDOUT and self.path.is_file():
            os.ftruncate(self._descriptor, self._written + whole)

    def close(self) -> None:
        """Idempotent; what was not flushed is lost."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
