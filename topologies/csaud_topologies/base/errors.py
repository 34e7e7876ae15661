"""Errors of a run that a user can act on: one line, shown without a traceback."""


class RunError(RuntimeError):
    """The run cannot start or go on; the message names the thing and, where it helps, what to do."""
