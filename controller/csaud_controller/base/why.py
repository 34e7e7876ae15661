"""Why something failed, in the system's words."""

from __future__ import annotations


def why(error: Exception) -> str:
    """Without the system's number and the name of the file, which whoever tells it names anyhow."""
    return str(getattr(error, "strerror", None) or str(error) or type(error).__name__)
