"""What a rank whose device has failed is told."""

import pytest
from csaud.errors import Aborted, CsaudError, DeviceError, MismatchError
from csaud.groups.transport import Transport, given_up


class Failed:
    """A native progress whose driver has met an error of C++."""

    def __init__(self, why: str) -> None:
        self.why = why

    def start_execution(self, _execution: object) -> None:
        raise RuntimeError(self.why)


@pytest.mark.parametrize(
    ("why", "told"),
    [
        ("std::bad_alloc", "this process has no memory left for packets and messages"),
        ("RDMA device rv0 was removed", "RDMA device rv0 was removed"),
    ],
)
def test_the_reason_is_in_words(why: str, told: str) -> None:
    transport = Transport(Failed(why))  # type: ignore[arg-type]
    for _ in range(2):  # a failed transport stays failed
        with pytest.raises(DeviceError, match=f"^the device has failed: {told}$"):
            transport.start(None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("note", "error"),
    [
        (b"MismatchError: rank 0: 4 elements, rank 1: 5", MismatchError("rank 0: 4 elements, rank 1: 5")),
        (b"MismatchError", Aborted("rank 7 gave up: MismatchError", 7)),
        (b"Timeout: all_reduce: 5 s", Aborted("rank 7 gave up: Timeout: all_reduce: 5 s", 7)),
        (b"two\nlines \xff", Aborted("rank 7 gave up: two?lines \ufffd", 7)),
        (b"", Aborted("rank 7 gave up", 7)),
    ],
)
def test_what_a_rank_that_gave_up_said_is_told_whole(note: bytes, error: CsaudError) -> None:
    """But calls that do not fit are everybody's mistake, and no rank's."""
    found = given_up(7, note)
    assert (type(found), str(found), vars(found)) == (type(error), str(error), vars(error))
