"""Who asks for what is being done."""

from __future__ import annotations

from contextvars import ContextVar

ASKER: ContextVar[str] = ContextVar("asker", default="controller")
"""A user's name while a request of theirs is answered; else the controller's own doing."""
NOTE: ContextVar[str] = ContextVar("note", default="")
"""What they say about it."""

_LONGEST = 100


def asking(peer: str, may_speak: bool, named: object) -> None:
    """A request comes from this user. One who `may_speak` for others, as `csaud service`, names them."""
    ASKER.set(f"{named[:_LONGEST]} by {peer}" if may_speak and isinstance(named, str) and named else peer)
    NOTE.set("")
