"""One line of the diagnosis."""

import dataclasses
from typing import Literal

Level = Literal["ok", "note", "missing"]


@dataclasses.dataclass(frozen=True, slots=True)
class Finding:
    """One line of the diagnosis.

    Attributes:
        kind: the device that it is about, "soft" or "verbs".
        level: "ok"; "note", it works but less well than it could; "missing", this does not work.
        what: what was looked at.
        text: what was found.
        mend: what to do about it, empty where it is ok.
    """

    kind: str
    level: Level
    what: str
    text: str
    mend: str = ""
