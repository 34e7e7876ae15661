"""What can go wrong on the way to a guest; a message names the thing and carries the tail of its output."""

from csaud_runs.errors import RunError


class GuestError(RunError):
    """The guest could not be prepared or started, ended early, or answered with an error."""


class GuestTimeoutError(GuestError):
    """The guest did not answer in the time given for it."""
