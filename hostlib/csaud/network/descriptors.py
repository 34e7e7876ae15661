"""Room for connections: how many files a process may have open."""

import resource
from pathlib import Path

from csaud.errors import ConfigError

_OTHERS = 64  # opened later, by whomever


def make_room(more: int, what: str) -> None:
    """Let this process have `more` files open than it has now: its soft limit is raised as far as that needs.

    It stays raised, since `what`, named in the message, may come again.

    Raises:
        ConfigError: the hard limit, which only root can raise, is lower.
    """
    needed, allowed = as_much_room(more)
    if allowed < needed:
        raise ConfigError(
            f"{what} may take {needed} open files, and this process may have {allowed} at most: raise the "
            "hard limit (ulimit -Hn, LimitNOFILE of systemd, nofile in limits.conf)"
        )


def as_much_room(more: int) -> tuple[int, int]:
    """The same, as far as the hard limit lets it: files that are needed in all, and that are allowed now."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = _open_now() + more + _OTHERS
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return needed, needed
    allowed = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    if allowed > soft:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    return needed, allowed


def _open_now() -> int:
    try:
        return sum(1 for _ in Path("/proc/self/fd").iterdir())
    except OSError:  # no /proc
        return _OTHERS
