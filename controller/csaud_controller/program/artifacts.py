"""The compiled P4 program: where it lies, and what identifies it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from finsy.p4schema import P4Schema

_PACKAGED = Path(__file__).parents[1] / "p4"
_REPOSITORY = Path(__file__).resolve().parents[3] / "p4src" / "artifacts"


class ArtifactsError(RuntimeError):
    """The compiled P4 program is not where it should be."""


@dataclass(frozen=True)
class Artifacts:
    """What p4c made: the P4Info that clients speak and the JSON that BMv2-like targets load."""

    p4info: Path
    config: Path

    @cached_property
    def schema(self) -> P4Schema:
        """Names, ids and widths of everything in the program; its cookie is a digest of both files."""
        from finsy.p4schema import P4Schema  # as long to import as all that a command needs

        return P4Schema(self.p4info, self.config)

    @property
    def parsed(self) -> Any:
        """The P4Info as a message: finsy takes it like a path, which it would parse for every session."""
        return self.schema.p4info

    @property
    def cookie(self) -> int:
        """64-bit digest of both files: a switch that reports it holds exactly this program."""
        return self.schema.p4cookie

    @cached_property
    def digest(self) -> str:
        """SHA-256 over both files, hexadecimal."""
        return hashlib.sha256(self.p4info.read_bytes() + self.config.read_bytes()).hexdigest()


def find_artifacts(directory: Path | None = None, program: str = "csaud") -> Artifacts:
    """The program in `directory`, else the one shipped with this package, else the repository's.

    ArtifactsError names every place that was looked in.
    """
    places = [directory] if directory is not None else [_PACKAGED, _REPOSITORY]
    for place in places:
        found = Artifacts(place / f"{program}.p4info.txtpb", place / f"{program}.json")
        if found.p4info.is_file() and found.config.is_file():
            return found
    tried = " and ".join(map(str, places))
    raise ArtifactsError(f"no {program}.p4info.txtpb and {program}.json in {tried}; `make p4` makes them")
