"""Who asks for what is being done."""

from __future__ import annotations

from contextvars import ContextVar

ASKER: ContextVar[str] = ContextVar("asker", default="controller")
"""A user's name while a request of theirs is answered; else the controller's own doing."""
NOTE: ContextVar[str] = ContextVar("note", default="")
"""What they say about it."""
