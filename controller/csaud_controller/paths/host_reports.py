"""Paths as hosts see them: how much of what they sent on each path was lost or marked.

Switches count by port and by the low bits of a path id; a host knows for each path id what became of its own
packets, wherever that was.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from csaud_controller.inventory import Fabric

MAX_PATHS = 16384
"""Path ids that a host may have: what fits into a UDP source port beside 0xC000."""
MAX_RANKS = 65536

MAX_COUNTS = 1 << 23
"""Counts that are kept, of all ranks together: 64 MiB."""

Counts = Annotated[list[Annotated[int, Field(ge=0, lt=1 << 63)]], Field(max_length=MAX_PATHS)]
PathId = Annotated[int, Field(ge=0, lt=MAX_PATHS)]


class PathReport(BaseModel):
    """What one rank says: counts by path id since its job began, of DATA copies."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    host: Annotated[str, Field(max_length=45)]
    """IPv4 or IPv6 address."""
    rank: Annotated[int, Field(ge=0, lt=MAX_RANKS)]
    tx: Counts
    lost: Counts
    """Sent again."""
    ecn: Counts
    """Marked, as far as receivers told."""


@dataclass(frozen=True)
class PathTotal:
    """Of one host and path, over its ranks."""

    tx: int = 0
    lost: int = 0
    ecn: int = 0


_Kept = tuple["array[int]", ...]
"""tx, lost and ecn, eight bytes each."""


class HostPaths:
    """The newest report of each rank that has reported."""

    def __init__(self) -> None:
        self._newest: dict[tuple[str, int], _Kept] = {}
        self._counts = 0

    def take(self, report: PathReport) -> None:
        """Replaces what this rank said before. ValueError: there are too many ranks, or too many paths."""
        key = report.host, report.rank
        if key not in self._newest and len(self._newest) >= MAX_RANKS:
            raise ValueError(f"{MAX_RANKS} ranks have reported already")
        kept = tuple(array("Q", counts) for counts in (report.tx, report.lost, report.ecn))
        counts = self._counts + sum(map(len, kept)) - sum(map(len, self._newest.get(key, ())))
        if counts > MAX_COUNTS:
            raise ValueError(f"reports of {MAX_COUNTS:,} counts are kept already")
        self._newest[key], self._counts = kept, counts

    def by_host(self, fabric: Fabric) -> dict[str, dict[int, PathTotal]]:
        """{host: {path id: counts}}, for paths on which it sent; a host that the fabric does not have is its
        address.
        """
        sums: dict[str, dict[int, PathTotal]] = {}
        for (address, _), kept in sorted(self._newest.items()):
            paths = sums.setdefault(fabric.host_at.get(address, address), {})
            for path, counts in enumerate(zip(*kept, strict=False)):
                if counts[0]:
                    old = paths.get(path, PathTotal())
                    paths[path] = PathTotal(old.tx + counts[0], old.lost + counts[1], old.ecn + counts[2])
        return sums


def as_json(sums: dict[str, dict[int, PathTotal]]) -> dict[str, Any]:
    """The same for a program."""
    return {host: {str(path): vars(total) for path, total in paths.items()} for host, paths in sums.items()}


def change_denied(denied: Iterable[int], paths: Iterable[int], deny: bool) -> list[int]:
    """Path ids that hosts must not use, with these denied or allowed again."""
    return sorted(set(denied) | set(paths) if deny else set(denied) - set(paths))
