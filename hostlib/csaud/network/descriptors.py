"""Room for connections: how many files a process may have open."""

import resource
from pathlib import Path

from csaud.errors import ConfigError

_OTHERS = 64  # opened later, by whomever


def make_room(more: int, spare: int, what: str) -> None:
    """Let this process have `more` files open than it has now, and `spare` besides where it may: its soft
    limit is raised as far as that needs.

    It stays raised, since `what`, named in the message, may come again.

    Raises:
        ConfigError: the hard limit, which only root can raise, is lower than what cannot be spared.
    """
    needed = _open_now() + more
    allowed = _raise_to(needed + spare + _OTHERS)
    if allowed < needed:
        raise ConfigError(
            f"{what} may take {needed} open files, and this process may have {allowed} at most: raise the "
            "hard limit (ulimit -Hn, LimitNOFILE of systemd, nofile in limits.conf)"
        )


def as_much_room(more: int) -> None:
    """The same, as far as the hard limit lets it."""
    _raise_to(_open_now() + more + _OTHERS)


def _raise_to(wanted: int) -> int:
    """How many files this process may have open now: `wanted`, or as many as its hard limit lets it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return wanted
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if allowed > soft:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    return allowed


def _open_now() -> int:
    try:
        return sum(1 for _ in Path("/proc/self/fd").iterdir())
    except OSError:  # no /proc
        return _OTHERS
