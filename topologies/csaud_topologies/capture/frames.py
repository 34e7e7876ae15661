"""Where captured frames come from: what every source can do."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from csaud_topologies.capture.pcapng import Direction


class Frame(NamedTuple):
    """`time_ns` since 1970; `data` may be only the first bytes of `length`."""

    time_ns: int
    direction: Direction
    data: bytes
    length: int


class Source(Protocol):
    """A port that is being looked at."""

    seen: int
    """Frames that passed, as far as is known."""
    dropped: int
    """Frames among them that the capture missed."""

    def fileno(self) -> int:
        """Readable when read() has something to do."""

    def read(self) -> list[Frame] | None:
        """What has come since the last call; None when the port's owner has ended."""

    def finish(self) -> list[Frame]:
        """Look no longer; what was still on the way. `seen` and `dropped` are final."""

    def close(self) -> None:
        """Idempotent."""
