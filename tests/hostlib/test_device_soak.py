"""A short soak; `python -m tests.soak` is the long one."""

from tests.soak import ALLOWED, soak


def test_memory_stays_flat() -> None:
    """What may fill (names of finished messages) does so; what is kept of each collective would show."""
    for memory in soak(100_000, 2, 120.0):
        assert memory[-1] - memory[3] <= ALLOWED, memory
