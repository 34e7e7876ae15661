"""The library's errors as torch's."""

from torch.distributed import DistBackendError

from csaud.errors import ConfigError, CsaudError, PeerUnreachable


def as_torch(error: CsaudError, what: str, members: tuple[int, ...]) -> Exception:
    """The error that a user of torch.distributed gets; the library's is its cause.

    Args:
        what: what failed, "all_reduce in group 0".
        members: global rank of each rank of the job.
    """
    if isinstance(error, ConfigError):
        return ValueError(f"csaud: {what}: {error}")
    rank = error.rank if isinstance(error, PeerUnreachable) else None
    known_as = ""
    if rank is not None and rank < len(members) and members[rank] != rank:
        known_as = f" (global rank {members[rank]})"
    failed: Exception = DistBackendError(f"csaud: {what}: {type(error).__name__}: {error}{known_as}")
    return failed


def raised(error: CsaudError, what: str, members: tuple[int, ...]) -> Exception:
    """`as_torch`, with its cause."""
    translated = as_torch(error, what, members)
    translated.__cause__ = error
    return translated
